"""Cursors: what they prove, and what is done when they do not."""

import json
import zlib
from pathlib import Path

import pytest

from tests.helpers import dump, needs_native, step, write_lines


@pytest.fixture
def path(tmp_path):
    return write_lines(tmp_path / "t", [step(at, content="x" * 500) for at in range(20)])


def test_a_cursor_is_the_offset_and_the_crc_of_the_4096_bytes_before_it(impl, path):
    data = Path(path).read_bytes()
    assert impl.scan_tail(path).cursor == (1, len(data), f"{zlib.crc32(data[-4096:]):08x}")
    for offset in (0, 1, 4095, 4096, 4097, len(data)):
        assert impl.cursor_at(path, offset) == (1, offset, f"{zlib.crc32(data[max(0, offset - 4096) : offset]):08x}")


def test_a_cursor_can_go_through_json(impl, path):
    cursor = json.loads(json.dumps(impl.scan_tail(path).cursor))
    assert impl.scan_tail(path, cursor).restarted is False
    assert list(impl.iter_steps(path, cursor=cursor)) == []


def test_cursor_at_takes_a_read_up_at_a_known_record(impl, path):
    wanted = list(impl.iter_steps(path))[7]
    found = impl.iter_steps(path, cursor=impl.cursor_at(path, wanted.offset))
    assert next(found) == wanted
    assert found.restarted is False


def test_cursor_at_refuses_an_offset_that_is_not_in_the_file(impl, path):
    for offset in (-1, 10**9, 2**63, 2**70):
        with pytest.raises(ValueError, match=r"(?i)offset"):
            impl.cursor_at(path, offset)


def test_an_offset_is_looked_at_before_the_file_and_its_error_names_both(impl, path):
    with pytest.raises(ValueError, match="not below 0"):
        impl.cursor_at(f"{path}gone", -1)
    for offset in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match="offset"):
            impl.cursor_at(path, offset)
    with pytest.raises(ValueError) as caught:
        impl.cursor_at(path, 10**9)
    assert str(caught.value) == f"Offset 1000000000 lies beyond the {Path(path).stat().st_size} bytes of {path}."


def restarted(impl, path, cursor):
    """That every operation which takes the cursor reads from 0 and says so."""
    tail, found = impl.scan_tail(path, cursor), impl.iter_steps(path, cursor=cursor)
    return tail.restarted and found.restarted and tail == (*impl.scan_tail(path)[:-1], True)


def test_f07_a_file_shorter_than_the_cursor_is_read_from_the_start(impl, path):
    cursor = impl.scan_tail(path).cursor
    Path(path).write_bytes(Path(path).read_bytes()[:-1])
    assert restarted(impl, path, cursor)
    Path(path).write_bytes(b"")
    assert restarted(impl, path, cursor)
    assert not impl.scan_tail(path, (1, 0, "00000000")).restarted


def test_a_file_with_other_bytes_before_the_offset_is_read_from_the_start(impl, path):
    cursor = impl.scan_tail(path).cursor
    data = bytearray(Path(path).read_bytes())
    data[-4096] ^= 1
    Path(path).write_bytes(data)
    assert restarted(impl, path, cursor)
    data[-4096] ^= 1
    data[-4097] ^= 1
    Path(path).write_bytes(data)
    assert not impl.scan_tail(path, cursor).restarted


@pytest.mark.parametrize(
    "cursor",
    [
        (1, 0, "00000001"),
        (1, 10, "00000000"),
        (1, 10**30, "00000000"),
    ],
)
def test_a_cursor_that_does_not_fit_restarts(impl, path, cursor):
    assert restarted(impl, path, cursor)


@pytest.mark.parametrize(
    "cursor",
    [
        (),
        (1, 0),
        (1, 0, "00000000", 4),
        (2, 0, "00000000"),
        (True, 0, "00000000"),
        (1, -1, "00000000"),
        (1, 0.0, "00000000"),
        (1, True, "00000000"),
        (1, "0", "00000000"),
        (1, 0, 0),
        (1, 0, "0"),
        (1, 0, "0000000g"),
        (1, 0, "0000000A"),
        (1, 0, b"00000000"),
        (1, 0, "0x000000"),
        (1, 0, None),
        {"offset": 0},
        "1,0,00000000",
        7,
    ],
    ids=repr,
)
def test_what_is_no_cursor_is_a_value_error(impl, path, cursor):
    for call in (impl.scan_tail, lambda path, cursor: impl.iter_steps(path, cursor=cursor)):
        with pytest.raises(ValueError, match="cursor"):
            call(path, cursor)
        with pytest.raises(ValueError, match="cursor"):
            call(path + "gone", cursor)


@needs_native
def test_each_implementation_takes_the_other_s_cursor(path):
    from rehydrate.scan import _pure
    from rehydrate.scan import _rust as native

    for one, other in ((native, _pure), (_pure, native)):
        assert not one.scan_tail(path, other.scan_tail(path).cursor).restarted
        assert not one.iter_steps(path, cursor=other.cursor_at(path, 77)).restarted


def test_reading_at_a_cursor_costs_no_more_in_a_long_file(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at) for at in range(200_000)])
    tail = impl.scan_tail(path)
    with open(path, "ab") as file:
        file.write(dump(step(7, "CHECKPOINT")) + b"\n")
    again = impl.scan_tail(path, tail.cursor)
    assert (again.lines, again.last_step, again.boundaries[0].offset) == (1, 7, tail.cursor[1])


def test_records_are_read_from_a_cursor_on(impl, tmp_path):
    path = write_lines(tmp_path / "log.jsonl", [step(0), step(1), step(2)])
    offsets = [row[1] for row in impl.iter_records(path, ["step_index"])]
    found = impl.iter_records(path, ["step_index"], cursor=impl.cursor_at(path, offsets[1]))
    assert [row[0] for row in found] == [1, 2]
    assert not found.restarted and list(impl.cursor_at(path, Path(path).stat().st_size)) == list(found.cursor)
