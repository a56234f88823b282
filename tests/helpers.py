"""What tests in several folders need: transcripts, and whether the native module is there."""

import json
import re
from pathlib import Path

import pytest

from rehydrate import __version__, launch, scan

try:
    import rehydrate._native  # noqa: F401  # whether it can be loaded is the question
except ImportError as error:
    NATIVE_MISSING = str(error)
else:
    NATIVE_MISSING = ""

needs_native = pytest.mark.skipif(bool(NATIVE_MISSING), reason=f"no native module: {NATIVE_MISSING}")
needs_native_backend = pytest.mark.skipif(scan.BACKEND != "rust", reason="of what the native module alone can do")
DATA = Path(__file__).parent / "data"


def step(index, kind="PLANNER_RESPONSE", **more):
    """A record as the client writes it."""
    record = {"step_index": index, "source": "MODEL", "type": kind, "status": "DONE"}
    return {**record, "created_at": f"2026-01-01T00:00:{index % 60:02}Z", **more}


def dump(record):
    """A record's bytes, as compact as the client writes it; bytes stay as they are."""
    if isinstance(record, bytes):
        return record
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def write_lines(path, records):
    """Writes a complete line for each record (a dict, or bytes as they are); gives the path as str."""
    path.write_bytes(b"".join(dump(record) + b"\n" for record in records))
    return str(path)


def named_in(cell):
    """(file, test) for each test that a table's cell names: `file.py`: `test_one`, `test_two`; `other.py`: ..."""
    for file, names in re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", cell):
        for name in re.findall(r"`(\w+)`", names):
            yield file, name


def defined_in(file):
    """The tests that a file of this folder defines."""
    return set(re.findall(r"^\s*def (test_\w+)", (DATA.parent / file).read_text(), re.M))


def front_door(folder, version=__version__):
    """A program in the folder that says it is a front door of that version, and starts whatever stands behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / launch.DOOR
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {launch.DOOR} {version} && exit\nexec "$@"\n')
    path.chmod(0o755)
    return str(path)


def programs_lie_in(folder, monkeypatch):
    """Let this installation have a compiled module, and its programs in that folder."""
    monkeypatch.setattr(launch, "_folders_of_programs", lambda: [str(folder)])
