"""What the kernels of the crate cost, in Rust itself: `cargo bench` (divan) on a transcript made here.

Each answer is asserted before it is timed.  `wc -l` is a process, which takes some ms more than the work.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from benches.measure import MB, ROOT, best, count_lines, lapse, section, speed
from benches.transcript import write_transcript

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
FASTEST = re.compile(r"[├╰]─ (.+?)\s{2,}([\d.]+) (ns|µs|ms|s)\s")
NOTES = {
    "lines": "split through the fixed buffer",
    "whole objects": "every line walked whole, fast; in memory",
    "walk": "the same by the walk that judges damaged lines",
    "iter_steps": "one type of 0.6 %",
    "probe": "20 times",
    "read, 16 bytes into a page": "what a large allocation would get",
}


def main() -> None:
    bench = section("kernels", "The kernels, in Rust", __doc__)
    if not shutil.which("cargo"):
        raise SystemExit("cargo is not here: the kernels were not measured.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript_full.jsonl"
        made = write_transcript(path, (10 if bench.quick else 100) * MB)
        command = ["cargo", "bench", "--locked", "--bench", "kernels"]
        environ = {**os.environ, "REHYDRATE_BENCH_FILE": str(path)}
        done = subprocess.run(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit("The benchmarks of the kernels failed.")
        wc = best({"wc": lambda: count_lines(path)})["wc"]
    rows = [("`wc -l`", lapse(wc), speed(made.size, wc), "1.00", "")]
    for name, number, unit in FASTEST.findall(done.stdout):
        seconds = float(number) * UNITS[unit]
        is_whole = name != "probe"
        rate = (speed(made.size, seconds), f"{seconds / wc:.2f}") if is_whole else ("", "")
        rows.append((name, lapse(seconds), *rate, NOTES.get(name, "")))
    assert len(rows) > len(NOTES), done.stdout
    bench.table(f"{made.size / MB:,.0f} MB, {made.lines:,} lines", ("", "time", "speed", "x `wc -l`", ""), rows)
    bench.keep()


if __name__ == "__main__":
    main()
