"""The one pass for a list that is in order gives what the long way gives, or nothing."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.context.order import in_order
from rehydrate.context.repair import _Repairing
from rehydrate.context.wire import FORMATS
from tests.context.harness.made import conversation
from tests.context.harness.written import written
from tests.context.talk import assistant, call, result, step, text, thought, user
from tests.context.test_validate_properties import MESSAGES

ASKED = user("Look around.")
ODD = (
    call("a"),
    result("a"),
    call(None),
    {**call("a"), "input": "odd"},
    result(7),
    result("a", [text("x"), {"type": "text"}]),
    result("a", [text("x"), "odd"]),
    result("a", (text("x"),)),
    thought(),
    text("Hm."),
    text(" "),
    {"type": "text", "text": None},
    {"type": None},
    {"type": "image"},
    {"type": "tool_reference"},
    {},
    "odd",
)
CONTENTS = ("", " ", [], None, (text("x"),), 7)


@st.composite
def whole(draw):
    """Messages in order, whose results have one message each or one for all."""
    messages = [{"role": "system", "content": "Be kind."}][: draw(st.integers(0, 1))]
    messages.append(ASKED)
    for kind in draw(st.lists(st.sampled_from(["step", "step", "answer", "asked"]), max_size=3)):
        if kind != "step":
            messages.append(ASKED if kind == "asked" else assistant(text("Hm.")))
            continue
        ids = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
        messages.append(assistant(*[thought()][: draw(st.integers(0, 1))], *map(call, ids)))
        results = [result(each, draw(st.sampled_from(["ok", [text("ok")]]))) for each in draw(st.permutations(ids))]
        messages += [user(*results)] if draw(st.booleans()) else map(user, results)
    return messages


@st.composite
def lists(draw):
    """Messages in order, with a change of any kind, or two."""
    messages = draw(whole())
    for _ in range(draw(st.sampled_from([0, 1, 1, 2]))):
        at, other = (draw(st.integers(0, len(messages) - 1)) for _ in range(2))
        message = messages[at]
        content = message["content"] if type(message["content"]) is list else [text("Hm.")]
        place = draw(st.integers(0, len(content)))
        match draw(st.sampled_from(["drop", "again", "swap", "block", "copy", "less", "content", "role", "ids"])):
            case "drop":
                messages = [*messages[:at], *messages[at + 1 :]] or [ASKED]
            case "again":
                messages.insert(other, message)
            case "swap":
                messages[at], messages[other] = messages[other], message
            case "block":
                odd = draw(st.sampled_from(ODD))
                messages[at] = {**message, "content": [*content[:place], odd, *content[place:]]}
            case "copy":
                messages[at] = {**message, "content": [*content[:place], *content]}
            case "less":
                messages[at] = {**message, "content": content[:place]}
            case "content":
                messages[at] = {**message, "content": draw(st.sampled_from(CONTENTS))}
            case "role":
                messages[at] = {**message, "role": draw(st.sampled_from(["user", "assistant", "system", "x", None]))}
            case _:
                named = draw(st.sampled_from([{"id": "m"}, {"wire": {"id": "m", "members": {"x": 1}}}]))
                messages = [{**each, **named} if each["role"] == "assistant" else each for each in messages]
    return messages


@settings(max_examples=400)
@given(messages=lists() | MESSAGES, pending=st.sets(st.sampled_from("abc")))
def test_what_one_pass_gives_is_what_the_long_way_gives_and_nothing_was_broken(messages, pending):
    before = copy.deepcopy(messages)
    found = in_order(messages, pending=pending)
    assert messages == before
    if found is None:
        return
    slow = _Repairing(pending).repair(messages)
    assert (found, (), {}) == (slow.messages, slow.repaired, slow.mended)
    given_ones = {id(message) for message in messages}
    assert [id(one) for one in found if id(one) in given_ones] == [
        id(one) for one in slow.messages if id(one) in given_ones
    ]


@given(messages=whole())
def test_one_pass_is_enough_for_a_list_that_is_valid(messages):
    assert in_order(messages, pending=()) is not None


@pytest.mark.parametrize("form", FORMATS)
def test_one_pass_is_enough_for_a_conversation_of_the_wire(form):
    assert in_order(FORMATS[form].read(written(conversation(1), form)), pending=()) is not None


def test_results_that_have_a_message_each_come_in_the_order_of_the_calls():
    given_ = [ASKED, assistant(call("a"), call("b")), user(result("b")), user(result("a")), assistant("Done.")]
    assert in_order(given_, pending=()) == [ASKED, *step("a", "b"), assistant("Done.")]


def test_a_call_that_still_runs_is_left_open():
    given_ = [ASKED, assistant(call("a"), call("b")), user(result("b"))]
    assert in_order(given_, pending={"a"}) == given_
    assert in_order(given_, pending=()) is None


@pytest.mark.parametrize(
    "results",
    [
        [user(result("a"), result("a"))],
        [user(result("a")), user(result("a"))],
        [user(result("a"), text("And?"))],
        [user(result("a", ["odd"]))],
        [user(result("a", [{"type": "text"}]))],
        [user(result("b"))],
        [user("And?"), user(result("a"))],
    ],
)
def test_what_may_have_to_be_repaired_is_left_to_the_long_way(results):
    assert in_order([ASKED, assistant(call("a")), *results], pending={"a"}) is None


def test_a_call_whose_input_is_no_object_is_left_to_the_long_way():
    odd = assistant({**call("a"), "input": "odd"})
    assert in_order([ASKED, odd, user(result("a"))], pending=()) is None
