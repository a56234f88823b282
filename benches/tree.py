"""What `read_tree` and opening a `Log` cost, as ratios to `wc -l` of the same file in the same run, page cache warm,
and what they keep.

The answer is asserted before it is timed.
"""

import tempfile
from pathlib import Path

from benches.measure import MB, Work, best, count_lines, fresh, implementations, lapse, read_only, section, speed
from benches.transcript import write_entries
from rehydrate import scan
from rehydrate.entries import log

GROWN = """
from rehydrate import scan
from rehydrate.entries.log import Log
before = most()
if sys.argv[2] == "read_tree":
    kept = scan.read_tree(sys.argv[1])
else:
    kept = Log(sys.argv[1])
    kept.children(0)
print(json.dumps(None if before is None else most() - before))
"""


def main() -> None:
    bench = section("tree", "Trees of entries, as Claude Code writes them", __doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        for size in (10,) if bench.quick else (100, 1_000):
            made = write_entries(path, size * MB)
            rows: dict[str, Work] = {"`wc -l`": lambda: count_lines(path), "read alone": lambda: read_only(path)}
            implemented = implementations()
            if size > 100:
                implemented.pop("pure", None)  # a minute, and the ratio is that of 100 MB
            for name, impl in implemented.items():
                tree = impl.read_tree(path)
                assert [tuple(entry) for entry in tree.entries] == made.rows
                assert tree[1:] == (made.lines, 0, [], made.size)
                rows[f"`read_tree`, {name}"] = lambda impl=impl: impl.read_tree(path)
            assert open_log(path) == sum(row[1] == made.rows[0][0] for row in made.rows)
            rows[f"`Log`, opened, {scan.BACKEND}"] = lambda: open_log(path)
            seconds = best(rows, runs=3)
            wc = seconds["`wc -l`"]
            grown = {name: fresh(GROWN, str(path), name) for name in ("read_tree", "Log")}
            told = [f"`{name}` {most / MB:.0f} MB" for name, most in grown.items() if most is not None]
            memory = f"; more memory: {', '.join(told)}" if told else ""
            bench.table(
                f"uuid, parent, type and place of every record: {size:,} MB, {made.lines:,} lines{memory}",
                ("", "time", "speed", "x `wc -l`"),
                [(name, lapse(s), speed(made.size, s), f"{s / wc:.2f}") for name, s in seconds.items()],
            )
    bench.keep()


def open_log(path: Path) -> int:
    """As for the first look at a file: how many records follow the first one."""
    log._trees.clear()
    with log.Log(str(path)) as opened:
        return len(opened.children(0))


if __name__ == "__main__":
    main()
