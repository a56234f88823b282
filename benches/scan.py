"""What the scanner costs, as ratios to `wc -l` of the same file in the same run, page cache warm.

Each answer is asserted before it is timed.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from benches.measure import (
    MB,
    Section,
    Work,
    best,
    count_lines,
    fresh,
    implementations,
    lapse,
    read_only,
    section,
    speed,
)
from benches.transcript import Written, write_transcript

WANTED = {"USER_INPUT", "PLANNER_RESPONSE"}
NEW_BYTES = 20_000
SHAPES = {
    "steps ascend": {"ascending": True, "reordered": 0},
    "steps as they end": {"ascending": False, "reordered": 0},
    "steps as they end, 10 % in another order of members": {"ascending": False},
}
COLUMNS = ("", "time", "speed", "x `wc -l`")

GROWN = """
from rehydrate import scan
before = most()
scan.scan_tail(sys.argv[1])
print(json.dumps(None if before is None else most() - before))
"""


def main() -> None:
    bench = section("scan", "The scanner", __doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript_full.jsonl"
        for size in (20,) if bench.quick else (100, 1_000):
            for order, shape in SHAPES.items():
                made = write_transcript(path, size * MB, **shape)
                whole_file(bench, path, made, f"{size:,} MB, {order}", ascending=shape["ascending"])
        chosen(bench, path, made)
        with_cursor(bench, path, made)
    bench.keep()


def whole_file(bench: Section, path: Path, made: Written, of: str, *, ascending: bool) -> None:
    rows: dict[str, Work] = {"wc -l": lambda: count_lines(path), "read alone": lambda: read_only(path)}
    for name, impl in implementations().items():
        tail = impl.scan_tail(path)
        assert (tail.last_step, tail.lines, tail.damaged) == (made.last, made.lines, 0)
        assert [tuple(mark) for mark in tail.boundaries] == made.boundaries
        rows[f"`scan_tail`, {name}"] = lambda impl=impl: impl.scan_tail(path)
    seconds = show(bench, f"Every line counted, the highest step, every boundary: {of}", made, rows)
    for name, key in (("native", "scan"), ("pure", "scan-pure" if ascending else "scan-pure-any")):
        if f"`scan_tail`, {name}" in seconds:
            bench.reach(key, seconds[f"`scan_tail`, {name}"] / seconds["wc -l"], of=of)
    grown = fresh(GROWN, str(path))
    if grown is not None:
        bench.reach("scan-memory", grown / MB, of=of)


def chosen(bench: Section, path: Path, made: Written) -> None:
    """Records of wanted types, and what of that is decoding."""
    rows: dict[str, Work] = {"wc -l": lambda: count_lines(path)}
    raws: list[bytes] = []
    for name, impl in implementations().items():
        assert sum(1 for _ in impl.iter_steps(path, types={"USER_INPUT"})) == made.requests
        raws = [step.raw for step in impl.iter_steps(path, types=WANTED)]
        assert len(raws) == made.requests + made.answers
        rows[f"`iter_steps`, one type of 0.6 %, {name}"] = lambda impl=impl: taken(impl, {"USER_INPUT"})
        rows[f"`iter_steps`, two types of 40 %, {name}"] = lambda impl=impl: taken(impl, WANTED)
        rows[f"`iter_steps`, two types, decoded, {name}"] = lambda impl=impl: sum(1 for _ in decoded(impl, path))
    taken_of = path

    def taken(impl: ModuleType, types: set[str]) -> int:
        return sum(1 for _ in impl.iter_steps(taken_of, types=types))

    rows["decoding of these alone (`json.loads`)"] = lambda: sum(1 for _ in map(json.loads, raws))  # none is kept
    seconds = show(bench, f"Records of wanted types: {made.size / MB:,.0f} MB, steps as they end", made, rows, runs=3)
    key = "`iter_steps`, two types, decoded, native"
    if key in seconds:
        over = seconds[key] - seconds["decoding of these alone (`json.loads`)"]
        bench.reach("steps", over / seconds["wc -l"], of=f"{made.size / MB:,.0f} MB")


def decoded(impl: ModuleType, path: Path) -> Iterator[object]:
    for step in impl.iter_steps(path, types=WANTED):
        yield step.json()


def with_cursor(bench: Section, path: Path, made: Written) -> None:
    """Only what is new; and the ends of the file."""
    implemented = implementations()
    start = next(iter(implemented.values())).scan_tail(path).cursor
    new = b"".join(
        b'{"step_index":%d,"source":"MODEL","type":"RUN_COMMAND","status":"DONE","created_at":"2026-03-01T10:00:00Z",'
        b'"content":"%s"}\n' % (int(made.last or 0) + at, b"x" * 4_880)
        for at in range(1, 5)
    )
    assert abs(len(new) - NEW_BYTES) < 200
    with open(path, "ab") as file:
        file.write(new)
    rows: dict[str, Work] = {}
    for name, impl in implemented.items():
        tail = impl.scan_tail(path, start)
        assert (tail.lines, tail.last_step, tail.restarted) == (4, int(made.last or 0) + 4, False)
        assert impl.probe(path).last_step == tail.last_step
        rows[f"`scan_tail` with a cursor, 20 KB new, {name}"] = lambda impl=impl: impl.scan_tail(path, start)
        rows[f"`scan_tail` with a cursor, nothing new, {name}"] = lambda impl=impl, end=tail.cursor: impl.scan_tail(
            path, end
        )
        rows[f"`probe`, {name}"] = lambda impl=impl: impl.probe(path)
    seconds = best(rows, runs=1_000)
    bench.table(
        f"In process, {made.size / MB:,.0f} MB", ("", "time"), [(name, lapse(spent)) for name, spent in seconds.items()]
    )
    for name, key in (("native", "cursor"), ("pure", "cursor-pure")):
        if name in implemented:
            bench.reach(
                key, seconds[f"`scan_tail` with a cursor, 20 KB new, {name}"] * 1e6, of=f"{made.size / MB:,.0f} MB"
            )


def show(bench: Section, title: str, made: Written, rows: "dict[str, Work]", *, runs: int = 5) -> dict[str, float]:
    """Time the rows and add their table."""
    seconds = best(rows, runs)
    lines = [
        (name, lapse(spent), speed(made.size, spent), f"{spent / seconds['wc -l']:.2f}")
        for name, spent in seconds.items()
    ]
    bench.table(f"{title}, {made.lines:,} lines", COLUMNS, lines)
    return seconds


if __name__ == "__main__":
    main()
