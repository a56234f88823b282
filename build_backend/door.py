"""Builds the front door `rehydrate-hook`, and puts it among the programs of a native wheel.

    python build_backend/door.py FOLDER [OPTION...]     (those of `maturin build` that the wheels are built with)

does so with every wheel in the folder.  maturin builds a module or a program, not both at once, and builds the program
here, too: so it stands on the same libc as the module, however that is linked, and is checked for it.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NAME = "rehydrate-hook"
_PROJECT = f"""\
[build-system]
requires = []
build-backend = "maturin"

[project]
name = "{NAME}"
version = "0"

[tool.maturin]
bindings = "bin"
manifest-path = {str(ROOT / "Cargo.toml")!r}
strip = true
"""


class NotBuilt(Exception):
    """There is no front door; what the tools said is on standard error."""


class Door(NamedTuple):
    """The program."""

    program: bytes
    platform: str
    """What it runs on, as wheels name it: `manylinux_2_34_x86_64`."""


def build_door(*options: str) -> Door:
    """Build it.  NotBuilt."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(_PROJECT, encoding="utf-8")
        words = [_maturin(), "build", "--release", "--locked", "--out", folder, *options]
        # Standard output belongs to those who call a build backend.
        built = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        wheels = list(Path(folder).glob("*.whl"))
        if built.returncode != 0 or len(wheels) != 1:
            raise NotBuilt(f"maturin ended with status {built.returncode}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            (member,) = (each for each in wheel.namelist() if each.endswith(f".data/scripts/{NAME}"))
            return Door(wheel.read(member), _platform(wheels[0]))


def _maturin() -> str:
    """The program, beside this interpreter or on the path, where pip puts it that builds: as a module it looks in the
    first of these only.
    """
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
    found = shutil.which("maturin", path=path)
    if found is None:
        raise NotBuilt("there is no maturin")
    return found


def put_into(wheel: Path, program: bytes) -> None:
    """Write the wheel anew with the program in it, which is installed beside the interpreter."""
    path = f"{'-'.join(wheel.name.split('-')[:2])}.data/scripts/{NAME}"
    digest = base64.urlsafe_b64encode(hashlib.sha256(program).digest()).rstrip(b"=").decode()
    entry = zipfile.ZipInfo(path)  # dated 1980, as maturin dates all in the wheel
    entry.create_system, entry.external_attr, entry.compress_type = 3, 0o100755 << 16, zipfile.ZIP_DEFLATED
    new = wheel.with_name(f"{wheel.name}.new")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(new, "w") as after:
        after.writestr(entry, program)
        for each in before.infolist():
            data = before.read(each)
            if each.filename.endswith(".dist-info/RECORD"):
                data = f"{path},sha256={digest},{len(program)}\n".encode() + data
            after.writestr(each, data)
    os.replace(new, wheel)


def _platform(wheel: Path) -> str:
    return wheel.stem.rpartition("-")[2]


def main(folder: str, *options: str) -> None:
    """As above; SystemExit, a sentence, when it cannot be done or a wheel is for another system than the program."""
    try:
        door = build_door(*options)
    except NotBuilt as failure:
        sys.exit(f"the front door was not built: {failure}, see above")
    wheels = sorted(Path(folder).glob("*.whl"))
    for wheel in wheels:
        if _platform(wheel) != door.platform:
            sys.exit(f"the front door is for {door.platform}, and not for {wheel.name}")
        put_into(wheel, door.program)
    if not wheels:
        sys.exit(f"there is no wheel in {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
