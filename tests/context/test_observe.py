"""What an engine takes in after a call, and what it takes for a log, a request and a usage."""

import pytest

from rehydrate.context import Engine, Request, default_counter
from rehydrate.session import SessionLog, Sessions

from .agents import usage
from .engines import FORMATS, Agent, again, request_of, sent, types_in


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


REFUSED = [
    ({"total_token_usage": {"input_tokens": 9}}, None, ValueError),
    ({"input_tokens": 9, "output_tokens": 1, "num_turns": 3}, None, ValueError),
    ({"input_tokens": 9, "output_tokens": 1}, "nobody", ValueError),
    ("9 tokens", None, TypeError),
    (9, None, TypeError),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("given", "provider", "error"), REFUSED)
def test_a_usage_that_is_refused_leaves_the_answer_to_the_next_call(log, format, given, provider, error):
    agent = Agent(log, format)
    agent.ask()
    projection = agent.prepare()
    before = types_in(log)
    reply, made = agent.script.answer(calls=2)
    with pytest.raises(error):
        agent.engine.observe(given, reply, provider=provider)
    assert types_in(log) == before
    agent.engine.observe(usage(format, projection.snapshot.tokens, 60), reply)
    agent.engine.append(*agent.script.results(made))
    after = agent.prepare()
    assert after.repaired == ()
    assert sent(after).count("Answer to 1: ") == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_reply_that_is_none_leaves_the_count_to_the_next_call(log, format):
    agent = Agent(log, format)
    agent.ask()
    agent.prepare()
    before = types_in(log)
    with pytest.raises(ValueError):
        agent.engine.observe(usage(format, 900, 60), {"role": "user", "content": "I am no answer."})
    assert types_in(log) == before


@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_and_its_count_are_one_write(log, format, monkeypatch):
    agent = Agent(log, format)
    agent.ask()
    agent.prepare()
    written = []
    for name in ("append", "append_durable"):
        through = getattr(SessionLog, name)
        monkeypatch.setattr(
            SessionLog, name, lambda self, entries, through=through: written.append(entries) or through(self, entries)
        )
    agent.answer(agent.prepare(), calls=2)
    assert len(written) == 1
    assert written[0][-1]["type"] == "context-usage"
    assert written[0][-1]["after"] == log.tip


@pytest.mark.parametrize("format", FORMATS)
def test_the_count_of_an_answer_holds_for_an_engine_that_is_new(log, format):
    agent = Agent(log, format)
    agent.ask()
    agent.prepare()
    agent.engine.observe(usage(format, 3_000, 500), agent.script.answer(calls=0)[0])
    agent.ask()
    here = agent.prepare()
    there = again(log).prepare(agent.request)
    assert here.snapshot == there.snapshot
    assert here.snapshot.label == "provider_plus_estimate"


@pytest.mark.parametrize("given", ["a/path.jsonl", None, 7, {}, []])
def test_an_engine_of_something_else_than_a_log_says_what_it_takes(given):
    with pytest.raises(TypeError, match=r"made of a log.*Sessions.*not of \w+$"):
        Engine(given, window=8_000)


@pytest.mark.parametrize("given", [{}, "anthropic", 7, [{"role": "user", "content": "Hi"}]])
def test_a_request_that_is_none_says_what_it_takes(log, given):
    agent = Agent(log)
    agent.ask()
    for ask in (agent.engine.prepare, agent.engine.explain):
        with pytest.raises(TypeError, match=r"a request is a `Request\(model=..., format=...\)`, and no \w+$"):
            ask(given)


@pytest.mark.parametrize("format", ["claude", "", None, 7, []])
def test_a_request_of_a_format_that_is_none_says_which_there_are(log, format):
    agent = Agent(log)
    agent.ask()
    for ask in (agent.engine.prepare, agent.engine.explain):
        with pytest.raises(ValueError, match="there are anthropic, "):
            ask(Request(model="m", format=format))
    assert agent.engine.prepare(request_of()).messages


@pytest.mark.parametrize("window", ["200000", -5, 0, True, 1.5, [8_000]])
def test_a_window_that_is_none_is_refused(log, window):
    with pytest.raises(ValueError, match=r"a window is a number of tokens above 0.*; not "):
        Engine(log, window=window)


@pytest.mark.parametrize("more", [{"meter": default_counter()}, {"meter": {}}, {"policy": {}}, {"policy": "80 %"}])
def test_a_meter_or_policy_that_is_none_says_what_it_takes(log, more):
    with pytest.raises(TypeError, match=r"a (meter|policy) is a `(Meter|Policy)\(.*\)`, and no \w+$"):
        Engine(log, window=8_000, **more)


@pytest.mark.parametrize("reason", ["because", "", None, 7, []])
def test_a_reason_that_there_is_none_of_is_refused(log, reason):
    with pytest.raises(ValueError, match="threshold, turn_limit"):
        Agent(log).engine.compact(reason)


NOTHING_SAID = [
    ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}),
    ("gemini", {"candidates": [{"content": None}]}),
    ("openai-chat", {"choices": [{"finish_reason": "content_filter"}]}),
    ("openai-chat", {"choices": [{"message": None}]}),
    ("openai-chat", {"choices": ["text"]}),
    ("openai-responses", {"output": []}),
    *((format, odd) for format in FORMATS for odd in ("text", b"text", 7, [], ())),
]


@pytest.mark.parametrize(("format", "reply"), NOTHING_SAID)
def test_a_response_in_which_nothing_was_said_says_what_to_give(log, format, reply):
    agent = Agent(log, format)
    agent.ask()
    agent.prepare()
    with pytest.raises(ValueError, match="give the usage alone"):
        agent.engine.observe(usage(format, 900, 0), reply)
    assert agent.engine.observe(usage(format, 900, 0)) is None
