"""What the formats have in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.context.wire.parts import _DECODER, DEEPEST, _decoded, kept, kept_others, not_json, others

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=2), inside, max_size=3),
    max_leaves=8,
)
PIECES = st.lists(st.sampled_from(["{", "}", '"a"', ":", ",", "1", "NaN", "1e999", "[", "]", " ", "\n", "\\", "x"]))


def decoded(decode, text):
    """The value, or what was wrong."""
    try:
        return decode(text)
    except ValueError as error:
        return str(error)


@given(text=PIECES.map("".join) | PIECES.map(lambda pieces: '{"a": 1' + "".join(pieces)))
def test_arguments_are_decoded_as_the_decoder_has_them(text):
    assert repr(decoded(_decoded, text)) == repr(decoded(_DECODER.decode, text))


@given(value=JSON)
def test_whatever_json_holds_is_json(value):
    assert not_json(value) is None


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"a": value}, lambda value: ["x", None, (value,)]])
@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({1: "a"}, "holds a member whose name is no text"),
        ({"a": "b", None: "c"}, "holds a member whose name is no text"),
        pytest.param(1 << 20_000, "holds a number that is too long to be written", id="long"),
        pytest.param({"a": ["b", 1 << 20_000]}, "holds a number that is too long to be written", id="deep"),
    ],
)
def test_what_json_cannot_hold_is_told_wherever_it_is(value, wrong, wrap):
    assert not_json(wrap(value)) == wrong


@pytest.mark.parametrize("inmost", ["a", {}, ["a"]])
def test_what_is_nested_too_deeply_is_told(inmost):
    value = inmost
    for _ in range(DEEPEST):
        value = [value]
    told = not_json(value)
    assert told == (None if inmost == "a" else f"is nested in more than {DEEPEST} levels")


@given(members=st.dictionaries(st.sampled_from("abcd"), JSON))
def test_members_that_are_not_known_are_kept_as_all_members_are(members):
    known = frozenset("ab")
    assert kept_others("f", members, known) == kept("f", {"members": others(members, known)})
