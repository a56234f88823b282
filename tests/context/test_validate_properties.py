"""Whatever a valid list is, breaking it in one way is found, and for what it is; repair makes it valid again."""

import copy

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rehydrate.context.repair import repair
from rehydrate.context.units import arrange, arranged, open_calls, units
from rehydrate.context.validate import violations
from rehydrate.context.wire import FORMATS
from tests.context.talk import assistant, call, result, thought, user
from tests.context.wire.strategies import LISTS

SYSTEM_FIRST = ("openai-chat", "openai-responses")


def every_format(test):
    return pytest.mark.parametrize("name", LISTS)(settings(max_examples=30)(given(data=st.data())(test)))


def drawn(name, data):
    """A valid list in the neutral form."""
    return arrange(FORMATS[name].read(data.draw(LISTS[name])))


def places(neutral, block_type):
    """(message, block) of each block of a type."""
    return [
        (index, at)
        for index, message in enumerate(neutral)
        if not isinstance(message["content"], str)
        for at, block in enumerate(message["content"])
        if block["type"] == block_type
    ]


def without(neutral, index, at):
    """The list without a block, and without its message where nothing else is in it."""
    rest = [block for place, block in enumerate(neutral[index]["content"]) if place != at]
    changed = [{**neutral[index], "content": rest}] if rest else []
    return [*neutral[:index], *changed, *neutral[index + 1 :]]


def found(name, neutral, **more):
    return {each.code for each in violations(FORMATS[name].write(neutral), format=name, **more)}


def picked(data, choices):
    assume(choices)
    return choices[data.draw(st.integers(0, len(choices) - 1))]


@every_format
def test_a_result_that_is_gone_leaves_an_unanswered_call(name, data):
    neutral = drawn(name, data)
    broken = without(neutral, *picked(data, places(neutral, "tool_result")))
    assert "unanswered_call" in found(name, broken)


@every_format
def test_t01_a_result_of_a_batch_whose_call_is_gone_is_an_orphan(name, data):
    neutral = drawn(name, data)
    broken = without(neutral, *picked(data, places(neutral, "tool_use")))
    assert found(name, broken) & {"orphan_result", "first_not_user"}


@every_format
def test_t02_a_list_that_starts_with_a_result_is_found(name, data):
    neutral = drawn(name, data)
    index, _ = picked(data, places(neutral, "tool_result"))
    assert {"first_not_user", "orphan_result"} <= found(name, neutral[index:])


@every_format
def test_t04_a_call_that_was_pruned_from_under_its_result_is_found_and_repaired(name, data):
    neutral = drawn(name, data)
    index, _ = picked(data, places(neutral, "tool_use"))
    broken = [*neutral[:index], *neutral[index + 1 :]]
    assert "orphan_result" in found(name, broken)
    assert found(name, repair(broken).messages) == set()


@every_format
def test_results_that_stand_apart_from_their_calls_are_found(name, data):
    neutral = drawn(name, data)
    index, _ = picked(data, places(neutral, "tool_result"))
    broken = [*neutral[:index], user("Wait."), *neutral[index:]]
    assert found(name, broken) & {"split_batch", "orphan_result"}


@every_format
def test_a_second_result_is_found(name, data):
    neutral = drawn(name, data)
    index, at = picked(data, places(neutral, "tool_result"))
    again = [*neutral[index]["content"], neutral[index]["content"][at]]
    broken = [*neutral[:index], {**neutral[index], "content": again}, *neutral[index + 1 :]]
    assert found(name, broken) & {"duplicate_result", "orphan_result"}


@every_format
def test_a_list_that_the_assistant_begins_is_found(name, data):
    neutral = drawn(name, data)
    index = picked(data, [place for place, message in enumerate(neutral) if message["role"] == "assistant"])
    assert "first_not_user" in found(name, neutral[index:])


@pytest.mark.parametrize("name", sorted(set(FORMATS) - set(SYSTEM_FIRST)))
def test_a_message_of_the_system_is_found_where_the_format_has_none(name):
    assert found(name, [{"role": "system", "content": "Be kind."}, user("Hi.")]) == {"system_role"}


@every_format
def test_thoughts_that_are_not_the_answers_own_are_found(name, data):
    neutral = drawn(name, data)
    index, at = picked(data, places(neutral, "thinking"))
    wire = FORMATS[name].write(neutral)
    broken = copy.deepcopy(neutral)
    block = broken[index]["content"][at]
    if "item" in block.get("wire", {}):
        block["wire"]["item"]["encrypted_content"] = "eHl6"
    block["thinking"] = block["thinking"] + "!"
    changed = FORMATS[name].write(broken)
    assume(changed != wire)
    assert "thinking_changed" in {each.code for each in violations(changed, format=name, source=neutral)}


@every_format
def test_thoughts_may_go_from_a_whole_list(name, data):
    neutral = drawn(name, data)
    kept = []
    for message in neutral:
        content = message["content"]
        if message["role"] == "assistant" and not isinstance(content, str):
            content = [block for block in content if block["type"] not in ("thinking", "redacted_thinking")]
            if not content:
                continue
        kept.append({**message, "content": content})
    assert found(name, kept, source=neutral) == set()


NAMES = st.sampled_from("abc")
BLOCKS = st.one_of(
    NAMES.map(call),
    NAMES.map(result),
    st.just({"type": "text", "text": "Hm."}),
    st.just(thought()),
)
MESSAGES = st.lists(
    st.one_of(
        st.just(user("Do it.")),
        st.just(assistant("Done.")),
        st.just({"role": "system", "content": "Be kind."}),
        st.builds(lambda blocks: user(*blocks), st.lists(BLOCKS, min_size=1, max_size=4)),
        st.builds(
            lambda blocks, name: assistant(*blocks, **({"id": name} if name else {})),
            st.lists(BLOCKS, min_size=1, max_size=4),
            st.sampled_from([None, "m1", "m2"]),
        ),
    ),
    max_size=8,
)
"""Lists that may be broken in any way."""


def parts(messages):
    """Every block, however it is put together, in an order of its own."""
    found = []
    for message in messages:
        content = message["content"]
        texts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [repr((message["role"], block)) for block in texts]
    return sorted(found)


@given(messages=MESSAGES)
def test_arranging_loses_nothing_and_changes_nothing_that_is_given(messages):
    before = copy.deepcopy(messages)
    assert parts(arrange(messages)) == parts(messages)
    assert messages == before


@given(messages=MESSAGES)
def test_arranging_again_changes_nothing(messages):
    once = arrange(messages)
    assert all(one is other for one, other in zip(arrange(once), once, strict=True))


@given(messages=MESSAGES)
def test_every_given_message_is_a_source_of_an_arranged_one(messages):
    assert {source for each in arranged(messages) for source in each.sources} == set(range(len(messages)))


@given(messages=MESSAGES)
def test_units_cover_an_arranged_list_without_a_gap(messages):
    listed = arrange(messages)
    found = units(listed)
    assert [unit.start for unit in found] == [0, *(unit.stop for unit in found)][: len(found)]
    assert (found[-1].stop if found else 0) == len(listed)


@given(messages=MESSAGES)
def test_what_is_repaired_is_valid_in_every_format(messages):
    found = repair(messages)
    assume(any(message["role"] != "system" for message in found.messages))
    for name in FORMATS:
        codes = {each.code for each in violations(FORMATS[name].write(found.messages), format=name)}
        assert codes <= {"system_role"}, name


@given(messages=MESSAGES)
def test_what_is_repaired_needs_no_repair(messages):
    once = repair(messages).messages
    again = repair(once)
    assert (again.messages, again.repaired) == (once, ())


@given(messages=MESSAGES)
def test_no_call_is_open_in_what_is_repaired(messages):
    assert open_calls(repair(messages).messages) == []
