"""What comes out when a record or a member is decoded."""

import json
import sys

import pytest

from tests.helpers import dump, write_lines


def decoded(impl, tmp_path, raw):
    """The value as `json()` gives it and as `iter_records` does."""
    path = write_lines(tmp_path / "t", [b'{"a":' + raw + b"}"])
    [found] = impl.iter_steps(path)
    [row] = impl.iter_records(path, ["a"])
    assert impl.scan_tail(path).damaged == 0
    value = found.json()["a"]
    assert (type(row[0]), row[0]) == (type(value), value)
    return value


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b'"\\ud800"', "\ufffd"),
        (b'"\\uDFFF"', "\ufffd"),
        (b'"\\ude00\\ud83d"', "\ufffd\ufffd"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud83d\\ud83d\\ude00"', "\ufffd\U0001f600"),
        (b'"\\ud83dx\\ude00"', "\ufffdx\ufffd"),
        (b'"\\ud83d\\\\ude00"', "\ufffd\\ude00"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'["\\ud83d","\\ude00"]', ["\ufffd", "\ufffd"]),
        (b'{"\\ud800":"\\udfff"}', {"\ufffd": "\ufffd"}),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
    ],
    ids=repr,
)
def test_f23_a_lone_surrogate_becomes_a_replacement_character(impl, tmp_path, raw, wanted):
    value = decoded(impl, tmp_path, raw)
    assert value == wanted
    json.dumps(value, ensure_ascii=False).encode()


def test_f23_the_raw_bytes_and_the_text_members_of_a_step(impl, tmp_path):
    raw = b'{"type":"\\ud800","source":"\\ud83d\\ude00","status":"a\\/\\u0062","created_at":"\\udc00\xff"}'
    [found] = impl.iter_steps(write_lines(tmp_path / "t", [raw]))
    assert found[1:5] == ("\ufffd", "\U0001f600", "a/b", "\ufffd\ufffd")
    assert found.raw == raw


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b"NaN", None),
        (b"Infinity", None),
        (b"-Infinity", None),
        (b"1e999", None),
        (b"-1e999", None),
        (b"9" * 400 + b".5", None),
        (b"[NaN,[1e400]]", [None, [None]]),
        (b"1.7976931348623157e308", 1.7976931348623157e308),
        (b"1e-999", 0.0),
        (b"-0", 0),
        (b"-0.0", 0.0),
        (b"1" * 4300, int("1" * 4300)),
        (b"-" + b"1" * 4300, -int("1" * 4300)),
        (b"1" * 4301, "1" * 4301),
        (b"-" + b"1" * 5000, "-" + "1" * 5000),
        (b"9223372036854775808", 2**63),
        (b"1E2", 100.0),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_f28_numbers_beyond_what_python_holds_are_none_or_text(impl, tmp_path, raw, wanted):
    value = decoded(impl, tmp_path, raw)
    assert value == wanted
    assert isinstance(value, type(wanted))


def test_f28_an_integer_that_the_process_may_not_read_is_text(impl, tmp_path):
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        value = decoded(impl, tmp_path, b"[7," + b"1" * 1000 + b"]")
    finally:
        sys.set_int_max_str_digits(before)
    assert value == [7, "1" * 1000]


def test_f28_a_long_integer_is_no_text_member(impl, tmp_path):
    line = b'{"step_index":%b,"type":%b}' % (b"7" * 5000, b"7" * 5000)
    [found] = impl.iter_steps(write_lines(tmp_path / "t", [line]))
    assert found[:2] == (None, None)


@pytest.mark.parametrize("brackets", [b"[]", b"{}"])
def test_f27_a_record_of_512_levels_is_decoded_and_one_of_513_is_not(impl, tmp_path, brackets):
    def nested(levels):
        if brackets == b"[]":
            return b'{"a":' + b"[" * (levels - 1) + b'"[[{{\\""' + b"]" * (levels - 1) + b"}"
        return b'{"a":' * levels + b"1" + b"}" * levels

    path = write_lines(tmp_path / "t", [nested(512), nested(513), {"a": 1}])
    fits, deep, last = impl.iter_steps(path)
    value = fits.json()
    for _ in range(512):
        value = value["a"] if isinstance(value, dict) else value[0]
    with pytest.raises(ValueError, match=f"offset {deep.offset} .*512"):
        deep.json()
    assert last.json() == {"a": 1}
    values = [row[0] for row in impl.iter_records(path, ["a"])]
    assert [value is None for value in values] == [False, True, False]


def test_a_record_is_decoded_however_deep_its_reader_is(impl, tmp_path):
    [found] = impl.iter_steps(write_lines(tmp_path / "t", [b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"]))

    def descend(levels):
        return descend(levels - 1) if levels else found.json()

    for levels in range(0, 900, 50):
        try:
            assert "a" in descend(levels)
        except ValueError as error:
            assert "offset 0" in str(error)
        except RecursionError:  # of the test itself
            break


def test_duplicate_keys_give_the_last_value(impl, tmp_path):
    path = write_lines(tmp_path / "t", [b'{"a":1,"\\u0061":2,"b":{"c":1,"c":2}}'])
    assert next(impl.iter_steps(path)).json() == {"a": 2, "b": {"c": 2}}
    assert next(impl.iter_records(path, ["a"]))[0] == 2


def test_raw_control_characters_are_decoded(impl, tmp_path):
    raw = '{"a":"' + "".join(map(chr, [*range(10), *range(11, 32)])) + '"}'
    [found] = impl.iter_steps(write_lines(tmp_path / "t", [raw.encode()]))
    assert found.json()["a"] == raw[6:-2]
    assert dump(found.json())
