"""While a hook or a model is waited for, an engine is free for everybody else, and what came meanwhile stays."""

import asyncio
import subprocess
import sys
import threading

import pytest

from rehydrate.context import Aborted, AsyncEngine, ContextError, Superseded
from rehydrate.context.records import ATTEMPT
from rehydrate.context.waiting import STOP, Stop, Waiting
from rehydrate.session import SessionLog

from .engines import engine_of, sent, types_in
from .summarisers import GOOD, REQUEST, WINDOW, Scripted, compacted, copied

HANGS_S = 60
"""Whoever takes longer hangs."""
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Meanwhile, an answer."}]}
ASKED = {"role": "user", "content": "Meanwhile, a request."}


class Held:
    """A summariser that waits until it is let go."""

    def __init__(self, answer=GOOD):
        self.answer = answer
        self.begun, self.go = threading.Event(), threading.Event()
        self.count = 0

    def __call__(self, request):
        self.count += 1
        self.begun.set()
        assert self.go.wait(HANGS_S)
        return self.answer


class Aside:
    """What a call gives or raises, in a thread of its own."""

    def __init__(self, call):
        self.result = self.error = None

        def run():
            try:
                self.result = call()
            except BaseException as error:
                self.error = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def end(self):
        self.thread.join(HANGS_S)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.result


def asking(due, folder, held):
    """An engine whose `prepare` has asked a model, and that call."""
    engine = engine_of(copied(due, folder), window=WINDOW, summariser=held)
    aside = Aside(lambda: engine.prepare(REQUEST))
    assert held.begun.wait(HANGS_S)
    return engine, aside


def test_other_threads_append_observe_and_look_while_a_model_is_asked_and_all_of_it_stays(due, tmp_path):
    held = Held()
    engine, aside = asking(due, tmp_path, held)
    assert engine.append(ANSWER, ASKED, format="anthropic") == engine.log.tip
    item = engine.ledger.put("Open risks or blockers", "put meanwhile")
    engine.pin(engine.log.tip)
    assert engine.explain()["pinned"] == 2
    held.go.set()
    projection = aside.end()
    assert projection.checkpoint.strategy == "llm"
    assert list(projection.messages)[-2:] == [ANSWER, ASKED]
    assert "put meanwhile" in sent(projection)
    assert item in [each.id for each in engine.ledger.open]
    other = engine_of(SessionLog(engine.log.place, cwd="/"), window=WINDOW)
    assert sent(other.prepare(REQUEST)) == sent(projection)
    assert other.explain()["pinned"] == 2 and item in [each.id for each in other.ledger.open]


def test_what_came_meanwhile_stays_where_no_summary_came_of_it(due, tmp_path):
    held = Held("")
    engine, aside = asking(due, tmp_path, held)
    engine.append(ANSWER, ASKED, format="anthropic")
    engine.ledger.put("Open risks or blockers", "put meanwhile")
    held.go.set()
    projection = aside.end()
    assert (projection.checkpoint.strategy, projection.failure) == ("fallback", "empty_exhausted")
    assert list(projection.messages)[-2:] == [ANSWER, ASKED] and "put meanwhile" in sent(projection)


def test_a_text_about_too_much_that_came_meanwhile_gives_way_to_a_plan_without_it(due, tmp_path):
    held = Held()
    engine, aside = asking(due, tmp_path, held)
    for at in range(40):
        engine.append(
            {"role": "assistant", "content": f"Answer {at}. " + "word " * 150},
            {"role": "user", "content": f"And {at}?"},
        )
    held.go.set()
    projection = aside.end()
    assert (projection.checkpoint.strategy, projection.failure) == ("fallback", None)
    assert projection.snapshot.tokens < projection.snapshot.handoff_line
    assert projection.messages[-1] == {"role": "user", "content": "And 39?"}


def test_a_second_turn_waits_for_the_first_and_finds_what_it_has_done(due, tmp_path):
    held = Held()
    engine, aside = asking(due, tmp_path, held)
    second = Aside(lambda: engine.prepare(REQUEST))
    third = Aside(engine.compact)
    second.thread.join(0.2)
    assert second.thread.is_alive() and third.thread.is_alive()
    held.go.set()
    assert aside.end().checkpoint is not None
    assert second.end().checkpoint is None
    third.end()


def test_what_is_waited_for_cannot_wait_for_the_engine(due, tmp_path):
    found = []

    def summariser(request):
        for call in (engine.compact, lambda: engine.prepare(REQUEST)):
            with pytest.raises(ContextError, match="waits for it"):
                call()
            found.append(True)
        return GOOD

    engine = engine_of(copied(due, tmp_path), window=WINDOW, summariser=summariser)
    assert engine.prepare(REQUEST).checkpoint.strategy == "llm"
    assert len(found) == 2


COMMITTER = """
import sys
from rehydrate.context import Engine
from rehydrate.session import Place, SessionLog

with SessionLog(Place.of(sys.argv[1]), cwd="/") as log:
    assert Engine(log, window=12_000).compact() is not None
"""


def test_a_request_is_prepared_anew_where_another_process_has_compacted_meanwhile(due, tmp_path):
    held = Held()
    engine, aside = asking(due, tmp_path, held)
    subprocess.run([sys.executable, "-c", COMMITTER, engine.log.path], check=True, timeout=HANGS_S)
    held.go.set()
    projection = aside.end()
    assert projection.snapshot.tokens < projection.snapshot.handoff_line
    assert types_in(engine.log).count((ATTEMPT, "failed")) == 1
    other = engine_of(SessionLog(engine.log.place, cwd="/"), window=WINDOW)
    assert sent(other.prepare(REQUEST)) == sent(projection)


def test_a_compaction_of_another_process_meanwhile_is_told_to_whoever_asked_for_one(due, tmp_path):
    held = Held()
    engine = engine_of(copied(due, tmp_path), window=WINDOW, summariser=held)
    aside = Aside(engine.compact)
    assert held.begun.wait(HANGS_S)
    subprocess.run([sys.executable, "-c", COMMITTER, engine.log.path], check=True, timeout=HANGS_S)
    held.go.set()
    with pytest.raises(Superseded):
        aside.end()
    assert types_in(engine.log)[-1] == (ATTEMPT, "failed")


def test_who_does_not_answer_in_time_is_left_and_what_comes_then_is_of_no_interest(due, tmp_path, monkeypatch):
    run = Waiting.run
    monkeypatch.setattr(Waiting, "run", lambda self, call, timeout_s: run(self, call, 0.05))
    held = Held()
    engine, aside = asking(due, tmp_path / "model", held)
    projection = aside.end()
    assert (projection.failure, held.count) == ("transient_exhausted", 3)
    plain, _ = compacted(due, tmp_path / "plain")
    assert sent(projection) == sent(plain)
    held.go.set()
    engine.append(ANSWER, ASKED, format="anthropic")
    assert engine.prepare(REQUEST).checkpoint is None


def test_what_is_cancelled_in_asyncio_is_waited_for_no_more_and_leaves_the_bytes(due, tmp_path):
    held = Held()

    async def main():
        engine = AsyncEngine(engine_of(copied(due, tmp_path / "model"), window=WINDOW, summariser=held))
        task = asyncio.create_task(engine.prepare(REQUEST))
        await asyncio.to_thread(held.begun.wait, HANGS_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.answer = ""
        again = asyncio.create_task(engine.prepare(REQUEST))
        await asyncio.sleep(0.1)
        held.go.set()
        return engine.engine, await asyncio.wait_for(again, HANGS_S)

    engine, projection = asyncio.run(main())
    assert types_in(engine.log).count((ATTEMPT, "interrupted")) == 1
    plain, _ = compacted(due, tmp_path / "plain")
    assert sent(projection) == sent(plain)


def test_a_stop_that_comes_before_the_wait_ends_it_at_once():
    lock = threading.RLock()
    waiting, stop = Waiting(lock), Stop()
    stop.set()
    token = STOP.set(stop)
    try:
        with waiting.turn(), pytest.raises(Aborted):
            waiting.run(lambda: threading.Event().wait(HANGS_S), HANGS_S)
    finally:
        STOP.reset(token)


@pytest.mark.parametrize("error", [TimeoutError("mine"), KeyError("k"), KeyboardInterrupt()])
def test_what_a_call_raises_comes_out_of_the_wait_as_it_is(error):
    waiting = Waiting(threading.RLock())
    with waiting.turn(), pytest.raises(type(error)) as found:
        waiting.run(lambda: Scripted(error)(None), HANGS_S)
    assert found.value is error
