"""A log looked at from outside is what its engine would look at, as far as the log tells."""

import pytest

from rehydrate.context import Engine, Meter
from rehydrate.context.look import Look
from rehydrate.context.messages import text
from rehydrate.session import assistant, user

from .test_engine import SYSTEM, Agent, request_of, tools


@pytest.fixture(params=["anthropic", "openai-chat", "openai-responses", "gemini"])
def agent(log, request):
    made = Agent(log, request.param)
    made.first = made.ask()
    for _ in range(25):
        made.turn()
    log.flush()
    return made


def test_the_messages_and_the_tokens_are_those_that_the_engine_has(log, agent):
    look = Look.at(log.path)
    found = agent.engine.explain(request_of(agent.format))
    assert (look.format, look.model, look.window) == (agent.format, "m", 8_000)
    assert look.scene.revision == found["revision"]
    assert look.scene.snapshot.tokens == found["tokens"]
    assert look.scene.snapshot.label.startswith("provider") and found["label"] == "provider"


def test_for_another_model_everything_is_counted_and_what_the_log_does_not_hold_as_it_was_last(log, agent):
    snapshot = Look.at(log.path, model="other").scene.snapshot
    assert snapshot.label == "local_estimate"
    assert snapshot.fixed == Meter().fixed(system=SYSTEM, tools=tools(agent.format)) > 0
    look = Look.at(log.path)
    assert snapshot.messages == look.meter.messages(look.scene.messages)


def test_a_window_that_is_told_counts_and_else_that_of_the_last_compaction(log, agent):
    assert Look.at(log.path, window=100_000).scene.snapshot.window == 100_000
    before = Look.at(log.path, at=agent.first)
    assert (before.window, before.scene.snapshot.phase) == (None, "unknown")


def test_a_log_of_which_nobody_has_recorded_anything_is_for_no_model(tmp_path, log):
    look = Look.at(log.path)
    assert (look.model, look.format, look.window, look.scene.messages) == (None, "anthropic", None, [])


def test_of_a_forked_subagent_what_it_shares_is_among_the_messages(log):
    log.append([user("hi"), assistant("hello")])
    helper = log.sidechain("helper", type="fork", inherits=True)
    helper.append_durable(user("go"))
    assert [text(each["content"]) for each in Look.at(helper.path).scene.messages] == ["hi", "hello", "go"]


@pytest.mark.parametrize("is_agents", [False, True])
def test_a_model_that_failed_is_known_as_its_engine_knows_it(log, is_agents):
    def fail(_):
        raise NotImplementedError

    log.append([user("hi"), assistant("hello")])
    looked_at = log.sidechain("helper", type="helper") if is_agents else log
    engine = Engine(looked_at, window=100_000, summariser=fail)
    looked_at.append([user("word " * 3_000), assistant("yes"), user("go on"), assistant("yes")])
    assert engine.compact() is not None
    look = Look.at(looked_at.path)
    assert look.breaker.failures == engine.explain()["breaker"]["failures"] == 1
