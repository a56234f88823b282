"""How the benchmarks measure, and how they keep what they found for `benches.results` to join.

A time is the shortest of some runs, the runs of one table taken in turn: on a machine whose speed drifts, or that
others use too, the shortest ones are what its ratios can be made of.  pytest-benchmark runs each benchmark to its end
before the next, and knows neither processes nor ratios to another row; so this is our own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from benches.targets import TARGETS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python"
KEPT = ROOT / "target" / "bench"
"""A file for each section."""
MB = 1_000_000
BUFFER_BYTES = 1 << 20
ENOUGH_S = 4.0

Work = Callable[[], object]


def implementations() -> dict[str, ModuleType]:
    """The scanners that are here: native and pure."""
    found = {}
    for name, module in (("native", "_rust"), ("pure", "_pure")):
        try:
            found[name] = import_module(f"rehydrate.scan.{module}")
        except ImportError:
            print(f"{name} is not here and not measured")
    return found


def best(rows: Mapping[str, Work], runs: int = 5) -> dict[str, float]:
    """Seconds of the fastest run of each.  What has taken ENOUGH_S is not run again."""
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(runs):
        for name, work in rows.items():
            if sum(seconds[name]) > ENOUGH_S:
                continue
            began = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - began)
    return {name: min(each) for name, each in seconds.items()}


def count_lines(path: Path) -> int:
    return int(subprocess.run(["wc", "-l", path], capture_output=True, check=True).stdout.split()[0])


def read_only(path: Path) -> int:
    size = 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(BUFFER_BYTES):
            size += len(piece)
    return size


class Spent(NamedTuple):
    """What a process took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    output: bytes


def run(argv: Sequence[str], *, given: bytes = b"", environ: Mapping[str, str], folder: Path) -> Spent:
    """Run one process from its start to its end, its input and output in files: nobody reads along meanwhile."""
    with open(folder / "given", "w+b", buffering=0) as stdin, open(folder / "said", "w+b", buffering=0) as stdout:
        stdin.write(given)
        stdin.seek(0)
        to = [(os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, stdout.fileno(), 1)]
        began = time.perf_counter()
        process = os.posix_spawn(argv[0], argv, environ, file_actions=to)
        _, status, usage = os.wait4(process, 0)
        spent = time.perf_counter() - began
        if status:
            raise SystemExit(f"{' '.join(argv[:6])} ... ended with status {os.waitstatus_to_exitcode(status)}")
        stdout.seek(0)
        unit = 1 if sys.platform == "darwin" else 1_024
        return Spent(spent, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit, stdout.read())


def build(*target: str) -> str:
    """The program that cargo makes of a target, with all optimisations."""
    command = ["cargo", "build", "--locked", "--release", "--message-format=json-render-diagnostics", *target]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"cargo could not build {target[-1]}.")
    messages = map(json.loads, done.stdout.splitlines())
    # A bench brings the crate's programs along.
    return next(
        each["executable"] for each in messages if each.get("executable") and each["target"]["name"] == target[-1]
    )


def fresh(code: str, *words: str, pure: bool = False) -> Any:
    """What the code prints, as JSON, in an interpreter of its own that imports this package; `most()` is its peak."""
    environ = {**os.environ, "PYTHONPATH": f"{PACKAGE}{os.pathsep}{ROOT}", "REHYDRATE_PURE": "1" if pure else "0"}
    done = subprocess.run([sys.executable, "-c", PEAK + code, *words], capture_output=True, env=environ, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


PEAK = """
import json, sys, time
def most():  # not of `resource`, which a new process takes over from the one that started it
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024
    except OSError:
        return None
"""


def lapse(seconds: float) -> str:
    """A time for people."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:,.1f} ms" if seconds < 0.1 else f"{seconds * 1e3:,.0f} ms"


def figure(number: float) -> str:
    """Three digits, more where they stand before the point."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def speed(size: float, seconds: float) -> str:
    return f"{size / seconds / 1e9:.2f} GB/s"


class Section:
    """One part of the results: tables, and which figures were reached."""

    def __init__(self, name: str, title: str, *, quick: bool) -> None:
        self.quick = quick
        self._kept: dict[str, Any] = {"name": name, "title": title, "quick": quick, "tables": [], "reached": []}

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._kept["tables"].append({"title": title, "columns": list(columns), "rows": [list(row) for row in rows]})
        print(f"\n{title}")
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        for row in (columns, *rows):
            cells = [
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            print("  " + "  ".join(cells), flush=True)

    def reach(self, key: str, measured: float, *, of: str = "") -> None:
        """Hold a figure against its target; `of`: what it was measured on."""
        target = TARGETS[key]
        row = {"key": key, "of": of, "measured": measured}
        self._kept["reached"].append(row)
        said = "reached" if measured <= target.most else f"NOT reached: {target.reason or 'not looked into yet'}"
        print(
            f"  -> {target.path}{of and f', {of}'}: {figure(measured)} {target.unit}, asked {target.most:g}: {said}",
            flush=True,
        )

    def keep(self, source: str = "") -> None:
        """Write it down for `benches.results`."""
        KEPT.mkdir(parents=True, exist_ok=True)
        now = {"date": time.strftime("%Y-%m-%d"), "source": source or os.environ.get("REHYDRATE_BENCH_SOURCE", "")}
        path = KEPT / f"{self._kept['name']}.json"
        path.write_text(json.dumps({**self._kept, **now}, ensure_ascii=False, indent=1), encoding="utf-8")


def section(name: str, title: str, about: "str | None") -> Section:
    """The section of a module that is run: `python -m benches.NAME [--quick]`."""
    parser = argparse.ArgumentParser(prog=f"python -m benches.{name}", description=about)
    parser.add_argument("--quick", action="store_true", help="small files, for a small machine or a first look")
    return Section(name, title, quick=parser.parse_args().quick)
