"""Two processes with one session: what one has compacted the other goes on from."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from rehydrate.session import SessionLog

from .engines import engine_of, sent
from .summarisers import GOOD, REQUEST, WINDOW, Scripted, copied

PROCESS = r"""
import json, sys
from rehydrate.context import Engine, Policy, Request
from rehydrate.session import Place, SessionLog

def model(request):
    print("asked", flush=True)
    sys.stdin.readline()
    return "## Exact next action\n- go on\n## Notes\nWritten by " + sys.argv[2]

log = SessionLog(Place.of(sys.argv[1]), cwd="/")
engine = Engine(log, window=12_000, policy=Policy(reserve=1_000), summariser=model)
request = Request("m", "anthropic")
for line in iter(sys.stdin.readline, ""):
    if line.strip():
        engine.append({"role": "user", "content": line.strip()})
    print(json.dumps(engine.prepare(request).body(), sort_keys=True), flush=True)
log.close()
"""
"""Appends each line that it is given, and prints what it would send then.  A line that is empty is not appended; one
lets its model answer.
"""


def compactions(log):
    log.flush()
    return Path(log.path).read_bytes().count(b'"subtype":"compact_boundary"')


def told(process, line=""):
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def test_of_two_that_ask_a_model_at_once_one_wins_and_the_other_goes_on_from_what_that_did(due, tmp_path):
    log = copied(due, tmp_path)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PROCESS, log.path, name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for name in ("the first", "the second")
        )
        for each in (first, second):
            told(each)
            assert each.stdout.readline() == "asked\n"
        told(first)
        won = first.stdout.readline()
        assert "Written by the first" in won
        told(second)
        assert second.stdout.readline() == won
        told(second, "More, please.")
        more = second.stdout.readline()
        for each in (first, second):
            each.communicate(timeout=60)
    assert more.startswith(won[:1_000]) and "More, please." in more
    assert compactions(log) == 1
    again = engine_of(SessionLog(log.place, cwd="/"), window=WINDOW).prepare(REQUEST)
    assert [again.messages[-1]["content"], again.checkpoint] == ["More, please.", None]


def test_what_another_has_compacted_before_one_asks_no_model(due, tmp_path):
    log, model = copied(due, tmp_path), Scripted(GOOD)
    late = engine_of(SessionLog(log.place, cwd="/"), window=WINDOW, summariser=model)
    late.explain(REQUEST)  # has seen it as it was before
    assert engine_of(log, window=WINDOW).compact() is not None
    late.append({"role": "user", "content": "More, please."})
    projection = late.prepare(REQUEST)
    assert (projection.checkpoint, model.requests, compactions(log)) == (None, [], 1)
    assert projection.messages[-1]["content"] == "More, please."
    assert sent(engine_of(SessionLog(log.place, cwd="/"), window=WINDOW).prepare(REQUEST)) == sent(projection)


def test_what_another_has_compacted_of_another_line_of_descent_changes_nothing(due, tmp_path):
    log = copied(due, tmp_path)
    engine, late = engine_of(log, window=WINDOW), engine_of(SessionLog(log.place, cwd="/"), window=10 * WINDOW)
    late.append({"role": "user", "content": "Elsewhere."})
    before = sent(late.prepare(REQUEST))
    assert engine.compact() is not None
    assert sent(late.prepare(REQUEST)) == before
