"""Members of a record changed in its bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.session.splice import with_members

S = {"sessionId": b'"new"'}
KNOWN = {"sessionId": "old"}


def test_a_member_gets_another_value_and_all_else_stays():
    raw = b'{"n":123456789012345678901234567890,"sessionId":"old", "a" : "\xff\\n" }'
    assert with_members(raw, S, known=KNOWN) == raw.replace(b'"old"', b'"new"')


def test_a_member_that_is_missing_is_added_at_the_end():
    assert with_members(b'{"a":1}', S, known={"sessionId": None}) == b'{"a":1,"sessionId":"new"}'


@pytest.mark.parametrize(
    "raw",
    [
        b'{"sessionId":"old"}',
        b'{"sessionId" : "old" }',
        b'{"a":{"sessionId":"old"},"sessionId":"old"}',
        b'{"a":"sessionId","sessionId":"old"}',
        b'{"a":"\\"sessionId\\":\\"old\\"","sessionId":"old"}',
        b'{"\\u0073essionId":"old","a":{"sessionId":"old"}}',
        b'{"session\\u0049d":"old"}',
        b'{"sessionId":"\\u006fld","a":["sessionId","old"]}',
        b'{"a":[[{"b":"]}"}],"\\\\"],"sessionId":"old","c":[1,{"sessionId":"old"}]}',
        b'{"sessionId":"x","sessionId":"old"}',
        b'{"a":"\\\\","sessionId":"old","b":"\\\\\\""}',
    ],
)
@pytest.mark.parametrize("known", [KNOWN, {}])
def test_it_is_the_member_of_the_top_level_however_it_is_written(raw, known):
    found = json.loads(with_members(raw, S, known=known))
    assert found == {**json.loads(raw), "sessionId": "new"}


@pytest.mark.parametrize("known", [{"sessionId": None}, {}])
def test_a_member_of_something_inside_is_none_of_its_own(known):
    found = with_members(b'{"a":{"sessionId":"old"}}', S, known=known)
    assert found == b'{"a":{"sessionId":"old"},"sessionId":"new"}'


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["sessionId", '"sessionId":"old"', "old"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "sessionId", "b:"]), inner),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["a", "sessionId", "parentUuid", 'x"y', "é"]), VALUES, min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
)
def test_any_record_is_what_a_full_parse_would_make_of_it(record, is_ascii, spaced):
    raw = json.dumps(record, ensure_ascii=is_ascii, separators=None if spaced else (",", ":")).encode()
    values = {"sessionId": "new", "parentUuid": None, "forkedFrom": {"a": 1}}
    given_values = {name: json.dumps(value).encode() for name, value in values.items()}
    known = {name: record.get(name) if isinstance(record.get(name), str) else None for name in values}
    assert json.loads(with_members(raw, given_values, known=known)) == {**record, **values}
