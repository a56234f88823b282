"""Large files, and many files: several threads read them, and the answer is that of one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rehydrate
from tests.helpers import dump, needs_native, step

LINES = 12_000


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """(path, boundaries, damaged offsets) of a file of more than 40 MB, with lines longer than some of its parts."""
    path = tmp_path_factory.mktemp("large") / "t"
    boundaries, damaged, at = [], [], 0
    with path.open("wb") as file:
        for index in range(LINES):
            line = dump(step(index, content="x" * (18_000_000 if index == LINES // 2 else 2_000)))
            if index % 1000 == 999:
                line = dump(step(index, "CHECKPOINT"))
                boundaries.append((index, at, len(line)))
            elif index % 1000 == 500:
                line = b"broken"
                damaged.append(at)
            at += file.write(line + b"\n")
    return path, boundaries, damaged


def test_a_large_file_is_read_whole_and_in_order(impl, large):
    path, boundaries, damaged = large
    tail = impl.scan_tail(path)
    assert tail[1:] == (boundaries, LINES - 1, LINES, len(damaged), damaged, False)
    assert tail.cursor == impl.cursor_at(path, path.stat().st_size)
    again = impl.scan_tail(path, impl.cursor_at(path, boundaries[0][1]))
    assert again == (tail.cursor, boundaries, LINES - 1, LINES - 999, len(damaged) - 1, damaged[1:], False)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """(path, entries, damaged offsets) of a file of many parts, with a line longer than some of them."""
    path = tmp_path_factory.mktemp("session") / "t"
    entries, damaged, at = [], [], 0
    with path.open("wb") as file:
        for index in range(LINES):
            text = "x" * (18_000_000 if index == LINES // 2 else 2_000)
            line = dump({"parentUuid": str(index - 1), "text": text, "type": "user", "uuid": str(index)})
            if index % 1000 == 500:
                line = line[:-1]
                damaged.append(at)
            else:
                entries.append((str(index), str(index - 1), "user", at, len(line)))
            at += file.write(line + b"\n")
    return path, entries, damaged


def test_the_records_of_a_large_file_come_in_order(impl, session):
    path, entries, damaged = session
    tree = impl.read_tree(path)
    assert tree == (entries, LINES, len(damaged), damaged, path.stat().st_size)
    assert len({id(each.type) for each in tree.entries}) == 1


@needs_native
def test_where_no_thread_can_be_started_the_caller_reads_alone(large):
    use = "import sys; from rehydrate.scan import _rust as scan; path = sys.argv[1]; tail = scan.scan_tail(path); "
    use += "print(list(map(tuple, tail.boundaries)), len(scan.probe_candidates([path] * 20, 7)), "
    use += "len(scan.probe_many([path] * 20)), scan.read_tree(path).lines)"
    environ = {**os.environ, "PYTHONPATH": str(Path(rehydrate.__file__).parents[1]), "RUST_MIN_STACK": str(1 << 60)}
    done = subprocess.run([sys.executable, "-c", use, str(large[0])], env=environ, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{large[1]} 20 20 {LINES}\n", "")
