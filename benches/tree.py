"""What `read_tree` and opening a `Log` cost, as ratios to `wc -l` of the same file in the same run, page cache warm,
and what they keep.

    python benches/tree.py [--mb 1000]

The answer is asserted before it is timed.  REHYDRATE_PURE=1 measures the pure twin.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from scan import RUNS, best, count_lines, read_only

from rehydrate import scan
from rehydrate.entries import log

Rows = list[tuple[str | None, str | None, str | None, int, int]]

MEDIAN, SPREAD, LONGEST = 750, 1.5, 1_000_000
"""Of the text in a record, in bytes, log-normal: most lines are short, one in a hundred is longer than 30 KB."""


def write_tree(path: Path, size: int, *, seed: int = 1) -> Rows:
    """Write at least `size` bytes of records as Claude Code orders their members; returns what they say and where."""
    seeded = random.Random(seed)
    words = [
        "parse",
        "token",
        "reads",
        "汉字",
        "x = 1;",
        "\n",
        "\n    ",
        '"name"',
        "\t",
        "a\\nb",
        "\x1b[1m",
        "->",
        "builds",
    ]
    text = " ".join(seeded.choices(words, [9, 9, 9, 1, 9, 7, 5, 3, 1, 1, 0.2, 3, 12], k=400_000))
    rows: Rows = []
    with open(path, "wb") as file:
        while file.tell() < size:
            for record in _records(seeded, text, rows[-1][0] if rows else None):
                line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
                row = (record.get("uuid"), record.get("parentUuid"), record["type"], file.tell(), len(line))
                rows.append(row)
                file.write(line + b"\n")
    return rows


def _records(seeded: random.Random, text: str, last: "str | None") -> Iterator[dict[str, object]]:
    """Some records of which the last one is an entry."""

    def body() -> str:
        length = min(int(seeded.lognormvariate(0, SPREAD) * MEDIAN), LONGEST)
        at = seeded.randrange(len(text) - length)
        return text[at : at + length]

    def made() -> str:
        return str(uuid.UUID(int=seeded.getrandbits(128), version=4))

    now = {"timestamp": "2026-03-01T10:00:00.000Z"}
    rest = {**now, "userType": "external", "entrypoint": "cli", "cwd": "/srv/project", "sessionId": SESSION,
            "version": "2.1.332", "gitBranch": "main"}  # fmt: skip
    answer, call = made(), f"toolu_{seeded.getrandbits(64):x}"
    usage = {"input_tokens": 4, "cache_read_input_tokens": 90_210, "output_tokens": 311, "service_tier": "standard"}
    content = [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "make", "description": body()}}]
    message = {"model": "claude", "id": "msg_1", "type": "message", "role": "assistant", "content": content,
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    yield {"parentUuid": last, "isSidechain": False, "message": message, "requestId": "req_1", "type": "assistant",
           "uuid": answer, **rest}  # fmt: skip
    if seeded.random() < 0.2:
        yield {"type": "file-history-snapshot", "messageId": made(), "snapshot": {"trackedFileBackups": {}, **now}}
    if seeded.random() < 0.1:
        note, before = made(), answer
        yield {"parentUuid": before, "isSidechain": False, "attachment": {"type": "diagnostics", "content": body()},
               "type": "attachment", "uuid": note, **rest}  # fmt: skip
        answer = note
    output = body()
    result = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
    yield {"parentUuid": answer, "isSidechain": False, "promptId": made(), "type": "user",
           "message": {"role": "user", "content": [result]}, "uuid": made(),
           "toolUseResult": {"stdout": output, "stderr": "", "interrupted": False}, **rest}  # fmt: skip


SESSION = "c0ffee00-0000-4000-8000-000000000000"


GROWN = """
import sys
from rehydrate import scan
from rehydrate.entries.log import Log
def most():  # not of `resource`, which a new process takes over from the one that started it
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
before = most()
if sys.argv[2] == "tree":
    kept = scan.read_tree(sys.argv[1])
else:
    kept = Log(sys.argv[1])
    kept.children(0)
print(most() - before)
"""


def grown(path: Path, what: str) -> str:
    """What a fresh interpreter holds more at most while it reads the file; known on Linux alone."""
    done = subprocess.run([sys.executable, "-c", GROWN, path, what], capture_output=True)
    return f"{int(done.stdout) / 1e6:.0f} MB" if done.returncode == 0 else "unknown"


def open_log(path: Path) -> int:
    """As for the first look at a file: how many records follow the first one."""
    log._trees.clear()
    with log.Log(str(path)) as opened:
        return len(opened.children(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1000, help="size of the transcript in megabytes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        rows = write_tree(path, args.mb * 1_000_000)
        measure(path, rows)


def measure(path: Path, rows: Rows) -> None:
    size, lines = path.stat().st_size, count_lines(path)
    tree = scan.read_tree(path)
    assert tree.entries == rows
    assert open_log(path) == sum(row[1] == rows[0][0] for row in rows)
    assert tree[1:] == (lines, 0, [], size)
    lengths = sorted(row[4] for row in rows)
    middle, long = lengths[lines // 2], lengths[lines * 99 // 100]
    print(f"{size / 1e6:.0f} MB, {lines} lines of {middle} bytes (median), {long} (99 %), {lengths[-1]} (longest)")
    kept = f"more memory: read_tree {grown(path, 'tree')}, Log {grown(path, 'log')}"
    print(f"backend {scan.BACKEND}, best of {RUNS}; {kept}")
    wc = best(lambda: count_lines(path))
    for name, work in {
        "wc -l": lambda: count_lines(path),
        "read alone": lambda: read_only(path),
        "read_tree": lambda: scan.read_tree(path),
        "Log": lambda: open_log(path),
    }.items():
        spent = best(work)
        print(f"  {name:<12} {spent * 1e3:10.2f} ms {size / spent / 1e9:9.2f} GB/s {spent / wc:9.3f} x wc -l")


if __name__ == "__main__":
    main()
