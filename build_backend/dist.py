"""`make dist`: the native wheel where cargo works, the pure wheel, the sdist, rehydrate.pyz and a plugin, in a folder.

    python build_backend/dist.py [FOLDER]     (default: dist)

Promises: no package of ours from an earlier run is left in the folder, and nothing else there is touched.  All dates in
the archives are that of the last commit (or SOURCE_DATE_EPOCH, or 2020-02-02 where there is neither), so the same
commit gives the same pure wheel, sdist and, with the same Python, rehydrate.pyz, byte for byte.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from door import NotBuilt, build_door, put_into
from plugin import build_plugin
from pyz import build_pyz
from rehydrate_build import reason_for_pure

ROOT = Path(__file__).resolve().parents[1]
NO_DATE = 1_580_601_600  # what hatchling takes


def main() -> None:
    """Build everything; SystemExit, a sentence, when something cannot be built."""
    folder = Path(*(sys.argv[1:] or ["dist"])).absolute()
    os.chdir(ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in (*folder.glob("rehydrate-*.whl"), *folder.glob("rehydrate-*.tar.gz"), *folder.glob("rehydrate.pyz")):
        stale.unlink()
    epoch = source_date()
    os.environ["SOURCE_DATE_EPOCH"] = str(epoch)
    reason = reason_for_pure()
    if not reason:
        _build_native(folder)
    _run("hatchling", "build", "--target", "wheel", "--target", "sdist", "--directory", folder)
    (pure,) = folder.glob("*-py3-none-any.whl")
    build_pyz(pure, folder / "rehydrate.pyz", epoch=epoch)
    plugin = build_plugin(folder, version=pure.name.split("-")[1], licence=ROOT / "LICENSE")
    made = [*folder.glob("rehydrate*"), *(each for each in plugin.rglob("*") if each.is_file())]
    for file in sorted(made):
        print(f"{file.stat().st_size:>10,}  {file.relative_to(folder)}")
    if reason:
        print(f"The native wheel is missing, because {reason}.")


def _build_native(folder: Path) -> None:
    """The wheel and the front door in it, for the system that the door needs: the module's own needs may be lower."""
    try:
        door = build_door()
    except NotBuilt as failure:
        sys.exit(f"the front door was not built: {failure}, see above; nothing in the folder is to be published")
    libc = re.match(r"(many|musl)linux_\d+_\d+|linux", door.platform)
    lowest = ["--compatibility", libc[0]] if libc else []
    _run("maturin", "build", "--release", "--locked", "--interpreter", sys.executable, "--out", folder, *lowest)
    (wheel,) = folder.glob("*-abi3-*.whl")
    put_into(wheel, door.program)


def source_date() -> int:
    """Seconds since 1970 that the archives are dated with."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given.isdecimal():
        return int(given)
    if not (ROOT / ".git").exists():  # an unpacked sdist, though perhaps inside of somebody's checkout
        return NO_DATE
    try:
        asked = subprocess.run(["git", "log", "-1", "--format=%ct"], capture_output=True, text=True)
    except OSError:
        return NO_DATE
    return int(asked.stdout) if asked.stdout.strip().isdecimal() else NO_DATE


def _run(module: str, *arguments: str | Path) -> None:
    if subprocess.run([sys.executable, "-m", module, *arguments]).returncode != 0:
        sys.exit(f"{module} failed, see above; nothing in the folder is to be published")


if __name__ == "__main__":
    main()
