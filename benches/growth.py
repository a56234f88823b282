"""How the cost of the scanner grows with the size of a file, and its memory with the length of an unwanted line.

Each answer is asserted before it is timed.
"""

import os
import tempfile
from pathlib import Path

from benches.measure import MB, Work, best, count_lines, fresh, implementations, lapse, section, speed
from benches.transcript import write_transcript

PURE_MOST = 1_000
"""MB; the pure twin's ratio does not change beyond."""
ONE_LINE = """
from rehydrate import scan
path, size = sys.argv[1:]
before = most()
tail = scan.scan_tail(path)
assert (tail.lines, tail.last_step, tail.damaged, tail.cursor[1]) == (3, 3, 0, int(size)), tail
scanned = most()
steps = [step.index for step in scan.iter_steps(path, types={"USER_INPUT"})]
assert steps == [1, 3], steps
print(json.dumps(None if before is None else [scanned - before, most() - before]))
"""
REQUEST = b'{"step_index":%d,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","content":"ask"}\n'
LONG = (b'{"step_index":2,"source":"MODEL","type":"RUN_COMMAND","status":"DONE","content":"', b'"}\n')


def main() -> None:
    bench = section("growth", "How cost grows", __doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript_full.jsonl"
        lines = []
        for size in (1, 10) if bench.quick else (1, 10, 100, 1_000, 4_000):
            made = write_transcript(path, size * MB)
            rows: dict[str, Work] = {"wc": lambda: count_lines(path)}
            for name, impl in implementations().items():
                if name == "native" or size <= PURE_MOST:
                    tail = impl.scan_tail(path)
                    assert (tail.last_step, tail.lines) == (made.last, made.lines)
                    rows[name] = lambda impl=impl: impl.scan_tail(path)
            seconds = best(rows, 3 if size <= 1_000 else 2)
            row = [f"{size:,} MB", lapse(seconds["wc"])]
            for name in ("native", "pure"):
                if name in seconds:
                    row += [
                        lapse(seconds[name]),
                        speed(made.size, seconds[name]),
                        f"{seconds[name] / seconds['wc']:.2f}",
                    ]
                else:
                    row += ["not measured", "", ""]
            lines.append(tuple(row))
        columns = ("", "`wc -l`", "native", "speed", "x `wc -l`", "pure", "speed", "x `wc -l`")
        bench.table("`scan_tail` of a whole file, by its size", columns, lines)
        lines = []
        for length in (10**3, 10**6, 10**7) if bench.quick else (10**3, 10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
            write_line(path, length)
            row = [f"{length:,} bytes"]
            for pure in (False, True):
                grown = fresh(ONE_LINE, str(path), str(path.stat().st_size), pure=pure)
                row += ["unknown"] * 2 if grown is None else [f"{most / MB:.1f} MB" for most in grown]
            lines.append(tuple(row))
        columns = ("", "`scan_tail`, native", "and `iter_steps`", "`scan_tail`, pure", "and `iter_steps`")
        bench.table("Growth of memory, by the length of a line that is not wanted", columns, lines)
    bench.keep()


def write_line(path: Path, length: int) -> None:
    """A line of about that length between two short ones."""
    piece = b"word " * (min(length, MB) // 5)
    with open(path, "wb") as file:
        file.write(REQUEST % 1 + LONG[0])
        for _ in range(max(1, length // MB)):
            file.write(piece)
        file.write(LONG[1] + REQUEST % 3)
        os.fsync(file.fileno())


if __name__ == "__main__":
    main()
