"""Makes rehydrate.pyz: one file that any Python from 3.10 on runs, with our package and all that its commands need.

Promises: nothing compiled for a machine is in it, so it runs everywhere; the licence of each package in it lies in that
package's `.dist-info`; the same wheels, the same Python and the same date give the same bytes.

The hook runs from it before every model call, so what costs there decides the form.  Beside each `.py` lies its
bytecode for the Python that builds, which the import from a zip takes first and any other Python passes over: with it
a call with nothing to do costs about 4 ms over the bare interpreter, without it 25.  What the hook uses is stored as it
is, so that it need not load zlib; the rest is compressed.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

BUNDLED = Path(__file__).with_name("bundled.txt")
LEFT_OUT = {"markdown-it-py", "pygments"}
"""What rich asks for, and imports only to show Markdown and source code, which we never do."""
MAIN = b"""\
# Old interpreters run this file, too, to say that they are.
import sys

if sys.version_info < (3, 10):
    this = "%d.%d (%s)" % (sys.version_info[0], sys.version_info[1], sys.executable)
    sys.exit("rehydrate needs Python 3.10 or later, and this is Python " + this)

from rehydrate.cli import main

main()
"""
_ANY = ("--platform", "any", "--python-version", "3.10", "--implementation", "py", "--abi", "none")
_USELESS = re.compile(r"\.pyi$|\.dist-info/(RECORD|WHEEL|entry_points\.txt)$|/$")
"""Files of a wheel that nobody reads in a zip."""


def build_pyz(wheel: Path, target: Path, *, epoch: int) -> None:
    """Write `target` from our pure wheel and the wheels that bundled.txt names, dated `epoch` (seconds since 1970).

    SystemExit, a sentence, when a wheel cannot be had or asks for something that would be missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        wheels, tree = Path(folder, "wheels"), Path(folder, "tree")
        _download(wheels)
        for each in (wheel, *sorted(wheels.iterdir())):
            _unpack(each, tree)
        _complete(tree)
        _compile(tree)
        (tree / "__main__.py").write_bytes(MAIN)
        _write(tree, target, epoch)


def _download(folder: Path) -> None:
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
    asked = ("--no-deps", "--only-binary=:all:", *_ANY, "--require-hashes", "--requirement", BUNDLED)
    if subprocess.run([*pip, *asked, "--dest", folder]).returncode != 0:
        sys.exit(f"rehydrate.pyz was not made: the packages of {BUNDLED} could not be had, see above")


def _unpack(wheel: Path, tree: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not _USELESS.search(name):
                archive.extract(name, tree)


def _complete(tree: Path) -> None:
    """See that each package in the tree finds there what it asks for on every system and Python from 3.10 on."""
    asked: dict[str, set[str]] = {}
    for metadata in tree.glob("*.dist-info/METADATA"):
        headers = metadata.read_text(encoding="utf-8").split("\n\n")[0]
        name = _plain(metadata.parent.name.partition("-")[0])
        needs = re.findall(r"^Requires-Dist: ([\w.-]+)(?!.*\bextra\b)", headers, re.MULTILINE)
        asked[name] = {_plain(need) for need in needs}
    missing = set().union(*asked.values()) - set(asked) - LEFT_OUT
    if missing:
        sys.exit(f"rehydrate.pyz was not made: {BUNDLED} lacks {', '.join(sorted(missing))}")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _compile(tree: Path) -> None:
    """Put the bytecode beside the sources.  It is never held against them: both are in one file, which is replaced."""
    mode = ("-m", "compileall", "-b", "-q", "--invalidation-mode", "unchecked-hash", "-s", tree, tree)
    environ = os.environ | {"PYTHONHASHSEED": "0"}  # the order of constant sets on Python 3.10
    if subprocess.run([sys.executable, "-S", *mode], env=environ).returncode != 0:
        sys.exit("rehydrate.pyz was not made: a module does not compile, see above")


def _write(tree: Path, target: Path, epoch: int) -> None:
    date = time.gmtime(max(epoch, 315_532_800))[:6]  # a zip knows no time before 1980
    names = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())
    with open(target, "wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w") as archive:
            for name in names:
                entry = zipfile.ZipInfo(name, date)
                entry.create_system, entry.external_attr = 3, 0o644 << 16  # the same on every system
                entry.compress_type = zipfile.ZIP_STORED if _is_hooks(name) else zipfile.ZIP_DEFLATED
                archive.writestr(entry, (tree / name).read_bytes())
    target.chmod(0o755)


def _is_hooks(name: str) -> bool:
    return name.startswith("rehydrate/") and not name.startswith("rehydrate/cli/")
