"""Messages that nobody should send, and somebody does: a typed error or a list that is valid, never a crash."""

import json
import random

import pytest

from rehydrate.context import FORMATS, ContextExhausted, Meter, trim
from rehydrate.context.errors import InvalidProjection
from rehydrate.context.repair import repair
from rehydrate.context.validate import violations

WORDS = "word " * 40


def chat():
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    return [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": WORDS}]},
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": WORDS},
        {"role": "tool", "tool_call_id": "c1", "content": WORDS},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Go on."},
    ]


def anthropic():
    return [
        {"role": "user", "content": [{"type": "text", "text": WORDS}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": WORDS, "signature": "s"},
                {"type": "text", "text": "Well."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": WORDS}]}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": "Go on."},
    ]


def responses():
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": WORDS}]},
        {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Well."}]},
        {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": WORDS},
        {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        {"type": "message", "role": "user", "content": "Go on."},
    ]


def gemini():
    return [
        {"role": "user", "parts": [{"text": WORDS}]},
        {"role": "model", "parts": [{"text": "Well."}, {"functionCall": {"name": "look", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"r": WORDS}}}]},
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "Go on."}]},
    ]


LISTS = {"openai-chat": chat, "anthropic": anthropic, "openai-responses": responses, "gemini": gemini}


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


def junk():
    """What may stand anywhere, made anew each time."""
    return [
        *(None, 0, -1, True, 1.5, float("nan"), float("inf"), 10**5000, b"bytes", object(), (), set()),
        *("", "\ud800", "\0\0", "\u202e", "NaN", "[" * 100_000, "1" * 5000, '{"a":1e999}'),
        *([], {}, [None], [1], ["x"], [[]], {"type": None}, [{"type": []}], {1: 2}, {"a": {"b": [None]}}),
        *([{"type": "text", "text": 5}], [{"type": "image", "source": 5}], [{"type": "tool_use", "id": {}}]),
        *([{"type": "tool_result", "tool_use_id": ["x"]}], [{"type": "tool_result"}], deep(3000)),
    ]


def places(value):
    """Each list and object in it."""
    if isinstance(value, (dict, list)):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from places(each)


@pytest.mark.parametrize("budget", [-1, 0, 60, 100_000])
@pytest.mark.parametrize("format", LISTS)
def test_junk_in_any_place_gives_a_list_in_order_or_an_error_that_is_told_of(format, budget):
    meter = Meter()
    spots = [
        (at, name)
        for at, each in enumerate(places(LISTS[format]()))
        for name in (each if isinstance(each, dict) else range(len(each)))
    ]
    pick = random.Random(format + str(budget))
    for at, name in spots:
        for which in pick.sample(range(len(junk())), 12):
            messages = LISTS[format]()
            list(places(messages))[at][name] = junk()[which]
            try:
                found = trim(messages, budget=budget, format=format, meter=meter)
            except (ContextExhausted, ValueError) as error:
                assert len(str(error)) < 500
            else:
                assert not found or meter.messages(FORMATS[format].read(found)) <= max(budget, 0)


@pytest.mark.parametrize("format", LISTS)
@pytest.mark.parametrize("odd", [deep(100_000), 10**5000, {1: 2}], ids=["deep", "long number", "name that is no text"])
def test_what_json_cannot_hold_is_no_message(format, odd):
    messages = LISTS[format]()
    messages[1]["extra"] = odd
    with pytest.raises(ValueError, match=r"^message 1 "):
        trim(messages, budget=1000, format=format)


@pytest.mark.parametrize("format", LISTS)
def test_a_role_that_is_anything_is_told_in_a_short_sentence(format):
    for role in ("x" * 10_000, ["x"] * 10_000, {"a": "b" * 1000}):
        with pytest.raises(ValueError, match=r"role|type") as caught:
            FORMATS[format].read([{"role": role, "content": "x", "parts": []}])
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "arguments", ['{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', '{"a":' * 600 + "1" + "}" * 600]
)
def test_arguments_that_json_cannot_write_again_stay_as_the_model_wrote_them(arguments):
    messages = chat()
    messages[2]["tool_calls"][0]["function"]["arguments"] = arguments
    found = FORMATS["openai-chat"].read(messages)
    assert FORMATS["openai-chat"].write(found) == messages
    json.dumps(FORMATS["anthropic"].write(found[1:]), allow_nan=False)


@pytest.mark.parametrize("extra", [{}, {"refusal": None, "annotations": [], "tool_calls": None}])
def test_an_answer_with_nothing_in_it_is_left_out(extra):
    messages = [*chat()[:-1], {"role": "assistant", "content": None, **extra}, chat()[-1]]
    assert trim(messages, budget=100_000) == chat()


@pytest.mark.parametrize("blank", [[], "", " \n", [{"type": "text", "text": " "}]])
def test_an_answer_behind_a_user_who_said_nothing_has_one_who_does_before_it(blank):
    messages = [{"role": "user", "content": blank}, {"role": "assistant", "content": "Hello."}]
    found = trim(messages, budget=1000, format="anthropic")
    assert found[-1] == {"role": "assistant", "content": "Hello."}
    assert not violations(found, format="anthropic")


def test_blocks_that_are_none_are_left_out_of_a_loaded_list_and_of_its_results():
    odd = [{"type": []}, {"text": "x"}, {"type": "text", "text": 5}, {"type": "text"}]
    good = {"type": "text", "text": "x"}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [good, *odd]}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    found = repair(
        [
            {"role": "user", "content": [*odd, good]},
            {"role": "assistant", "content": [*odd, call]},
            {"role": "user", "content": [result]},
            {"role": "user", "content": 5},
            {"role": "assistant"},
        ]
    )
    assert found.messages == [
        {"role": "user", "content": [good]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{**result, "content": [good]}]},
    ]
    assert {each.code for each in found.repaired} == {"no_message"}


@pytest.mark.parametrize("role", [None, "user", "function"])
def test_a_call_of_gemini_that_no_model_made_is_left_out(role):
    messages = gemini()
    messages[1]["role"] = role
    found = trim(messages, budget=100_000, format="gemini")
    assert "functionCall" not in json.dumps(found)
    assert "functionResponse" not in json.dumps(found)


def test_a_call_of_gemini_without_an_id_is_answered_without_one():
    messages = gemini()
    messages[1]["parts"].append({"functionCall": {"name": "look", "args": {"a": 2}}})
    found = trim(messages, budget=100_000, format="gemini")
    responses = [part["functionResponse"] for part in found[2]["parts"]]
    assert [response["name"] for response in responses] == ["look", "look"]
    assert not any("id" in response for response in responses)


def test_an_item_that_stands_twice_may_be_without_its_reasoning_once():
    messages = [*responses(), responses()[2], responses()[3]]
    assert trim(messages, budget=100_000, format="openai-responses")


def test_a_call_whose_id_is_an_empty_text_has_a_result_as_any_other():
    messages = responses()
    messages[2]["call_id"] = messages[3]["call_id"] = ""
    assert trim(messages, budget=100_000, format="openai-responses") == messages


def test_what_no_repair_is_known_for_is_said_and_not_given():
    messages = [*chat()[:-1], {"role": "assistant", "content": None, "extra": 1}, chat()[-1]]
    with pytest.raises(InvalidProjection):
        trim(messages, budget=100_000)
