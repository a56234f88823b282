"""The build backend: which wheel is made where, and that a build never fails for want of Rust."""

import os
import runpy
import subprocess
import sys
import tarfile
import types
import zipfile
from pathlib import Path

import pytest

import rehydrate

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "build_backend").is_dir():
    pytest.skip("not in a source tree", allow_module_level=True)


@pytest.fixture
def backend(tmp_path, monkeypatch):
    """The backend in a folder of its own, with fake tools that say what they were asked for."""
    monkeypatch.syspath_prepend(str(ROOT / "build_backend"))
    monkeypatch.delenv("REHYDRATE_PURE_BUILD", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, tool in (("maturin", fake("native.whl")), ("hatchling.build", fake("pure.whl"))):
        monkeypatch.setitem(sys.modules, name, tool)
    monkeypatch.setitem(sys.modules, "hatchling", types.SimpleNamespace(build=sys.modules["hatchling.build"]))
    import door
    import rehydrate_build

    monkeypatch.setattr(door, "build_door", lambda: door.Door(b"program", "any"))
    rehydrate_build.doors = []  # what was put into which wheel
    monkeypatch.setattr(door, "put_into", lambda *given: rehydrate_build.doors.append(given))
    yield rehydrate_build
    del rehydrate_build.doors


def fake(result):
    def build(*_):
        return result

    return types.SimpleNamespace(build_wheel=build, build_editable=build, build_sdist=build)


@pytest.fixture
def cargo(tmp_path, monkeypatch):
    """`cargo(status)` puts a cargo that ends so on an otherwise empty path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(status):
        file = folder / "cargo"
        file.write_text(f"#!/bin/sh\necho cargo says so >&2\nexit {status}\n")
        file.chmod(0o755)

    return put


def names(requirements):
    return [each.partition(">")[0] for each in requirements]


def test_a_working_cargo_gives_the_native_wheel(backend, cargo, capsys):
    cargo(0)
    assert names(backend.get_requires_for_build_wheel()) == ["maturin", "hatchling"]
    assert backend.build_wheel("out") == "native.whl"
    assert backend.build_editable("out") == "native.whl"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("build", ["build_wheel", "build_editable"])
def test_the_front_door_goes_into_the_native_wheel_alone(backend, cargo, monkeypatch, build):
    cargo(0)
    getattr(backend, build)("out")
    assert backend.doors == [(Path("out/native.whl"), b"program")]
    monkeypatch.setenv("REHYDRATE_PURE_BUILD", "1")
    getattr(backend, build)("out")
    assert len(backend.doors) == 1


@pytest.mark.parametrize("error", ["NotBuilt", "OSError"])
def test_without_a_front_door_it_says_so_and_gives_the_native_wheel_all_the_same(
    backend, cargo, capsys, monkeypatch, error
):
    import door

    def fail():
        raise getattr(door, error, OSError)("no linker")

    cargo(0)
    monkeypatch.setattr(door, "build_door", fail)
    assert backend.build_wheel("out") == "native.whl"
    assert "the front door rehydrate-hook could not be built (no linker" in capsys.readouterr().err


@pytest.mark.parametrize("build", ["build_wheel", "build_editable"])
def test_no_cargo_gives_the_pure_wheel_and_says_so(backend, cargo, capsys, build):
    assert names(backend.get_requires_for_build_wheel()) == ["hatchling"]
    assert getattr(backend, build)("out") == "pure.whl"
    assert "PURE PYTHON" in capsys.readouterr().err


def test_a_cargo_that_fails_is_none(backend, cargo, capsys):
    cargo(1)
    assert backend.build_wheel("out") == "pure.whl"
    assert "cargo says so" in capsys.readouterr().err


def test_the_pure_wheel_can_be_asked_for(backend, cargo, capsys, monkeypatch):
    cargo(0)
    monkeypatch.setenv("REHYDRATE_PURE_BUILD", "1")
    assert backend.build_wheel("out") == "pure.whl"
    assert "REHYDRATE_PURE_BUILD" in capsys.readouterr().err


def test_windows_gets_the_pure_wheel_and_no_advice_to_install_rust(backend, cargo, capsys, monkeypatch):
    cargo(0)
    monkeypatch.setattr(backend, "_HAS_NATIVE", False)
    assert backend.build_wheel("out") == "pure.whl"
    said = capsys.readouterr().err
    assert "for Linux and macOS" in said and "toolchain" not in said


@pytest.mark.parametrize("error", [SystemExit(1), RuntimeError("no linker")], ids=repr)
def test_a_crate_that_does_not_build_gives_the_pure_wheel(backend, cargo, capsys, monkeypatch, error):
    def fail(*_):
        raise error

    cargo(0)
    monkeypatch.setattr(sys.modules["maturin"], "build_wheel", fail)
    assert backend.build_wheel("out") == "pure.whl"
    assert "could not build the crate" in capsys.readouterr().err


def test_an_interrupted_build_is_interrupted(backend, cargo, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    cargo(0)
    monkeypatch.setattr(sys.modules["maturin"], "build_wheel", interrupt)
    with pytest.raises(KeyboardInterrupt):
        backend.build_wheel("out")


def test_a_pure_editable_install_leaves_no_compiled_module(backend, cargo, tmp_path):
    package = tmp_path / "python" / "rehydrate"
    package.mkdir(parents=True)
    (package / "_native.abi3.so").touch()
    (package / "_native.pyi").touch()
    backend.build_editable("out")
    assert [each.name for each in package.iterdir()] == ["_native.pyi"]


def test_a_python_that_is_too_old_is_told_in_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    with pytest.raises(SystemExit, match=r"needs Python 3\.10 or later, and this is 3\.9$"):
        runpy.run_path(str(ROOT / "build_backend" / "rehydrate_build.py"))


def test_the_real_pure_wheel_and_sdist(tmp_path):
    pytest.importorskip("hatchling")
    code = "import sys, rehydrate_build as b; print(b.build_wheel(sys.argv[1])); print(b.build_sdist(sys.argv[1]))"
    environ = {**os.environ, "REHYDRATE_PURE_BUILD": "1", "PYTHONPATH": str(ROOT / "build_backend")}
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wheel, sdist = done.stdout.split()
    assert wheel.endswith("-py3-none-any.whl")
    inside = zipfile.ZipFile(tmp_path / wheel).namelist()
    assert {"rehydrate/py.typed", "rehydrate/scan/__init__.py", "rehydrate/cli/__init__.py"} <= set(inside)
    assert not [name for name in inside if name.endswith((".so", ".pyd", ".pyc")) or not name.startswith("rehydrate")]
    with tarfile.open(tmp_path / sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert {"Cargo.toml", "rust", "python", "build_backend", "pyproject.toml", "LICENSE"} <= top
    assert not top & {".venv", "target", ".git", ".ci"}


def test_there_is_one_version():
    def version(file):
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        return next(line.split('"')[1] for line in lines if line.startswith("version = "))

    assert version("pyproject.toml") == version("Cargo.toml") == rehydrate.__version__
