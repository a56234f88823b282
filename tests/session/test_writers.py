"""Two processes and eight threads append to one session: every line whole, every parent there, nothing lost."""

import subprocess
import sys

from rehydrate.session import live

from .conftest import records

ENTRIES, PROCESSES, THREADS = 100_000, 2, 8
HANGS_S = 600

WRITER = """
import sys, threading
from rehydrate.session import Place, SessionLog, user
root, key, session, name, entries, threads = sys.argv[1:]
sys.stdin.readline()
log = SessionLog(Place(root, key, session), cwd="/srv/project", flush_ms=1)
def work(thread):
    for number in range(int(entries)):
        append = log.append_durable if number % 500 == 0 else log.append
        append(user(f"{name}.{thread}.{number}"))
workers = [threading.Thread(target=work, args=(each,)) for each in range(int(threads))]
for each in workers: each.start()
for each in workers: each.join()
log.close()
"""


def test_two_processes_of_eight_threads_lose_nothing_and_each_line_is_whole(place):
    each = ENTRIES // PROCESSES // THREADS
    given = [place.root, place.key, place.session_id]
    commands = [[sys.executable, "-c", WRITER, *given, str(name), str(each), str(THREADS)] for name in range(PROCESSES)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for command in commands]
    for process in processes:  # at once: both find no file
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        assert process.communicate(timeout=HANGS_S)[1] == b""
    rows = records(place.path)  # numbered from 1 without a gap, each check right
    assert [row["type"] for row in rows] == ["session"] + ["user"] * ENTRIES
    seen = {None}
    orders = {}
    for row in rows[1:]:
        assert row["parentUuid"] in seen
        seen.add(row["uuid"])
        name, thread, number = row["message"]["content"].split(".")
        orders.setdefault((name, thread), []).append(int(number))
    assert len(seen) == ENTRIES + 1
    assert len(orders) == PROCESSES * THREADS
    assert all(order == list(range(each)) for order in orders.values())
    assert live(place) == []
