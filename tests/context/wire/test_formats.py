"""What holds for every format: nothing is lost on the way in and out, and what is valid is found valid."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.context.repair import repair
from rehydrate.context.units import arrange, units
from rehydrate.context.validate import violations
from rehydrate.context.wire import FORMATS
from tests.context.wire.strategies import LISTS


def every_format(test):
    return pytest.mark.parametrize("name", LISTS)(settings(max_examples=30)(given(data=st.data())(test)))


@every_format
def test_what_is_read_is_written_as_it_was(name, data):
    messages = data.draw(LISTS[name])
    before = copy.deepcopy(messages)
    assert FORMATS[name].write(FORMATS[name].read(messages)) == before
    assert messages == before


@every_format
def test_what_is_written_is_read_as_it_was(name, data):
    neutral = FORMATS[name].read(data.draw(LISTS[name]))
    before = copy.deepcopy(neutral)
    assert FORMATS[name].read(FORMATS[name].write(neutral)) == before
    assert neutral == before


@every_format
def test_what_is_read_can_stand_in_a_log(name, data):
    neutral = FORMATS[name].read(data.draw(LISTS[name]))
    assert FORMATS[name].write(json.loads(json.dumps(neutral))) == FORMATS[name].write(neutral)


@every_format
def test_a_valid_list_has_no_violations(name, data):
    messages = data.draw(LISTS[name])
    assert violations(messages, format=name, source=FORMATS[name].read(messages)) == []


@every_format
def test_a_valid_list_needs_no_repair(name, data):
    neutral = FORMATS[name].read(data.draw(LISTS[name]))
    found = repair(neutral)
    assert (found.messages, found.repaired) == (arrange(neutral), ())


@every_format
def test_a_list_that_was_arranged_is_valid(name, data):
    neutral = FORMATS[name].read(data.draw(LISTS[name]))
    assert violations(FORMATS[name].write(arrange(neutral)), format=name, source=neutral) == []


@every_format
def test_a_list_of_one_format_is_valid_in_every_other(name, data):
    neutral = arrange(FORMATS[name].read(data.draw(LISTS[name])))
    for other in FORMATS:
        found = violations(FORMATS[other].write(neutral), format=other)
        assert {each.code for each in found} <= {"system_role"}, other


@every_format
def test_whole_units_can_go_from_the_front(name, data):
    neutral = arrange(FORMATS[name].read(data.draw(LISTS[name])))
    found = units(neutral)
    start = found[data.draw(st.integers(0, len(found) - 1))].start
    messages = FORMATS[name].write([{"role": "user", "content": "In short: ..."}, *neutral[start:]])
    assert violations(messages, format=name, source=neutral) == []


@every_format
def test_what_is_ours_never_leaves(name, data):
    neutral = FORMATS[name].read(data.draw(LISTS[name]))
    marked = [{**message, "rehydrate": {"kind": "pinned"}} for message in neutral]
    assert FORMATS[name].write(marked) == FORMATS[name].write(neutral)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("message", [None, "hello", {}, {"role": "nobody", "content": "", "parts": []}])
def test_what_is_no_message_is_refused_with_its_place(name, message):
    good = {"role": "user", "content": "Hello.", "parts": [{"text": "Hello."}]}
    with pytest.raises(ValueError, match=r"^message 1 "):
        FORMATS[name].read([good, message])
    assert [each.code for each in violations([good, message], format=name)] == ["no_message"]


junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["user", "assistant", "model", "text", "tool"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["role", "content", "parts", "type", "id", "text", "tool_calls", "functionCall", "call_id"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", FORMATS)
@given(messages=st.lists(junk, min_size=1, max_size=4))
def test_anything_is_either_read_or_refused_with_a_sentence_and_the_validator_takes_it(name, messages):
    violations(messages, format=name)
    try:
        FORMATS[name].write(FORMATS[name].read(messages))
    except ValueError as refused:
        assert str(refused).startswith("message ")
