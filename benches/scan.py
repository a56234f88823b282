"""What the scanner costs, as ratios to `wc -l` of the same file in the same run, page cache warm.

    python benches/scan.py [--mb 1000]

Each answer is asserted before it is timed.  REHYDRATE_PURE=1 measures the pure twin.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from transcript import write_transcript

from rehydrate import scan

RUNS = 5
BUFFER = 1 << 20


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def read_only(path: Path) -> int:
    size = 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(BUFFER):
            size += len(piece)
    return size


def count_lines(path: Path) -> int:
    return int(subprocess.run(["wc", "-l", path], capture_output=True, check=True).stdout.split()[0])


def json_loop(path: Path) -> tuple[int, int]:
    """What a plain script does: every line parsed."""
    last, boundaries = -1, 0
    with open(path, "rb") as file:
        for line in file:
            record = json.loads(line)
            last = max(last, record["step_index"])
            boundaries += record["type"] == "CHECKPOINT"
    return last, boundaries


def sniffing_loop(path: Path) -> tuple[int, int]:
    """What a careful script does: only the lines parsed that could be a boundary, and the last one."""
    last, boundaries, line = -1, 0, b"{}"
    with open(path, "rb") as file:
        for line in file:
            if b"CHECKPOINT" in line:
                boundaries += json.loads(line)["type"] == "CHECKPOINT"
        last = json.loads(line)["step_index"]
    return last, boundaries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1000, help="size of the transcript in megabytes")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript_full.jsonl"
        last = write_transcript(path, args.mb * 1_000_000, checkpoint=True)
        measure(path, last)


def measure(path: Path, last: int) -> None:
    size, lines = path.stat().st_size, count_lines(path)
    tail = scan.scan_tail(path)
    assert (tail.last_step, tail.lines, tail.damaged) == (last, lines, 0)
    assert [mark.step for mark in tail.boundaries] == [last]
    users = sum(1 for _ in scan.iter_steps(path, types={"USER_INPUT"}))
    with open(path, "rb") as file:
        assert users == sum(b'"type":"USER_INPUT"' in line for line in file)
    assert json_loop(path) == sniffing_loop(path) == (last, 1)
    assert read_only(path) == size
    rows: dict[str, Callable[[], object]] = {
        "wc -l": lambda: count_lines(path),
        "read alone": lambda: read_only(path),
        "scan_tail": lambda: scan.scan_tail(path),
        "iter_steps, one type": lambda: sum(1 for _ in scan.iter_steps(path, types={"USER_INPUT"})),
        "scan_tail with a cursor": lambda: scan.scan_tail(path, tail.cursor),
        "probe": lambda: scan.probe(path),
        "a loop that parses candidates": lambda: sniffing_loop(path),
        "a json.loads loop": lambda: json_loop(path),
    }
    print(f"{size / 1e6:.0f} MB, {lines} lines, backend {scan.BACKEND}, best of {RUNS}")
    wc = best(rows["wc -l"])
    for name, work in rows.items():
        spent = best(work)
        print(f"  {name:<30} {spent * 1e3:10.2f} ms {size / spent / 1e9:9.2f} GB/s {spent / wc:9.3f} x wc -l")


if __name__ == "__main__":
    main()
