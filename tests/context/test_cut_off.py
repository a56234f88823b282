"""An answer that was cut off at the length that one answer may have."""

import asyncio

import pytest

from rehydrate.context import AsyncEngine, OutputCapped, violations
from rehydrate.context.cutoff import CONTINUED_MOST, higher_cap, whole_part
from rehydrate.context.restore import restore

from .agents import usage
from .engines import FORMATS, Agent, again, sent
from .talk import assistant, call, text, thought, user

WINDOW = 100_000


def asking(log, format="anthropic", **more):
    """An agent that waits for an answer."""
    agent = Agent(log, format, **{"window": WINDOW, **more})
    agent.turn()
    agent.ask()
    return agent


def cut(agent, projection, *, calls=0, limit=1_000, **more):
    """The next answer is cut off."""
    reply, _ = agent.script.answer(calls=calls)
    counted = usage(agent.format, projection.snapshot.tokens, limit)
    return agent.engine.cut_off(counted, reply, limit=limit, **more)


def prompts(projection):
    return sent(projection).count("Your answer was cut off")


@pytest.mark.parametrize("format", FORMATS)
def test_first_the_same_request_is_sent_with_a_higher_cap(log, format):
    agent = asking(log, format)
    first = agent.prepare()
    assert first.max_output is None
    projection = cut(agent, first)
    assert (sent(projection), projection.max_output) == (sent(first), 2_000)
    assert projection.snapshot.tokens == first.snapshot.tokens
    other = again(log, window=WINDOW).prepare(agent.request)
    assert (sent(other), other.max_output) == (sent(first), 2_000)


@pytest.mark.parametrize("format", FORMATS)
def test_then_what_was_said_is_kept_and_the_model_told_to_go_on(log, format):
    agent = asking(log, format)
    projection = cut(agent, agent.prepare())
    before = len(projection.messages)
    for number in range(1, CONTINUED_MOST + 1):
        projection = cut(agent, projection, calls=1, limit=2_000)
        assert (prompts(projection), projection.max_output) == (number, 2_000)
        assert len(projection.messages) > before
        assert not violations(projection.messages, format=format)
        assert sent(again(log, window=WINDOW).prepare(agent.request)) == sent(projection)
    with pytest.raises(OutputCapped, match="5 times"):
        cut(agent, projection, limit=2_000)
    said = sent(agent.prepare())
    assert said.count("Answer to 2") == CONTINUED_MOST + 1
    assert agent.prepare().max_output is None


def test_a_cap_that_cannot_be_raised_is_not_asked_for(log):
    agent = asking(log)
    projection = cut(agent, agent.prepare(), limit=1_000, highest=1_000)
    assert (prompts(projection), projection.max_output) == (1, None)


def test_the_cap_is_raised_to_what_the_model_can_give(log):
    agent = asking(log)
    assert cut(agent, agent.prepare(), limit=1_000, highest=64_000).max_output == 64_000


@pytest.mark.parametrize(
    ("limit", "highest", "room", "cap"),
    [
        (1_000, None, None, 2_000),
        (1_000, 8_000, None, 8_000),
        (1_000, 1_500, None, 1_500),
        (1_000, 1_000, None, None),
        (1_000, 500, None, None),
        (1_000, 8_000, 3_000, 3_000),
        (1_000, None, 1_200, 1_200),
        (1_000, None, 900, None),
        (1_000, 8_000, -5, None),
    ],
)
def test_a_higher_cap_is_within_what_the_model_and_the_window_have(limit, highest, room, cap):
    assert higher_cap(limit, highest=highest, room=room) == cap


def test_an_answer_that_is_whole_ends_it(log):
    agent = asking(log)
    agent.answer(cut(agent, agent.prepare()))
    agent.ask()
    projection = agent.prepare()
    assert projection.max_output is None
    assert cut(agent, projection).max_output == 2_000


def test_another_request_of_the_user_ends_it(log):
    agent = asking(log)
    cut(agent, cut(agent, agent.prepare()))
    agent.ask()
    projection = agent.prepare()
    assert projection.max_output is None
    assert cut(agent, projection).max_output == 2_000


def test_a_compaction_on_the_way_does_not_begin_it_anew(log):
    agent = asking(log)
    for _ in range(4):
        agent.turn(steps=6)
    agent.ask()
    agent.prepare()
    compactions = 0
    for _ in range(CONTINUED_MOST + 1):
        agent.engine.cut_off(None, assistant("word " * 20_000), limit=1_000)  # too long to stay whole
        compactions += agent.engine.compact() is not None
    assert compactions
    with pytest.raises(OutputCapped):
        cut(agent, agent.prepare())


def test_of_an_answer_of_calls_alone_nothing_is_kept_and_it_ends_all_the_same(log):
    agent = asking(log)
    projection = agent.prepare()
    reply = {"role": "assistant", "content": [thought(), call("c1", path="a")]}
    seen = [agent.engine.cut_off(None, reply, limit=1_000) for _ in range(CONTINUED_MOST + 1)]
    assert [prompts(each) for each in seen] == [0, 1, 1, 1]
    with pytest.raises(OutputCapped):
        agent.engine.cut_off(None, reply, limit=1_000)
    assert len(seen[-1].messages) <= len(projection.messages) + 1


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ([assistant("So")], [assistant("So")]),
        ([assistant(text("So"), call("c1"))], [assistant(text("So"))]),
        ([assistant(thought(), text("So"), thought(), call("c1"))], [assistant(thought(), text("So"))]),
        ([assistant(thought(), call("c1"))], []),
        ([assistant(text(" "), {"type": "server_tool_use", "id": "s"})], []),
        ([assistant("")], []),
        ([assistant(text("So")), assistant(call("c1"))], [assistant(text("So"))]),
    ],
)
def test_of_a_cut_answer_what_was_said_is_kept(answer, kept):
    assert whole_part(answer) == kept


@pytest.mark.parametrize(
    "cut", [None, 1, {}, {"raised": "2", "continued": 0}, {"raised": None, "continued": -1}, {"continued": True}]
)
def test_a_record_of_no_such_form_tells_of_no_cut(log, cut):
    agent = asking(log)
    log.append({"type": "context-usage", "after": log.tip, "format": "anthropic", "cut": cut})
    assert agent.prepare().max_output is None


def test_what_is_no_answer_is_refused_and_changes_nothing(log):
    agent = asking(log)
    agent.prepare()
    before = restore(log.path).end
    with pytest.raises(ValueError, match="no answer"):
        agent.engine.cut_off(None, user("Hm."), limit=1_000)
    with pytest.raises(TypeError):
        agent.engine.cut_off(5, assistant("Hm."), limit=1_000)
    log.flush()
    assert restore(log.path).end == before


def test_before_anything_was_prepared_there_is_no_answer(log):
    agent = Agent(log, window=WINDOW)
    with pytest.raises(ValueError, match="nothing was prepared"):
        agent.engine.cut_off(None, assistant("Hm."), limit=1_000)


def test_a_cap_of_nothing_is_none(log):
    agent = asking(log)
    agent.prepare()
    with pytest.raises(ValueError, match="cap"):
        agent.engine.cut_off(None, assistant("Hm."), limit=0)


def test_it_is_the_same_from_asyncio(log):
    agent = asking(log)
    agent.prepare()
    cut_off = AsyncEngine(agent.engine).cut_off
    assert asyncio.run(cut_off(None, assistant("Hm."), limit=1_000, highest=3_000)).max_output == 3_000
