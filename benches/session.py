"""What it costs to write a session: durable appends beside a bare write and fsync of the same bytes, and queued ones.

Each answer is asserted before it is timed.
"""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benches.measure import Work, best, count_lines, lapse, section
from rehydrate.session import Place, SessionLog, assistant, user

TEXT = "A sentence of an answer, as long as they are. " * 8
CWD = "/srv/project"


def main() -> None:
    bench = section("session", "Sessions", __doc__)
    with tempfile.TemporaryDirectory() as folder:
        durable(bench, Path(folder))
        queued(bench, Path(folder))
    bench.keep()


def durable(bench, folder: Path) -> None:
    """Request after request, each on disk before the next."""
    times = 50 if bench.quick else 300
    rows = []
    for size in (200, 20_000):
        entry = user("x" * size)
        log = SessionLog(Place(str(folder), "durable", f"of-{size}"), cwd=CWD)
        bare = os.open(folder / f"bare-{size}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        log.append_durable(entry)
        log.append_durable(entry)
        line = Path(log.path).read_bytes().splitlines(keepends=True)[-1]
        assert json.loads(line)["message"]["content"] == "x" * size

        def by_hand(bare=bare, line=line) -> None:
            for _ in range(times):
                os.write(bare, line)
                os.fsync(bare)

        def by_log(log=log, entry=entry) -> None:
            for _ in range(times):
                log.append_durable(entry)

        work: dict[str, Work] = {"bare": by_hand, "log": by_log}
        seconds = best(work, 5)
        log.close()
        os.close(bare)
        ratio = seconds["log"] / seconds["bare"]
        rows.append((f"{size:,} bytes", *(lapse(seconds[name] / times) for name in work), f"{ratio:.2f}"))
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


def append_all(log: SessionLog, given: Iterable) -> None:
    for each in given:
        log.append(each)
    log.flush()


if __name__ == "__main__":
    main()
