"""The front door: built by maturin, put into wheels, and only into those for the same system."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "build_backend").is_dir():
    pytest.skip("not in a source tree", allow_module_level=True)
SCRIPT = "rehydrate-1.0.data/scripts/rehydrate-hook"
RECORD = "rehydrate-1.0.dist-info/RECORD"


@pytest.fixture
def door(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    import door

    return door


@pytest.fixture
def maturin(door, tmp_path, monkeypatch):
    """`maturin(status)` is one that writes a wheel with a program in it, and ends so; it lies on the path."""
    scripts, elsewhere = tmp_path / "scripts", tmp_path / "path"
    elsewhere.mkdir()
    monkeypatch.setattr(door.sysconfig, "get_path", lambda _: str(scripts))
    monkeypatch.setenv("PATH", str(elsewhere))

    def put(status):
        lines = [
            f"#!{sys.executable}",
            "import sys, zipfile",
            "folder = sys.argv[sys.argv.index('--out') + 1]",
            "with zipfile.ZipFile(f'{folder}/rehydrate_hook-0-py3-none-manylinux_2_17_x86_64.whl', 'w') as wheel:",
            "    words = ' '.join([*sys.argv[1:3], sys.argv[-1]])",
            "    wheel.writestr('rehydrate_hook-0.data/scripts/rehydrate-hook', words)",
            f"sys.exit({status})",
        ]
        program = elsewhere / "maturin"
        program.write_text("\n".join(lines))
        program.chmod(0o755)
        return program

    return put


def wheel(folder, platform="manylinux_2_17_x86_64"):
    folder.mkdir(exist_ok=True)
    path = folder / f"rehydrate-1.0-cp310-abi3-{platform}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rehydrate/__init__.py", "x = 1\n" * 100)
        archive.writestr(RECORD, f"rehydrate/__init__.py,sha256=x,600\n{RECORD},,\n")
    return path


def test_it_is_an_executable_program_that_the_record_knows(door, tmp_path):
    path = wheel(tmp_path)
    door.put_into(path, b"\x7fELF")
    with zipfile.ZipFile(path) as archive:
        assert archive.read(SCRIPT) == b"\x7fELF"
        assert archive.getinfo(SCRIPT).external_attr >> 16 == 0o100755
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"\x7fELF").digest()).rstrip(b"=").decode()
        record = archive.read(RECORD).decode().splitlines()
        assert record == [f"{SCRIPT},sha256={digest},4", "rehydrate/__init__.py,sha256=x,600", f"{RECORD},,"]
        assert archive.read("rehydrate/__init__.py") == b"x = 1\n" * 100
        assert archive.getinfo("rehydrate/__init__.py").compress_type == zipfile.ZIP_DEFLATED
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_program_gives_the_same_bytes(door, tmp_path):
    first, second = wheel(tmp_path / "a"), wheel(tmp_path / "b")
    second.write_bytes(first.read_bytes())
    for each in (first, second):
        door.put_into(each, b"program")
    assert first.read_bytes() == second.read_bytes()


def test_it_is_built_with_the_options_of_the_wheel(door, maturin):
    maturin(0)
    assert door.build_door("--target", "here") == (b"build --release here", "manylinux_2_17_x86_64")


def test_a_maturin_beside_the_interpreter_comes_first(door, maturin, tmp_path):
    (tmp_path / "scripts").mkdir()
    maturin(0).rename(tmp_path / "scripts" / "maturin")
    maturin(3)
    assert door.build_door().platform == "manylinux_2_17_x86_64"


def test_without_maturin_it_is_not_built(door, maturin):
    with pytest.raises(door.NotBuilt, match="no maturin"):
        door.build_door()


def test_what_cannot_be_built_is_told(door, maturin):
    maturin(3)
    with pytest.raises(door.NotBuilt, match="status 3"):
        door.build_door()


def test_every_wheel_of_a_folder_gets_it(door, maturin, tmp_path):
    maturin(0)
    path = wheel(tmp_path / "dist")
    door.main(str(tmp_path / "dist"))
    assert SCRIPT in zipfile.ZipFile(path).namelist()


@pytest.mark.parametrize(
    ("platform", "status", "words"),
    [
        ("manylinux_2_28_x86_64", 0, "is for manylinux_2_17_x86_64, and not for"),
        ("manylinux_2_17_x86_64", 1, "was not built"),
        (None, 0, "there is no wheel"),
    ],
)
def test_otherwise_it_fails_and_touches_none(door, maturin, tmp_path, platform, status, words):
    maturin(status)
    path = wheel(tmp_path / "dist", platform) if platform else None
    before = path and path.read_bytes()
    with pytest.raises(SystemExit, match=words):
        door.main(str(tmp_path / "dist"))
    assert not path or path.read_bytes() == before
