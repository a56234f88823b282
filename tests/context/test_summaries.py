"""A model in the engine: what it writes gets into a summary, or leaves no trace, whatever it does and when."""

import asyncio
import json
import signal
import subprocess
import sys

import pytest

from rehydrate.context import Aborted, Meter, Policy
from rehydrate.context.checkpoint import Checkpoint
from rehydrate.context.ledger import HEADINGS
from rehydrate.context.records import ATTEMPT, BREAKER
from rehydrate.context.summary import read_summary
from rehydrate.context.validate import violations
from rehydrate.session import Session, SessionLog

from .engines import POLICY, engine_of, sent, types_in
from .summarisers import FAULTS, GOOD, REQUEST, WINDOW, Scripted, compacted, copied, grow, summary_in


class Denied(Exception):
    status_code = 401

    def __str__(self):
        return "invalid x-api-key"


def records_in(log, kind):
    log.flush()
    with Session.open(log.path) as session:
        return [record for record in session.view("raw") if record["type"] == kind]


def is_as_good(projection, plain):
    """Whether a projection with prose holds all that the one without does, and is within the same bounds."""
    said, known = read_summary(summary_in(projection)), read_summary(summary_in(plain))
    assert {item.id for item in known.items} <= {item.id for item in said.items}
    assert {each.text for each in known.statements} <= {each.text for each in said.statements}
    assert said.first == known.first
    figures = projection.checkpoint.figures
    assert figures["after"] <= max(figures["target"], plain.checkpoint.figures["after"])
    own = [message for message in plain.messages if "[rehydrate]" not in json.dumps(message)]
    assert [message for message in projection.messages if message in own] == own
    assert not violations(list(projection.messages), format="anthropic")


def test_what_a_model_writes_is_in_the_summary_beside_all_the_rest(due, tmp_path):
    plain, _ = compacted(due, tmp_path / "plain")
    model = Scripted(GOOD)
    projection, log = compacted(due, tmp_path / "model", model)
    assert (projection.checkpoint.strategy, projection.checkpoint.outcome) == ("llm", "completed")
    assert (plain.checkpoint.strategy, plain.checkpoint.outcome) == ("fallback", "completed")
    assert projection.failure is None
    is_as_good(projection, plain)
    said = read_summary(summary_in(projection))
    assert "all went well" in said.prose
    assert "answer each request in turn" in [item.payload for item in said.items]
    (asked,) = model.requests
    assert (asked.max_tokens, asked.temperature, asked.timeout_s) == (WINDOW // 2, 0.0, 60.0)
    assert Meter().counter.count(asked.prompt) + asked.max_tokens <= WINDOW
    assert "Answer to " in asked.prompt
    assert sent(engine_of(SessionLog(log.place, cwd="/"), window=WINDOW).prepare(REQUEST)) == sent(projection)


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_summariser_at_any_attempt_never_makes_it_worse(due, tmp_path, fault, at, soon):
    answer, code = FAULTS[fault]
    plain, _ = compacted(due, tmp_path / "plain")
    model = Scripted(*([""] * (at - 1)), answer, GOOD)
    projection, log = compacted(due, tmp_path / "model", model)
    if at < 3:
        assert projection.checkpoint.strategy == "llm" and projection.failure is None
        is_as_good(projection, plain)
    else:
        assert (projection.checkpoint.strategy, projection.checkpoint.outcome) == ("fallback", "fallback")
        assert projection.failure == code
        assert sent(projection) == sent(plain)
        assert [each.get("failure") for each in records_in(log, ATTEMPT)][-1:] == [code]
    assert len(model.requests) == min(3, at + 1)
    assert sent(engine_of(SessionLog(log.place, cwd="/"), window=WINDOW).prepare(REQUEST)) == sent(projection)


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("stop", [Aborted, KeyboardInterrupt, asyncio.CancelledError])
def test_what_the_user_stops_at_any_attempt_leaves_the_bytes_and_counts_as_nothing(due, tmp_path, stop, at):
    plain, _ = compacted(due, tmp_path / "plain")
    log = copied(due, tmp_path / "model")
    engine = engine_of(log, window=WINDOW, summariser=Scripted(*([""] * (at - 1)), stop("stopped"), GOOD))
    before = engine_of(log, window=10 * WINDOW).prepare(REQUEST)
    with pytest.raises(stop):
        engine.prepare(REQUEST)
    assert types_in(log)[-2:] == [(ATTEMPT, "open"), (ATTEMPT, "interrupted")]
    assert not records_in(log, BREAKER)
    assert sent(engine_of(log, window=10 * WINDOW).prepare(REQUEST)) == sent(before)
    other = engine_of(SessionLog(log.place, cwd="/"), window=WINDOW)
    assert sent(other.prepare(REQUEST)) == sent(plain)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_wrong_with_a_compaction_that_was_asked_for_is_told_until_the_next_one(due, tmp_path, fault, soon):
    answer, code = FAULTS[fault]
    made = engine_of(copied(due, tmp_path / "plain"), window=WINDOW).compact()
    log = copied(due, tmp_path / "model")
    engine = engine_of(log, window=WINDOW, summariser=Scripted(answer))
    assert engine.explain()["failure"] is None
    assert engine.compact().messages == made.messages
    for each in (engine, engine_of(SessionLog(log.place, cwd="/"), window=WINDOW)):
        found = each.explain()
        assert (found["failure"], found["checkpoint"]["strategy"], found["checkpoint"]["outcome"]) == (
            code,
            "fallback",
            "fallback",
        )
        assert found["error"] and len(found["error"]) <= 300
    grow(engine)
    assert engine_of(log, window=WINDOW).compact() is not None
    assert (engine.explain()["failure"], engine.explain()["error"]) == (None, None)


def test_an_error_that_comes_again_each_time_is_met_once(due, tmp_path):
    model = Scripted(Denied())
    projection, _ = compacted(due, tmp_path, model)
    assert (projection.failure, len(model.requests)) == ("deterministic", 1)


def test_a_focus_is_told_to_the_model_and_changes_nothing_without_one(due, tmp_path):
    model = Scripted(GOOD)
    engine = engine_of(copied(due, tmp_path / "model"), window=WINDOW, summariser=model)
    assert engine.compact(focus="the colour of the harbour").strategy == "llm"
    assert "the colour of the harbour" in model.requests[0].prompt
    made = [engine_of(copied(due, tmp_path / f"{n}"), window=WINDOW).compact(focus=n) for n in ("a", None)]
    assert made[0].id == made[1].id


def test_what_a_model_wrote_before_is_told_to_it_and_its_items_give_way_to_newer_ones(due, tmp_path):
    log = copied(due, tmp_path)
    model = Scripted(GOOD, GOOD.replace("all went well", "it went on").replace("the last request", "the next one"))
    engine = engine_of(log, window=WINDOW, summariser=model)
    engine.prepare(REQUEST)
    grow(engine)
    made = engine.compact()
    assert made.strategy == "llm"
    assert "all went well" in model.requests[1].prompt
    said = read_summary(next(each["content"] for each in made.messages if "[rehydrate]" in str(each["content"])))
    assert "it went on" in said.prose and "all went well" not in said.prose
    told = [item.payload for item in said.items if item.heading == "Exact next action"]
    assert told == ["answer the next one"]


def test_a_plan_without_a_model_keeps_the_prose_of_the_one_before(due, tmp_path):
    projection, log = compacted(due, tmp_path, Scripted(GOOD))
    assert "all went well" in summary_in(projection)
    engine = engine_of(log, window=WINDOW)
    grow(engine)
    made = engine.compact()
    assert made.strategy == "fallback" and "all went well" in str(made.messages)


def test_no_model_is_asked_where_nothing_could_be_gained(log):
    model = Scripted(GOOD)
    engine = engine_of(log, window=WINDOW, summariser=model)
    engine.append({"role": "user", "content": "Hello"})
    assert engine.compact() is None
    assert not model.requests


def test_files_of_the_workspace_are_shown_to_a_model_with_more_of_their_lines(due, tmp_path):
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "file_3.py").write_text("".join(f"line {at}\n" for at in range(1, 1_200)))
    policy = Policy(reserve=1_000, tools=POLICY.tools, workspace=str(work))
    model = Scripted(GOOD)
    engine = engine_of(copied(due, tmp_path / "model"), window=100_000, summariser=model, policy=policy)
    assert engine.compact() is not None
    assert "line 1000\n" in model.requests[0].prompt and "line 1001\n" not in model.requests[0].prompt


def test_after_three_failures_in_a_row_no_model_is_asked_by_any_engine_of_the_log(due, tmp_path):
    log = copied(due, tmp_path)
    model = Scripted(Denied())
    codes = []
    for _ in range(5):
        engine = engine_of(SessionLog(log.place, cwd="/"), window=WINDOW, summariser=model)
        codes.append(outcome_of(engine))
    assert codes == ["deterministic"] * 3 + ["circuit_open"] * 2
    assert len(model.requests) == 3
    engine.append({"role": "user", "content": "Try again."})
    outcome_of(engine)
    assert len(model.requests) == 4  # one attempt, and it is open again
    assert outcome_of(engine) == "circuit_open"


def test_a_success_closes_the_breaker_and_an_abort_changes_nothing(due, tmp_path):
    log = copied(due, tmp_path)
    model = Scripted(Denied(), Denied(), Aborted(), GOOD, Denied())
    engine = engine_of(log, window=WINDOW, summariser=model)
    codes = [outcome_of(engine), outcome_of(engine)]
    with pytest.raises(Aborted):
        outcome_of(engine)
    assert [each["failures"] for each in records_in(log, BREAKER)][-1] == 2
    codes += [outcome_of(engine) for _ in range(3)]
    assert codes == ["deterministic", "deterministic", None, "deterministic", "deterministic"]


def test_of_fifty_rounds_with_a_model_each_is_valid_bounded_and_keeps_what_is_exact(due, tmp_path):
    rounds = iter(range(1_000))

    def model(request):
        at = next(rounds)
        items = "".join(f"## {heading}\n" + f"- {heading} {at}: " + "x" * 60 + "\n" for heading in HEADINGS)
        return f"{items}## Notes\nRound {at}. " + "It went on. " * 60

    engine = engine_of(copied(due, tmp_path), window=WINDOW, summariser=model)
    sizes = []
    for at in range(50):
        grow(engine)
        made = engine.compact()
        assert made.strategy == "llm"
        projection = engine.prepare(REQUEST)
        assert not violations(list(projection.messages), format="anthropic")
        shown = sent(projection)
        assert "Request 1: " in shown and "the port is 8443" in shown and f"Round {at}." in shown
        sizes.append(made.figures["after"])
    assert max(sizes[10:]) <= max(sizes[:10]) * 2
    assert len(engine.ledger.open) < 100


KILLED = """
import os, signal, sys
from rehydrate.context import Engine, Policy, Request
from rehydrate.session import Place, SessionLog

def model(request):
    log.flush()
    os.kill(os.getpid(), signal.SIGKILL)

log = SessionLog(Place.of(sys.argv[1]), cwd="/")
Engine(log, window=12_000, policy=Policy(reserve=1_000), summariser=model).prepare(Request("m", "anthropic"))
"""


def test_killed_while_a_model_is_asked_the_log_holds_the_old_state(due, tmp_path):
    plain, _ = compacted(due, tmp_path / "plain")
    log = copied(due, tmp_path / "killed")
    ended = subprocess.run([sys.executable, "-c", KILLED, log.path], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    engine = engine_of(SessionLog(log.place, cwd="/"), window=WINDOW)
    assert types_in(engine.log)[-2:] == [(ATTEMPT, "open"), (ATTEMPT, "interrupted")]
    assert sent(engine.prepare(REQUEST)) == sent(plain)


def outcome_of(engine):
    """The failure of a compaction of what has grown meanwhile."""
    grow(engine)
    assert isinstance(engine.compact(), Checkpoint)
    return records_in(engine.log, ATTEMPT)[-1].get("failure")
