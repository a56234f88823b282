"""Edits of a JSON text change what they are about and not one character more."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate import jsonspans

KEYS = st.text(max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def texts(draw):
    """An object and a text of it, in any of the usual styles."""
    value = draw(OBJECTS)
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" ,", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return value, draw(st.sampled_from(["", " ", "\n", "\r\n\t"])) + text + draw(st.sampled_from(["", "\n", "  \r\n"]))


def parsed(text):
    return jsonspans.parse(text.encode("utf-8", "surrogatepass"))[1]


@given(texts(), KEYS, VALUES)
def test_a_new_member_is_added_and_taken_out_again(pair, key, new):
    value, text = pair
    if key in value:
        return
    added = jsonspans.with_member(text, key, new)
    assert parsed(added) == {**value, key: new}
    assert list(parsed(added)) == [*value, key]
    removed = jsonspans.without(added, (key,))
    assert removed == text or (not value and removed.strip() == "{}")


@given(texts(), KEYS, KEYS, VALUES)
def test_a_new_member_is_added_below(pair, key, inner, new):
    value, text = pair
    outer = jsonspans.with_value(text, (key,), {}) if key in value else jsonspans.with_member(text, key, {})
    added = jsonspans.with_member(outer, inner, new, within=(key,))
    assert parsed(added) == {**value, key: {inner: new}}
    assert list(parsed(added)) == list(parsed(outer))
    more = jsonspans.with_member(added, f"{inner}+", new, within=(key,))
    assert parsed(more) == {**value, key: {inner: new, f"{inner}+": new}}
    assert jsonspans.without(more, (key, f"{inner}+")) == added


@given(texts(), KEYS, st.lists(VALUES, max_size=3), VALUES)
def test_a_new_element_is_added_and_taken_out_again(pair, key, elements, new):
    value, text = pair
    edit = jsonspans.with_value if key in value else None
    outer = edit(text, (key,), elements) if edit else jsonspans.with_member(text, key, elements)
    added = jsonspans.with_element(outer, (key,), new)
    assert parsed(added) == {**value, key: [*elements, new]}
    if elements:
        assert jsonspans.without(added, (key, len(elements))) == outer


def test_what_is_added_below_has_the_indent_of_its_depth():
    text = '{\n  "a": {},\n  "b": []\n}\n'
    text = jsonspans.with_member(text, "c", [1], within=("a",))
    text = jsonspans.with_element(text, ("b",), {"d": 2})
    assert text == json.dumps({"a": {"c": [1]}, "b": [{"d": 2}]}, indent=2) + "\n"


@given(texts(), st.data())
def test_any_member_can_be_taken_out(pair, data):
    value, text = pair
    if not value:
        return
    key = data.draw(st.sampled_from(list(value)))
    assert parsed(jsonspans.without(text, (key,))) == {name: each for name, each in value.items() if name != key}


@given(texts(), st.data(), VALUES)
def test_a_value_is_replaced_and_nothing_else(pair, data, new):
    value, text = pair
    if not value:
        return
    key = data.draw(st.sampled_from(list(value)))
    span = jsonspans.locate(text, (key,))
    after = jsonspans.with_value(text, (key,), new)
    assert parsed(after) == {**value, key: new}
    assert after.startswith(text[: span.value]) and after.endswith(text[span.end :])


@given(st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_an_element_is_taken_out(values, data):
    at = data.draw(st.integers(0, len(values) - 1))
    text = json.dumps({"a": values}, indent=data.draw(st.sampled_from([None, 2])))
    assert parsed(jsonspans.without(text, ("a", at))) == {"a": values[:at] + values[at + 1 :]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "n": 1\n}'),
        ("{ }", '{\n  "n": 1\n }'),
        ("{\n}\n", '{\n  "n": 1\n}\n'),
        ('{"a": 1}', '{"a": 1, "n": 1}'),
        ('{\n    "a": 1\n}', '{\n    "a": 1,\n    "n": 1\n}'),
        ('{\r\n\t"a": 1\r\n}\r\n', '{\r\n\t"a": 1,\r\n\t"n": 1\r\n}\r\n'),
    ],
)
def test_a_new_member_has_the_style_of_the_others(before, after):
    assert jsonspans.with_member(before, "n", 1) == after


def test_what_is_not_there_is_a_lookup_error():
    with pytest.raises(KeyError):
        jsonspans.locate('{"a": 1}', ("b",))
    with pytest.raises(IndexError):
        jsonspans.locate('{"a": []}', ("a", 0))
