"""What people use today for the question that `scan_tail` answers: the highest step, and how many boundaries.

Each answer is asserted before it is timed.  What is not installed is said to be "not here".
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from benches.measure import MB, Work, best, count_lines, implementations, lapse, section, speed
from benches.transcript import write_transcript

COLUMNS = ("", "time", "speed", "x `wc -l`")
KIND = '"type":"CHECKPOINT"'
LONGEST_LINE = 64 * MB

Answer = tuple[int, int]
"""Highest step, boundaries."""


def main() -> None:
    bench = section("tools", "What people use today", __doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript_full.jsonl"
        made = write_transcript(path, (10 if bench.quick else 100) * MB)
        wanted = (int(made.last or 0), len(made.boundaries))
        rows, missing = programs(path, wanted), []
        for name, make in LIBRARIES.items():
            try:
                asked = make(path)
            except ImportError:
                missing.append((name, "not here", "", ""))
                continue
            assert asked() == wanted, name
            rows[name] = asked
        for name, impl in implementations().items():
            tail = impl.scan_tail(path)
            assert (tail.last_step, len(tail.boundaries)) == wanted
            rows[f"`scan_tail`, {name}"] = lambda impl=impl: impl.scan_tail(path)
        seconds = best({name: work for name, work in rows.items() if work is not None}, runs=3)
        wc = seconds["`wc -l`"]
        lines = [
            (name, lapse(seconds[name]), speed(made.size, seconds[name]), f"{seconds[name] / wc:.1f}")
            if work is not None
            else (name, "not here", "", "")
            for name, work in rows.items()
        ]
        title = f"The highest step and the number of boundaries: {made.size / MB:,.0f} MB, {made.lines:,} lines"
        bench.table(title, COLUMNS, [*lines, *missing])
    bench.keep()


def programs(path: Path, wanted: Answer) -> "dict[str, Work | None]":
    """What stands on the PATH; these answer less than the question."""
    with open(path, "rb") as file:
        held = sum(b"CHECKPOINT" in line for line in file)
    rows: dict[str, Work | None] = {
        "`cat`": lambda: subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True),
        "`wc -l`": lambda: count_lines(path),
        f"`rg -c '{KIND}'` (boundaries alone)": None,
        "`rg CHECKPOINT` into `jq` (boundaries alone)": None,
        "`jq` on every line": None,
    }
    counted, piped, alone = (name for name, work in rows.items() if work is None)
    if shutil.which("rg"):
        assert int(output(["rg", "-c", KIND, str(path)])) == wanted[1]
        rows[counted] = lambda: output(["rg", "-c", KIND, str(path)])
    if shutil.which("rg") and shutil.which("jq"):
        line = f"rg CHECKPOINT '{path}' | jq -c 'select(.type == \"CHECKPOINT\") | .step_index'"
        assert len(output(["sh", "-c", line]).split()) == wanted[1] <= held
        rows[piped] = lambda: output(["sh", "-c", line])
    if shutil.which("jq"):
        count = '.[1] + (if $r.type == "CHECKPOINT" then 1 else 0 end)'
        program = f"reduce inputs as $r ([0, 0]; [([.[0], $r.step_index] | max), {count}])"
        asked = ["jq", "-nc", program, str(path)]
        assert tuple(json.loads(output(asked))) == wanted
        rows[alone] = lambda: output(asked)
    return rows


def output(argv: list[str]) -> bytes:
    return subprocess.run(argv, capture_output=True, check=True).stdout


def every_line(path: Path, decode: Callable[[bytes], Any]) -> Answer:
    """A loop that decodes each line into something with items."""
    last, boundaries = -1, 0
    with open(path, "rb") as file:
        for line in file:
            record = decode(line)
            last = max(last, record["step_index"])
            boundaries += record["type"] == "CHECKPOINT"
    return last, boundaries


def a_careful_loop(path: Path) -> Callable[[], Answer]:
    """Only lines decoded that could be a boundary; the step of the others by a pattern."""
    step = re.compile(rb'"step_index":(\d+)')

    def ask() -> Answer:
        last, boundaries = -1, 0
        with open(path, "rb") as file:
            for line in file:
                if b"CHECKPOINT" in line:
                    boundaries += json.loads(line)["type"] == "CHECKPOINT"
                found = step.search(line)
                last = max(last, int(found[1])) if found else last
        return last, boundaries

    return ask


def with_msgspec(path: Path) -> Callable[[], Answer]:
    msgspec = import_module("msgspec")
    record = msgspec.defstruct("Record", [("step_index", int), ("type", str)])
    decode = msgspec.json.Decoder(record).decode

    def ask() -> Answer:
        with open(path, "rb") as file:
            return summed((found.step_index, found.type) for found in map(decode, file))

    return ask


def with_simdjson(path: Path) -> Callable[[], Answer]:
    parse = import_module("simdjson").Parser().parse

    def ask() -> Answer:
        # The parser is used again only when nothing refers to what it gave.
        with open(path, "rb") as file:
            return summed(picked(parse, line) for line in file)

    return ask


def picked(parse: Callable[[bytes], Any], line: bytes) -> tuple[int, str]:
    record = parse(line)
    return record["step_index"], record["type"]


def with_polars(path: Path) -> Callable[[], Answer]:
    polars = import_module("polars")
    schema = {"step_index": polars.Int64, "type": polars.String}

    def ask() -> Answer:
        frame = polars.scan_ndjson(path, schema=schema)
        wanted = frame.select(polars.col("step_index").max(), (polars.col("type") == "CHECKPOINT").sum().alias("marks"))
        last, boundaries = wanted.collect().row(0)
        return int(last), int(boundaries)

    return ask


def with_duckdb(path: Path) -> Callable[[], Answer]:
    base = import_module("duckdb").connect()
    question = (
        "select max(step_index), count(*) filter (type = 'CHECKPOINT') from read_json(?, format = "
        "'newline_delimited', columns = {step_index: 'BIGINT', type: 'VARCHAR'}, maximum_object_size = ?)"
    )

    def ask() -> Answer:
        last, boundaries = base.execute(question, [str(path), LONGEST_LINE]).fetchone()
        return int(last), int(boundaries)

    return ask


def summed(records: Iterable[tuple[int, str]]) -> Answer:
    last, boundaries = -1, 0
    for step, kind in records:
        last = max(last, step)
        boundaries += kind == "CHECKPOINT"
    return last, boundaries


def with_orjson(path: Path) -> Callable[[], Answer]:
    decode = import_module("orjson").loads
    return lambda: every_line(path, decode)


LIBRARIES: dict[str, Callable[[Path], Callable[[], Answer]]] = {
    "a loop that decodes candidates alone (`json`, `re`)": a_careful_loop,
    "a `json.loads` loop": lambda path: lambda: every_line(path, json.loads),
    "an `orjson.loads` loop": with_orjson,
    "a msgspec loop, typed": with_msgspec,
    "a pysimdjson loop": with_simdjson,
    "polars, `scan_ndjson`": with_polars,
    "duckdb, `read_json`": with_duckdb,
}

if __name__ == "__main__":
    main()
