"""An entry as a line: whatever it holds comes back, and no changed byte goes unnoticed."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.scan._decode import load
from rehydrate.session import line as lines
from rehydrate.session.line import bare, check, encode, seal_all, sealed, seq_of

TEXT = st.text(st.characters(exclude_categories=()))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
RECORDS = st.dictionaries(TEXT | st.sampled_from(["type", "seq", "crc", "uuid"]), VALUES, max_size=6)


def joined(value):
    """With two halves of a surrogate pair that stand side by side as the one sign that JSON makes of them."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if isinstance(value, list):
        return [joined(each) for each in value]
    return {joined(k): joined(v) for k, v in value.items()} if isinstance(value, dict) else value


@given(RECORDS, st.integers(1, 10**17))
def test_any_record_comes_back_from_its_line(record, seq):
    line = sealed(encode(record), seq)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    expected = json.loads(json.dumps(record))
    assert json.loads(bare(line)) == expected
    assert json.loads(line) == {**expected, "seq": seq, "crc": json.loads(line)["crc"]}


@given(RECORDS, st.integers(1, 10**17))
def test_what_was_sealed_comes_back_byte_for_byte(record, seq):
    body = encode(record)
    line = sealed(body, seq)
    assert (bare(line), bare(line[:-1]), seq_of(line), check(line), check(line[:-1])) == (body, body, seq, True, True)


@given(RECORDS, st.integers(1, 10**6), st.data())
def test_any_changed_byte_of_a_sealed_line_is_found(record, seq, data):
    line = bytearray(sealed(encode(record), seq)[:-1])
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] ^= data.draw(st.integers(1, 255))
    assert not any(check(piece) for piece in bytes(line).split(b"\n"))
    if b"\n" not in line:
        assert check(bytes(line)) is False


@given(RECORDS, st.data())
def test_any_cut_line_is_not_taken_for_a_whole_one(record, data):
    line = sealed(encode(record), 7)
    assert not check(line[: data.draw(st.integers(0, len(line) - 2))])


@given(TEXT)
def test_half_a_surrogate_pair_is_written_as_an_escape(text):
    body = encode({"text": text})
    body.decode("utf-8")
    assert json.loads(body) == {"text": joined(text)}


def test_the_check_is_the_crc_32_of_what_stands_before_its_comma():
    line = sealed(b'{"type":"tag"}', 12)
    assert line == b'{"type":"tag","seq":12,"crc":"%08x"}\n' % zlib.crc32(b'{"type":"tag","seq":12')


def test_several_are_numbered_on():
    assert [seq_of(line) for line in seal_all([b"{}", b'{"a":1}'], 5).splitlines()] == [5, 6]


def test_a_line_of_another_writer_has_no_check_and_is_its_own_body():
    for line in (b'{"type":"user","seq":3}', b'{"crc":"00000000"}', b"{}", b"", b"\0\0", b'{"a":{"seq":1,"crc":"00"}}'):
        assert (check(line), check(line + b"\n"), bare(line + b"\n"), seq_of(line)) == (None, None, line, None)


def test_without_the_compiled_encoder_lines_are_the_same(monkeypatch):
    record = {"a": ["é\n\ud800", 1.5, None, True, {"b": 10**20}], "c": {}}
    expected = encode(record)
    monkeypatch.setattr(lines.json.encoder, "c_make_encoder", None)
    monkeypatch.setattr(lines, "_text", lines._encoder())
    assert encode(record) == expected


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_know_is_refused(number):
    with pytest.raises(ValueError):
        encode({"a": [number]})


def test_what_holds_itself_is_refused():
    record = {}
    record["a"] = record
    with pytest.raises(ValueError, match="nested too deep, or holds itself"):
        encode(record)


def test_what_is_no_json_is_refused():
    with pytest.raises(TypeError):
        encode({"a": {1, 2}})


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_what_is_nested_deeper_than_readers_follow_is_refused(opening):
    closing = {"[": "]", "{": "}"}[opening[0]]
    for levels in (511, 512):
        record = {"a": json.loads(opening * levels + "1" + closing * levels), "text": "[{" * 600}
        if levels == 511:
            assert load(encode(record), 0) == record
        else:
            with pytest.raises(ValueError, match="512 levels"):
                encode(record)
