"""What `rehydrate.context` takes: a list of 200 messages cut, validated and repaired, an engine before each request, a
compaction, and a log restored however long it is.

The lists are those of tests/context/harness.  Each answer is asserted before it is timed.
"""

import functools
import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benches.measure import ENOUGH_S, MB, best, fresh, lapse, section
from benches.session import CWD, JUDGED_MB, write_session
from rehydrate.context import (
    FORMATS,
    Engine,
    Estimate,
    Exact,
    Meter,
    Request,
    check,
    estimate,
    signs,
    statements,
    subjects,
    trim,
)
from rehydrate.context.checkpoint import Checkpoint, commit
from rehydrate.context.repair import repair
from rehydrate.context.restore import restore
from rehydrate.session import Place, SessionLog, Sessions, assistant, user
from tests.context.harness.made import conversation
from tests.context.harness.written import written

MESSAGES = 200
SEEDS = range(8)
WINDOW = 200_000
REMEMBERING = (estimate, statements, signs, subjects)
"""The modules that remember something for the process."""
RESTORE = """
from rehydrate.context.restore import restore
before, began, cpu = most(), time.perf_counter(), time.process_time()
found = restore(sys.argv[1])
spent = [time.perf_counter() - began, time.process_time() - cpu]
assert found.checkpoint and len(found.entries) == int(sys.argv[2]) and found.entries[-1]["message"]["content"] == "on"
print(json.dumps([*spent, before and most() - before]))
"""
IMPORT = """
began = time.perf_counter()
exec(sys.argv[1])
print(json.dumps(time.perf_counter() - began))
"""
IMPORTS = ("import rehydrate.context", "from rehydrate.context import Engine", "from rehydrate.context import trim")

Wire = Sequence[dict[str, Any]]


def main() -> None:
    bench = section("context_speed", "Contexts", __doc__)
    cut(bench)
    validated(bench)
    with tempfile.TemporaryDirectory() as folder:
        prepared(bench, Path(folder))
        restored(bench, Path(folder))
    rows = [(f"`{each}`", lapse(min(fresh(IMPORT, each) for _ in range(5)))) for each in IMPORTS]
    bench.table("Loaded, in an interpreter of its own", ("", "time"), rows)
    bench.keep()


def cut(bench) -> None:
    """To a share of their tokens; the first call of a process, and one with every text seen before."""
    rows = []
    for kind, percent in itertools.product((Exact, Estimate), (50, 10)):
        try:
            kind()
        except ImportError:
            print("the extra `tokens` is not here, and the exact counter not measured")
            continue
        cold, warm = [], []
        for wire in lists("openai-chat"):
            meter = Meter(kind())
            budget = counted(wire, meter) * percent // 100
            left = trim(wire, budget=budget, meter=meter)
            check(left, format="openai-chat")
            assert left and counted(left, meter) <= budget
            forget()
            fresh_one = Meter(kind())
            began = time.perf_counter()
            trim(wire, budget=budget, meter=fresh_one)
            cold.append(time.perf_counter() - began)
            warm.append(best({"": functools.partial(trim, wire, budget=budget, meter=meter)})[""])
        usual = statistics.median(warm)
        rows.append(
            (f"{meter.counter.name}, {percent} %", lapse(usual), lapse(max(warm)), lapse(statistics.median(cold)))
        )
        bench.reach("trim", usual * 1e3, of=f"{meter.counter.name}, {percent} %")
    columns = ("", "median", "slowest list", "the first call of a process, median")
    bench.table(f"`trim` of {MESSAGES} messages", columns, rows)


def validated(bench) -> None:
    """As a compaction has it done: with what the messages were made of."""
    rows = []
    for name, form in FORMATS.items():
        plain, against, mended = [], [], []
        for wire in lists(name):
            source = repair(form.read(wire)).messages
            sent = form.write(source)
            check(sent, format=name, source=source)
            work: dict[str, Callable[[], object]] = {
                "plain": functools.partial(check, sent, format=name),
                "against": functools.partial(check, sent, format=name, source=source),
                "repair": functools.partial(repair, source),
            }
            seconds = best(work)
            plain.append(seconds["plain"])
            against.append(seconds["against"])
            mended.append(seconds["repair"])
        medians = [statistics.median(each) for each in (plain, against, mended)]
        rows.append((name, *map(lapse, medians)))
        bench.reach("validate", medians[0] * 1e3, of=name)
    columns = ("", "validated", "with what it was made of", "repaired")
    bench.table(f"{MESSAGES} messages", columns, rows)


def prepared(bench, folder: Path) -> None:
    """`Engine.prepare`, and a whole `compact`, which is on disk when it returns."""
    rows = []
    for name in FORMATS:
        same, more, compacted, first = [], [], [], []
        for seed, wire in enumerate(lists(name)):
            with Sessions(folder / name / str(seed)).new(CWD) as log:
                engine = Engine(log, window=WINDOW)
                request = Request(model="m", format=name, system="Be brief.")
                engine.append(*wire, format=name)
                first.append(timed(lambda engine=engine, request=request: engine.prepare(request)))
                before = engine.prepare(request)
                assert before.messages and before.checkpoint is None
                same.append(best({"": functools.partial(engine.prepare, request)})[""])
                runs = []
                for at in range(3):
                    engine.append({"role": "user", "content": f"And {at}?"}, format="anthropic")
                    runs.append(timed(lambda engine=engine, request=request: engine.prepare(request)))
                more.append(min(runs))
                began = time.perf_counter()
                made = engine.compact()
                compacted.append(time.perf_counter() - began)
                assert made is not None
                assert made.figures["after"] < made.figures["before"]
                assert Engine(log, window=WINDOW).prepare(request).messages == engine.prepare(request).messages
        medians = [statistics.median(each) for each in (first, same, more, compacted)]
        rows.append((name, *map(lapse, medians)))
        bench.reach("prepare", max(medians[1:3]) * 1e3, of=name)
    columns = ("", "the first time", "nothing new", "one new message", "`compact`")
    bench.table(f"An engine of {MESSAGES} messages", columns, rows)


def restored(bench, folder: Path) -> None:
    """A log with a checkpoint near its end, in an interpreter of its own."""
    rows = []
    for size in (1, 10) if bench.quick else (10, 100, JUDGED_MB):
        path, entries = with_checkpoint(folder / str(size), size * MB)
        runs = [fresh(RESTORE, str(path), str(entries)) for _ in range(3)]
        while len(runs) < 9 and sum(run[0] for run in runs) < ENOUGH_S:
            runs.append(fresh(RESTORE, str(path), str(entries)))
        spent, cpu, grown = min(runs)
        memory = "unknown" if grown is None else f"{grown / MB:.1f} MB"
        rows.append((f"{size:,} MB", lapse(spent), lapse(cpu), f"{entries}", memory))
        bench.reach("restore", spent * 1e3, of=f"{size:,} MB")
        shutil.rmtree(folder / str(size))
    bench.table("A log restored", ("", "time", "of it the processor's", "entries in it", "growth of memory"), rows)


def with_checkpoint(folder: Path, size: int) -> tuple[Path, int]:
    """A log of that size, a checkpoint of most of what it holds, and 200 entries behind that; and how many entries are
    to be restored.
    """
    folder.mkdir()
    path = write_session(folder, size)
    before = restore(str(path))
    with SessionLog(Place.of(str(path)), cwd=CWD, tip=before.tip) as log:
        kept = min(30, len(before.entries) - 1)
        made = Checkpoint.make(
            before,
            len(before.entries) - kept,
            messages=[{"role": "user", "content": "What was said so far. " * 500}],
            ledger=[],
            figures={},
            reason="manual",
            strategy="fallback",
            outcome="completed",
        )
        commit(log, made, summary="So far.", preserve=[], expect=before.newest, restored=before)
        for _ in range(100):
            log.append([assistant("An answer. " * 50), user("on")])
    return path, kept + 200


def lists(form: str) -> list[Wire]:
    """Conversations in a format, each of about MESSAGES messages."""
    return [written(conversation(seed, messages=MESSAGES), form) for seed in SEEDS]


def counted(wire: Wire, meter: Meter) -> int:
    return meter.messages(FORMATS["openai-chat"].read(wire))


def forget() -> None:
    """Everything that is remembered for the process, but not what was imported."""
    for module in REMEMBERING:
        for each in vars(module).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
