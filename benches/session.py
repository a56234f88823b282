"""What sessions cost: durable appends beside a bare write and fsync of the same bytes, queued ones, opening one and
taking what a provider is sent, and a branch of one.

Each answer is asserted before it is timed.
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from benches.measure import ENOUGH_S, MB, Work, best, count_lines, fresh, lapse, section
from benches.transcript import SESSION, write_entries
from rehydrate.session import Place, Session, SessionLog, assistant, branch, user
from rehydrate.session.line import sealed

TEXT = "A sentence of an answer, as long as they are. " * 8
CWD = "/srv/project"
JUDGED_MB = 1_000
"""The size that the figure of opening is asked for."""
OPEN = """
from rehydrate.session import Session
before, began = most(), time.perf_counter()
with Session.open(sys.argv[1]) as session:
    sent = session.view("wire")
    spent = time.perf_counter() - began
    assert sent and sent[0]["role"] == "user" and sent.boundary and not session.damaged
    raw = [session.log.raw(session.log.at(uuid)) for uuid in sent.uuids]
    began = time.perf_counter()
    parsed = [json.loads(each) for each in raw]
    parsing = time.perf_counter() - began
    print(json.dumps([spent, parsing, len(parsed), before and most() - before]))
"""


def main() -> None:
    bench = section("session", "Sessions", __doc__)
    with tempfile.TemporaryDirectory() as folder:
        durable(bench, Path(folder))
        queued(bench, Path(folder))
        opened(bench, Path(folder))
        branched(bench, Path(folder))
    bench.keep()


def durable(bench, folder: Path) -> None:
    """Request after request, each on disk before the next."""
    times = 200 if bench.quick else 1_000
    rows = []
    for size in (200, 2_000):  # as requests are
        entry = user("x" * size)
        log = SessionLog(Place(str(folder), "durable", f"of-{size}"), cwd=CWD)
        bare = os.open(folder / f"bare-{size}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        log.append_durable(entry)
        log.append_durable(entry)
        line = Path(log.path).read_bytes().splitlines(keepends=True)[-1]
        assert json.loads(line)["message"]["content"] == "x" * size

        def by_hand(bare=bare, line=line) -> None:
            os.write(bare, line)
            os.fsync(bare)

        work: dict[str, Work] = {"bare": by_hand, "log": lambda log=log, entry=entry: log.append_durable(entry)}
        spent: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(times):  # in turn, and the middle one: how long a disk takes changes all the time
            for name, each in work.items():
                began = time.perf_counter()
                each()
                spent[name].append(time.perf_counter() - began)
        log.close()
        os.close(bare)
        seconds = {name: statistics.median(each) for name, each in spent.items()}
        ratio = seconds["log"] / seconds["bare"]
        rows.append((f"{size:,} bytes", *map(lapse, seconds.values()), f"{ratio:.2f}"))
        bench.reach("durable", ratio, of=f"{size:,} bytes")
    bench.table("An entry on disk", ("", "bare write and fsync", "`append_durable`", "x bare"), rows)


def queued(bench, folder: Path) -> None:
    """The whole way: a dict in, on disk (not synced) after `flush`."""
    count = 20_000 if bench.quick else 100_000
    entry = assistant(TEXT)
    rows = []
    for name, given in (("one at a time", [entry] * count), ("ten at a time", [[entry] * 10] * (count // 10))):
        log = SessionLog(Place(str(folder), "queued", name.replace(" ", "-")), cwd=CWD)
        log.append_durable(user("begin"))

        def work(log=log, given=given) -> None:
            append_all(log, given)

        work()
        assert count_lines(Path(log.path)) == 2 + count
        seconds = best({"": work}, 5)[""]
        log.close()
        rows.append((name, lapse(seconds), f"{count / seconds:,.0f}"))
        bench.reach("queued", seconds / count * 1e6, of=name)
    bench.table(f"{count:,} entries of {len(TEXT)} characters", ("", "time", "entries a second"), rows)


def opened(bench, folder: Path) -> None:
    """In an interpreter of its own, so that nothing is known of the file."""
    rows = []
    for size in (10,) if bench.quick else (100, JUDGED_MB):
        path = write_session(folder, size * MB)
        runs = [fresh(OPEN, str(path))]
        while len(runs) < 3 and sum(run[0] for run in runs) < ENOUGH_S:
            runs.append(fresh(OPEN, str(path)))
        wc = best({"wc": lambda path=path: count_lines(path)}, 3)["wc"]
        spent, parsing, entries, grown = min(runs)
        memory = "unknown" if grown is None else f"{grown / MB:.0f} MB"
        rest = (spent - parsing) / wc
        rows.append((f"{size:,} MB", lapse(spent), f"{entries:,}", lapse(parsing), f"{rest:.2f}", memory))
        if size == JUDGED_MB or bench.quick:
            bench.reach("open", rest, of=f"{size:,} MB")
        path.unlink()
    columns = ("", "time", "entries in it", "their parsing", "x `wc -l`, parsing taken off", "growth of memory")
    bench.table("Open a session and take what a provider is sent", columns, rows)


def branched(bench, folder: Path) -> None:
    """At its end, so that the whole line of descent is copied."""
    size = 10 if bench.quick else 100
    path = write_session(folder, size * MB)
    copied = []

    def work() -> None:
        with Session.open(path) as session:
            copied.append(branch(session).path)

    def by_hand() -> None:
        data = path.read_bytes()
        with open(folder / "copy", "wb", buffering=0) as file:
            file.write(data)
            os.fsync(file.fileno())

    work()
    with Session.open(path) as session, Session.open(copied[0]) as copy:
        assert copy.view("scrollback").uuids == session.view("scrollback").uuids
    seconds = best({"branch": work, "copy": by_hand}, 3)
    ratio = seconds["branch"] / seconds["copy"]
    rows = [(f"{size} MB", lapse(seconds["branch"]), lapse(seconds["copy"]), f"{ratio:.1f}")]
    bench.table("Branch a session at its end", ("", "`branch`", "its bytes copied and synced", "x"), rows)


def write_session(folder: Path, size: int) -> Path:
    """A session of that size in lines of ours, most of it before its newest compaction."""
    given = folder / "given.jsonl"
    write_entries(given, size)
    place = Place(str(folder), "made", SESSION)
    Path(place.path).parent.mkdir(exist_ok=True)
    head = json.dumps({"type": "session", "format": 1, "sessionId": SESSION, "cwd": CWD}).encode()
    with open(given, "rb") as source, open(place.path, "wb") as target:
        target.write(sealed(head, 1))
        target.writelines(sealed(line[:-1], seq) for seq, line in enumerate(source, 2))
    given.unlink()
    return Path(place.path)


def append_all(log: SessionLog, given: Iterable) -> None:
    for each in given:
        log.append(each)
    log.flush()


if __name__ == "__main__":
    main()
