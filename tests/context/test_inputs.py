"""A call whose input is no object: APIs that take objects refuse each request that has one."""

import json

import pytest

from rehydrate.context import trim, violations
from rehydrate.session import Session, Sessions

from .engines import FORMATS, Agent, again, engine_of, request_of, sent
from .talk import user

ODD = [("ab", {"arguments": "ab"}), ('{"a": 1}', {"a": 1}), ("", {}), (None, {}), ([], {"arguments": []})]
ODD += [([1], {"arguments": [1]}), (7, {"arguments": 7}), (0, {"arguments": 0}), (False, {"arguments": False})]


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


def asked(odd, format="anthropic"):
    """A conversation in which one call has such an input."""
    if format == "gemini":
        call = {"functionCall": {"id": "c1", "name": "ls", "args": odd}}
        answer = {"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "ok"}}}
        said = [("user", {"text": "Look."}), ("model", call), ("user", answer)]
        return [{"role": role, "parts": [part]} for role, part in said]
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": odd}
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
    return [user("Look."), {"role": "assistant", "content": [call]}, user(answer)]


def inputs(messages):
    """The inputs of the calls in what is sent, whatever the format."""
    found = []
    for message in messages:
        for part in (message, *(message.get("parts") or ()), *_list(message.get("content"))):
            if "input" in part:
                found.append(part["input"])
            if "functionCall" in part:
                found.append(part["functionCall"]["args"])
            for call in (part, *(each["function"] for each in part.get("tool_calls") or ())):
                if "arguments" in call:
                    found.append(json.loads(call["arguments"]))
    return found


def _list(content):
    return content if isinstance(content, list) else []


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("odd", "made"), ODD)
@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_log_that_has_one_is_repaired_told_and_left_as_it_is(log, format, odd, made, is_loaded):
    engine = engine_of(log)
    if is_loaded:
        log.append([{"type": each["role"], "message": each} for each in asked(odd)])
    else:
        engine.append(*asked(odd), format="anthropic")
    projection = engine.prepare(request_of(format))
    assert inputs(projection.messages) == [made]
    assert [each.code for each in projection.repaired] == ["bad_input"]
    engine.append({"role": "user", "content": "Go on."}, format="anthropic")
    assert inputs(engine.prepare(request_of(format)).messages) == [made]
    log.flush()
    with Session.open(log.path) as session:
        assert odd in [
            block.get("input", ...)
            for record in session.view("raw")
            for block in _list(record.get("message", {}).get("content"))
        ]


@pytest.mark.parametrize(("odd", "made"), ODD)
@pytest.mark.parametrize("format", ["anthropic", "gemini"])
def test_a_list_that_has_one_is_told_and_trimmed_to_one_that_has_none(odd, made, format):
    messages = asked(odd, format)
    if format == "gemini" and odd is None:
        assert violations(messages, format=format) == []  # to its API that is none at all
    else:
        assert [each.code for each in violations(messages, format=format)] == ["bad_input"]
        assert inputs(trim(messages, budget=10_000, format=format)) == [made]
    assert violations(trim(messages, budget=10_000, format=format), format=format) == []


def test_a_call_without_any_input_is_one_too():
    messages = asked({})
    del messages[1]["content"][0]["input"]
    assert [each.code for each in violations(messages, format="anthropic")] == ["bad_input"]
    assert inputs(trim(messages, budget=10_000, format="anthropic")) == [{}]


def test_what_was_mended_is_still_known_by_its_entry(log):
    agent = Agent(log)
    agent.engine.append(user("Look."))
    uuid = agent.engine.append(asked("ab")[1], format="anthropic")
    agent.engine.append(asked("ab")[2], format="anthropic")
    agent.engine.pin(uuid)
    for _ in range(30):
        agent.turn()
    assert agent.engine.explain()["checkpoint"] is not None
    assert agent.engine.explain()["pinned"] == 2  # the call, and its result
    assert {"arguments": "ab"} in inputs(agent.prepare().messages)
    before = sent(agent.prepare())
    other = again(log)
    assert sent(other.prepare(agent.request)) == before
    other.log.close()
