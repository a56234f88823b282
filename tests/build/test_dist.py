"""What `make dist` decides before it builds anything: dates, and what rehydrate.pyz carries."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "build_backend").is_dir():
    pytest.skip("not in a source tree", allow_module_level=True)


@pytest.fixture
def dist(tmp_path, monkeypatch):
    """The script, for a source tree that lies in the empty `tmp_path`."""
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.chdir(tmp_path)
    import dist

    monkeypatch.setattr(dist, "ROOT", tmp_path)
    return dist


@pytest.fixture
def pyz(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    import pyz

    return pyz


def test_the_archives_are_dated_as_the_environment_says(dist, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert dist.source_date() == 1_700_000_000


def test_the_archives_are_dated_as_the_last_commit(dist, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1600000000 +0000")
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.com")
    for words in (["init", "--quiet"], [*who, "commit", "--quiet", "--allow-empty", "--message", "empty"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert dist.source_date() == 1_600_000_000


def test_a_tree_without_commits_has_a_fixed_date(dist, tmp_path):
    assert dist.source_date() == dist.NO_DATE
    (tmp_path / ".git").mkdir()
    assert dist.source_date() == dist.NO_DATE


def test_the_zipapp_bundles_what_the_project_depends_on(pyz):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = project.partition("\ndependencies = [")[2].partition("\n]")[0]
    asked = dict(re.findall(r'"([a-z]+)>=([\d.]+)', table))
    bundled = dict(re.findall(r"^([a-z]+)==([\d.]+) --hash", pyz.BUNDLED.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(bundled) == set(asked)
    for name, least in asked.items():
        assert numbers(bundled[name]) >= numbers(least), name


def numbers(version):
    return [int(part) for part in version.split(".")]


def unpacked(tree, name, *needs):
    folder = tree / f"{name}-1.0.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.4", *(f"Requires-Dist: {need}" for need in needs), "", "Requires-Dist: prose"]
    (folder / "METADATA").write_text("\n".join(lines))


def test_a_package_that_needs_what_is_not_bundled_is_refused(pyz, tmp_path):
    unpacked(tmp_path, "some_thing", "Other.Thing>=2; python_version < '3.12'")
    with pytest.raises(SystemExit, match="lacks other-thing"):
        pyz._complete(tmp_path)


def test_needs_that_are_bundled_or_optional_or_never_used_are_met(pyz, tmp_path):
    unpacked(tmp_path, "rich", "pygments<3", "some_thing", "ipywidgets>=7 ; extra == 'jupyter'")
    unpacked(tmp_path, "some_thing")
    pyz._complete(tmp_path)
