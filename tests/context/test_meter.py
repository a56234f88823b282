"""What messages cost, and where that stands between the lines."""

import dataclasses

import pytest

from rehydrate.context.meter import (
    CALL,
    FLAT,
    MESSAGE,
    SCHEMA,
    Baseline,
    Meter,
    fingerprint,
    measure,
    reserve_of,
)
from rehydrate.context.tokens import Estimate, default_counter
from rehydrate.context.usage import Usage


class Letters:
    """A counter that can be followed by eye: a token a character."""

    name = "letters"
    is_exact = True

    def count(self, text, /):
        return len(text)


METER = Meter(Letters())


def test_a_message_costs_its_blocks_and_four():
    assert METER.message({"role": "user", "content": "hello"}) == MESSAGE + 5
    assert METER.message({"role": "user", "content": [{"type": "text", "text": "hello"}]}) == MESSAGE + 5


def test_a_message_without_content_costs_four():
    assert METER.message({"role": "assistant"}) == METER.message({"role": "assistant", "content": []}) == MESSAGE == 4


def test_a_call_costs_its_name_its_input_and_four():
    call = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "é"}}
    assert METER.block(call) == CALL + len("read") + len('{"path":"é"}')


def test_a_call_costs_its_arguments_as_they_are_sent():
    written = '{ "path" :  "é" }'
    call = {"type": "tool_use", "id": "1", "name": "read", "input": {"path": "é"}, "wire": {"arguments": written}}
    assert METER.block(call) == CALL + len("read") + len(written)


def test_a_result_costs_what_is_in_it():
    assert METER.block({"type": "tool_result", "tool_use_id": "toolu_1", "content": "four"}) == 4
    nested = [{"type": "text", "text": "four"}, {"type": "image", "source": {}}]
    assert METER.block({"type": "tool_result", "tool_use_id": "toolu_1", "content": nested}) == 4 + FLAT["image"]


@pytest.mark.parametrize("kind", FLAT)
def test_of_what_is_no_text_the_bytes_do_not_count(kind):
    source = {"type": "base64", "media_type": "x/y", "data": "A" * 1_000_000}
    assert METER.block({"type": kind, "source": source}) == FLAT[kind]


def test_a_document_of_text_costs_its_text():
    assert METER.block({"type": "document", "source": {"type": "text", "data": "four"}}) == 4
    inner = [{"type": "text", "text": "four"}]
    assert METER.block({"type": "document", "source": {"type": "content", "content": inner}}) == 4


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": ""},
        {"type": "text"},
        {"type": "tool_use", "id": "toolu_1", "name": "", "input": {}},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": ""},
        {"type": "tool_result", "tool_use_id": "toolu_1"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2ln"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "search", "input": {"q": "x"}},
        {"type": "of tomorrow"},
        {},
    ],
)
def test_t22_no_block_is_free(block):
    assert METER.block(block) >= 1


def test_hidden_thinking_costs_about_what_it_hides():
    assert METER.block({"type": "redacted_thinking", "data": "A" * 16_000}) == 3_000
    assert METER.block({"type": "redacted_thinking", "data": [{"a": 1}]}) > 1


def test_t22_thinking_and_calls_cost_their_text():
    assert METER.block({"type": "thinking", "thinking": "so" * 50, "signature": "s" * 400}) == 100
    assert METER.block({"type": "tool_use", "id": "1", "name": "n", "input": {"a": "b" * 100}}) > 100


def test_a_block_that_nobody_knows_costs_its_json():
    block = {"type": "of tomorrow", "words": "wörter"}
    assert METER.block(block) == len('{"type":"of tomorrow","words":"wörter"}')


def test_the_fixed_part_is_the_system_and_the_tools():
    assert METER.fixed(system=None, tools=None) == METER.fixed(system="", tools=[]) == 0
    assert METER.fixed(system="four", tools=None) == 4
    assert METER.fixed(system=[{"type": "text", "text": "four"}], tools=None) == 4
    assert METER.fixed(system=None, tools=[{"name": "a"}] * 2) == 2 * (SCHEMA + len('{"name":"a"}'))


def test_a_list_costs_the_sum_of_its_messages():
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "three"}]
    assert METER.messages(messages) == sum(map(METER.message, messages)) == 2 * MESSAGE + 8


def test_the_counter_is_the_best_that_is_there():
    assert Meter().counter is default_counter()


def test_the_same_list_costs_the_same_again():
    messages = [{"role": "user", "content": "words and 字 " * 50}]
    meter = Meter(Estimate())
    assert meter.messages(messages) == meter.messages(messages) == Meter(Estimate()).messages(messages)


def user(text):
    return {"role": "user", "content": text}


def answer(text):
    return {"role": "assistant", "content": text}


TALK = [user("do it"), answer("done"), user("and that")]
"""Costs 9 + 8 + 12 by `Letters`."""
REQUEST = {"meter": METER, "model": "m-1", "system": "four", "tools": None, "window": 100_000}


COUNTED = Usage(1_000, 200, None)


def baseline(messages=TALK[:1], *, usage=COUNTED, model="m-1", revision="", **request):
    """What is known after a call that sent these messages."""
    snapshot = measure(messages, **{**REQUEST, "model": model, "revision": revision, **request})
    return Baseline.after(
        usage, snapshot=snapshot, fixed=snapshot.fixed, messages=messages, model=model, revision=revision
    )


def test_without_a_baseline_everything_is_counted_here():
    snapshot = measure(TALK, **REQUEST)
    assert (snapshot.tokens, snapshot.fixed, snapshot.messages) == (4 + 29, 4, 29)
    assert snapshot.label == "local_estimate"


def test_right_after_the_reply_the_provider_is_taken_at_its_word():
    snapshot = measure(TALK[:2], **REQUEST, baseline=baseline())
    assert (snapshot.tokens, snapshot.label) == (1_200, "provider")


def test_what_came_after_the_reply_is_added_and_the_reply_is_not():
    snapshot = measure(TALK, **REQUEST, baseline=baseline())
    assert (snapshot.tokens, snapshot.label) == (1_200 + 12, "provider_plus_estimate")


def test_pending_control_messages_are_added():
    snapshot = measure(TALK[:2], **REQUEST, baseline=baseline(), control=[user("hush")])
    assert (snapshot.tokens, snapshot.label) == (1_200 + 8, "provider_plus_estimate")
    assert measure(TALK[:2], **REQUEST, control=[user("hush")]).tokens == 4 + 9 + 8 + 8


def test_growth_of_the_fixed_part_is_added():
    more = {**REQUEST, "tools": [{"name": "a"}]}
    snapshot = measure(TALK[:2], **more, baseline=baseline())
    assert (snapshot.tokens, snapshot.label) == (1_200 + SCHEMA + len('{"name":"a"}'), "provider_plus_estimate")


def test_a_fixed_part_that_shrinks_is_not_taken_off():
    snapshot = measure(TALK[:2], **{**REQUEST, "system": "x"}, baseline=baseline())
    assert (snapshot.tokens, snapshot.label) == (1_200, "provider_plus_estimate")


@pytest.mark.parametrize(
    ("known", "messages", "changed"),
    [
        (baseline(), TALK, {"model": "m-2"}),
        (baseline(), TALK, {"revision": "checkpoint-2"}),
        (baseline(), TALK[:1], {}),
        (baseline(), [TALK[0], user("again"), *TALK[1:]], {}),
        (baseline(TALK), TALK[:2], {}),
        (baseline(usage=Usage(1_000, None, None)), TALK, {}),
    ],
    ids=["another model", "a rewritten history", "no reply", "the reply is not first", "fewer messages", "no usage"],
)
def test_a_baseline_that_does_not_hold_is_not_used(known, messages, changed):
    request = {**REQUEST, **changed}
    snapshot = measure(messages, **request, baseline=known)
    assert snapshot == measure(messages, **request)
    assert snapshot.label == "local_estimate"


def test_a_usage_that_does_not_say_enough_leaves_no_baseline():
    assert baseline(usage=Usage(None, 200, None)) is None
    assert baseline(usage=Usage(None, None, 5)).floor == 5


def test_the_fingerprint_is_of_the_model_the_system_and_the_tools():
    given = {"model": "m", "system": "s", "tools": [{"name": "a", "about": "b"}, {"name": "c"}]}
    others = [{"model": "n"}, {"system": "t"}, {"tools": given["tools"][:1]}, {"tools": given["tools"][::-1]}]
    marks = {fingerprint(**{**given, **other}) for other in [{}, *others]}
    assert len(marks) == 5
    assert all(len(mark) == 64 for mark in marks)
    turned = [{"about": "b", "name": "a"}, {"name": "c"}]
    assert fingerprint(**{**given, "tools": turned}) == fingerprint(**given)
    assert fingerprint(model="m", system=None, tools=None) == fingerprint(model="m", system="", tools=[])


@pytest.mark.parametrize(
    ("window", "explicit", "reserve"),
    [
        (200_000, None, 20_000),
        (1_000_000, None, 32_768),
        (50_000, None, 8_192),
        (16_000, None, 8_000),
        (200_000, 64_000, 64_000),
        (200_000, 0, 0),
        (200_000, 150_000, 100_000),
        (200_000, 200_000, 200_000),
        (0, None, 0),
    ],
)
def test_the_reserve_is_a_tenth_within_bounds_or_what_was_said_but_half_the_window_at_most(window, explicit, reserve):
    assert reserve_of(window, explicit) == reserve


@pytest.mark.parametrize(("window", "reserve"), [(None, None), (0, None), (100_000, 100_000), (100_000, 100_001)])
def test_without_room_to_speak_of_the_phase_is_unknown(window, reserve):
    snapshot = measure(TALK, **{**REQUEST, "window": window, "reserve": reserve})
    assert snapshot.phase == "unknown"
    assert (snapshot.available, snapshot.handoff_line, snapshot.compaction_line) == (None, None, None)
    assert snapshot.tokens == 33


def at(tokens, **changed):
    """The snapshot of a request of that many tokens."""
    request = {**REQUEST, "system": None, "window": 100_000, "reserve": 10_001, **changed}
    return measure([user("x" * (tokens - MESSAGE))], **request)


@pytest.mark.parametrize(
    ("tokens", "phase"),
    [
        (62_999, "below_handoff"),
        (63_000, "handoff_band"),
        (71_999, "handoff_band"),
        (72_000, "compaction_due"),
        (500_000, "compaction_due"),
    ],
)
def test_the_lines_are_whole_percents_of_the_window_less_the_reserve(tokens, phase):
    snapshot = at(tokens)
    assert (snapshot.available, snapshot.handoff_line, snapshot.compaction_line) == (89_999, 63_000, 72_000)
    assert (snapshot.tokens, snapshot.phase) == (tokens, phase)


def test_without_a_line_no_compaction_is_due():
    snapshot = at(95_000, compaction_percent=None)
    assert (snapshot.compaction_line, snapshot.phase) == (None, "handoff_band")


def test_t20_every_decision_is_from_one_object_that_never_changes():
    snapshot = at(70_000)
    assert snapshot == at(70_000)
    with pytest.raises(dataclasses.FrozenInstanceError):
        snapshot.tokens = 1


@pytest.mark.parametrize("window", [1, 7, 100, 8_192, 16_385, 200_000, 1_000_000])
@pytest.mark.parametrize("reserve", [None, 0, 1, 4_096, 64_000])
def test_t21_every_line_is_below_what_the_provider_refuses(window, reserve):
    snapshot = measure(TALK, **{**REQUEST, "window": window, "reserve": reserve})
    if snapshot.available is not None:
        assert 0 < snapshot.handoff_line <= snapshot.compaction_line <= snapshot.available
        assert snapshot.available + snapshot.reserve == window


def test_t61_after_a_change_to_a_smaller_window_the_lines_are_its_own():
    large, small = at(50_000, window=200_000, reserve=None), at(50_000, window=32_000, reserve=None)
    assert (large.phase, small.phase) == ("below_handoff", "compaction_due")
    assert small.compaction_line == (32_000 - 8_192) * 80 // 100 + 1
    assert small == at(50_000, window=32_000, reserve=None)
