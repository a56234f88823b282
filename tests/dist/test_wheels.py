"""The wheels and the sdist: each is installed into an empty environment and serves a compaction there."""

import re
import tarfile
import zipfile

import pytest

import rehydrate

from .conftest import ROOT, artifact
from .field import Field, serve

NATIVE, PURE, SDIST = "*-abi3-*.whl", "*-py3-none-any.whl", "*.tar.gz"


def inside(file):
    return zipfile.ZipFile(file).namelist()


def compiled(names):
    return [name for name in names if name.endswith((".so", ".pyd", ".dylib", ".pyc"))]


def programs(names):
    return [name for name in names if ".data/" in name]


def test_the_native_wheel_says_what_it_runs_on_and_holds_one_compiled_module(artifacts):
    file = artifact(artifacts, NATIVE)
    system = r"(manylinux_\d+_\d+|manylinux\d+|linux|musllinux_\d+_\d+|macosx_\d+_\d+)_\w+"
    assert re.fullmatch(rf"rehydrate-{rehydrate.__version__}-cp310-abi3-{system}\.whl", file.name)
    assert compiled(inside(file)) == ["rehydrate/_native.abi3.so"]
    assert programs(inside(file)) == [f"rehydrate-{rehydrate.__version__}.data/scripts/rehydrate-hook"]


def test_the_pure_wheel_holds_all_but_the_compiled_module(artifacts):
    pure = inside(artifact(artifacts, PURE))
    native = inside(artifact(artifacts, NATIVE))
    modules = {name for name in native if name.startswith("rehydrate/")}
    assert compiled(pure) == programs(pure) == []
    assert {name for name in pure if name.startswith("rehydrate/")} == modules - {"rehydrate/_native.abi3.so"}


def test_the_sdist_holds_what_building_and_testing_needs(artifacts):
    with tarfile.open(artifact(artifacts, SDIST)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"Makefile", "Cargo.lock", "rust/src/lib.rs", "build_backend/dist.py", "tests/dist/field.py", "LICENSE"}
    docs = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")}
    assert needed | docs <= names
    assert compiled(names) == []


@pytest.mark.parametrize(("pattern", "backend"), [(NATIVE, "rust"), (PURE, "python"), (SDIST, None)],
                         ids=["native", "pure", "sdist"])  # fmt: skip
def test_it_serves_a_compaction_from_an_empty_environment(artifacts, environment, tmp_path, pattern, backend):
    file = artifact(artifacts, pattern)
    if backend is None:
        backend = "rust" if list(artifacts.glob(NATIVE)) else "python"
    environment.pip("install", "--quiet", str(file))
    serve(Field(tmp_path / "field", [str(environment.scripts / "rehydrate")]), backend)


@pytest.mark.parametrize("pattern", [NATIVE, PURE], ids=["native", "pure"])
def test_pip_takes_away_all_that_it_installed(artifacts, environment, pattern):
    before = environment.files()
    environment.pip("install", "--quiet", "--no-deps", str(artifact(artifacts, pattern)))
    assert environment.files() - before, "nothing was installed"
    environment.pip("uninstall", "--quiet", "--yes", "rehydrate")
    assert environment.files() == before
