"""What a line is, seen through the operations."""

import json
import os

import pytest

from rehydrate.scan import _pure, _pure_lines
from tests.helpers import dump, step, write_lines


def indexes(impl, path, **more):
    return [each.index for each in impl.iter_steps(path, **more)]


def test_f02_a_torn_last_line_is_held_back_until_it_is_complete(impl, tmp_path):
    path = tmp_path / "t"
    whole, torn = dump(step(1)) + b"\n", dump(step(2))
    path.write_bytes(whole + torn[:30])
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.last_step, tail.damaged, tail.cursor[1]) == (1, 1, 0, len(whole))
    assert indexes(impl, path) == [1]
    path.write_bytes(whole + torn + b"\n")
    again = impl.scan_tail(path, tail.cursor)
    assert (again.lines, again.last_step, again.restarted, again.cursor[1]) == (1, 2, False, len(whole + torn) + 1)


@pytest.mark.parametrize("tail", [b'{"step_index":2}', b'{"step_index":2,"type":"CHECKPOINT"}', b"12", b"{}"])
def test_f03_an_unfinished_line_that_is_valid_json_is_held_back(impl, tmp_path, tail):
    path = tmp_path / "t"
    path.write_bytes(dump(step(1)) + b"\n" + tail)
    found = impl.scan_tail(path)
    assert (found.lines, found.last_step, found.boundaries, found.damaged) == (1, 1, [], 0)
    assert indexes(impl, path) == [1]
    assert impl.probe(path).last_step == 1
    assert impl.find_step(path, 2) is None
    assert list(impl.iter_records(path, ["step_index"])) == [(1, 0, len(dump(step(1))))]


@pytest.mark.parametrize("size", [1, 4096, 3_000_000])
def test_f06_a_block_of_nuls_is_skipped_wherever_it_is(impl, tmp_path, size):
    path, nuls = tmp_path / "t", b"\0" * size
    record = dump(step(2, "CHECKPOINT"))
    path.write_bytes(dump(step(1)) + b"\n" + nuls + record + b"\n" + nuls + b"\n" + record + nuls + b"\n" + nuls)
    tail = impl.scan_tail(path)
    first = len(dump(step(1))) + 1 + size
    second = first + len(record) + 1 + size + 1
    assert tail.boundaries == [(2, first, len(record)), (2, second, len(record))]
    assert (tail.lines, tail.damaged, tail.last_step) == (3, 0, 2)
    found = impl.iter_steps(path)
    assert [(each.index, each.offset) for each in found] == [(1, 0), (2, first), (2, second)]
    assert found.damaged == 0


def test_f10_what_is_appended_during_a_read_is_not_reported(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at) for at in range(5000)])
    size = os.path.getsize(path)
    found = impl.iter_steps(path)
    next(found)
    with open(path, "ab") as file:
        file.write(dump(step(9999, "CHECKPOINT")) + b"\n")
    assert [each.index for each in found] == list(range(1, 5000))
    assert found.cursor[1] == size
    assert indexes(impl, path, cursor=found.cursor) == [9999]


def test_f10_the_cursor_is_the_end_of_the_last_complete_line(impl, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(dump(step(1)) + b"\n\n  \n" + dump(step(2)))
    assert impl.scan_tail(path).cursor[1] == len(dump(step(1))) + 5
    found = impl.iter_steps(path)
    assert len(list(found)) == 1
    assert found.cursor == impl.scan_tail(path).cursor


def test_a_file_cut_short_under_the_reader_ends_the_read_without_an_error(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at, content="x" * 1000) for at in range(6000)])
    found = impl.iter_steps(path)
    next(found)
    os.truncate(path, 100)
    rest = list(found)
    assert [each.index for each in rest] == list(range(1, len(rest) + 1))
    tail = impl.scan_tail(path, found.cursor)
    assert tail.restarted
    assert (tail.lines, tail.cursor[1]) == (0, 0)


@pytest.mark.parametrize("kept", [0, 3, 39, 43, 130, 163])
def test_a_file_cut_short_after_any_number_of_reads_ends_the_read(tmp_path, monkeypatch, kept):
    """Of the pure twin; the native one has its own in rust/tests."""
    path = tmp_path / "t"
    long = step(2, content="x" * 300)
    whole = [dump(each) + b"\n" for each in (step(1), long, {"a": 1, **long}, dump(long) + dump(step(3)), long)]
    monkeypatch.setattr(_pure_lines, "CHUNK", 64)
    pread = _pure_lines._pread

    def cutting(fd, size, offset):
        nonlocal left
        left -= 1
        if left == 0:
            os.truncate(path, kept)
        return pread(fd, size, offset)

    monkeypatch.setattr(_pure_lines, "_pread", cutting)
    for reads in range(1, 60):
        for operation in (
            _pure.scan_tail,
            _pure.probe,
            lambda path: _pure.find_step(path, 3),
            lambda path: [list(found := _pure.iter_steps(path)), found.cursor, found.damaged],
            lambda path: [list(found := _pure.iter_closed(path, types={"A"})), found.cursor, found.damaged],
        ):
            path.write_bytes(b"".join(whole))
            left = reads
            told = operation(path)
            if isinstance(told, list):
                assert told[2] == 0
                assert told[1][1] in [sum(map(len, whole[:count])) for count in range(6)]


@pytest.mark.parametrize("blank", [b"\n", b"  \t \n", b"\r\n", b"\0\0\n"])
def test_f14_blank_lines_are_not_counted_and_cost_linear_time(impl, tmp_path, blank):
    path = tmp_path / "t"
    path.write_bytes(blank * 100_000 + dump(step(1)) + b"\n" + blank * 100_000)
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged, tail.last_step) == (1, 0, 1)
    assert tail.cursor[1] == path.stat().st_size
    found = impl.iter_steps(path)
    assert [each.offset for each in found] == [len(blank) * 100_000]
    assert (found.damaged, found.cursor) == (0, tail.cursor)


def test_f15_a_sparse_file_is_read_through_its_holes(impl, tmp_path):
    path = tmp_path / "t"
    record = dump(step(7, "CHECKPOINT"))
    with path.open("wb") as file:
        file.write(dump(step(1)) + b"\n")
        file.seek(20_000_000)
        file.write(record + b"\n")
    tail = impl.scan_tail(path)
    assert (tail.boundaries, tail.lines, tail.damaged) == ([(7, 20_000_000, len(record))], 2, 0)
    assert impl.probe(path).last_step == 7


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no /proc")
def test_f15_a_file_that_says_it_is_empty_is_empty(impl):
    assert impl.scan_tail("/proc/self/status").lines == 0
    assert impl.probe("/proc/self/status") == (None, None, None, None, 0)
    assert list(impl.iter_steps("/proc/self/status")) == []


def test_f15_records_read_before_an_error_come_before_it(tmp_path, monkeypatch):
    path = write_lines(tmp_path / "t", [step(at, content="x" * 100) for at in range(9)])
    monkeypatch.setattr(_pure_lines, "CHUNK", 512)
    found = _pure.iter_steps(path)
    assert next(found).index == 0
    real, calls = _pure_lines._pread, iter(range(9))

    def pread(fd, size, offset):
        if offset > 1000 and next(calls) == 0:
            raise OSError(5, "Input/output error")
        return real(fd, size, offset)

    monkeypatch.setattr(_pure_lines, "_pread", pread)
    again = _pure.iter_steps(path)
    read = []
    with pytest.raises(OSError, match="Input/output error"):
        for each in again:
            read.append(each.index)
    assert read
    assert read == list(range(len(read)))
    assert again.cursor[1] == sum(len(dump(step(at, content="x" * 100))) + 1 for at in read)


def test_f19_a_bom_at_the_start_is_skipped(impl, tmp_path):
    path = tmp_path / "t"
    record = dump(step(1, "CHECKPOINT"))
    path.write_bytes(b"\xef\xbb\xbf" + record + b"\n")
    tail = impl.scan_tail(path)
    assert (tail.boundaries, tail.lines, tail.damaged) == ([(1, 3, len(record))], 1, 0)
    [found] = impl.iter_steps(path)
    assert (found.offset, found.raw) == (3, record)
    assert impl.probe(path).first_step == 1
    assert impl.find_step(path, 1).offset == 3
    path.write_bytes(b"\xef\xbb\xbf\n")
    assert impl.scan_tail(path)[3:5] == (0, 0)


def test_f19_a_bom_elsewhere_is_data(impl, tmp_path):
    path = tmp_path / "t"
    record = dump(step(1))
    path.write_bytes(b"\xef\xbb\xbf\xef\xbb\xbf" + record + b"\n\xef\xbb\xbf" + record + b"\n")
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged, tail.damaged_offsets) == (2, 2, [0, 7 + len(record)])
    assert indexes(impl, path) == [1, 1]  # the objects on a damaged line are found all the same


def test_f20_only_a_line_feed_ends_a_line_and_one_return_belongs_to_it(impl, tmp_path):
    path = tmp_path / "t"
    record = dump(step(1))
    path.write_bytes(record + b"\r\n" + record + b"\n" + record + b"\r\r\n" + record + b"\r" + record + b"\n\r\n")
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged) == (4, 0)
    found = list(impl.iter_steps(path))
    assert len(found) == 5
    assert {each.raw for each in found} == {record}
    path.write_bytes(b'{"a":"x\r\n')
    assert impl.scan_tail(path).damaged == 1


def test_f22_invalid_utf8_in_a_string_is_kept_and_replaced_when_decoded(impl, tmp_path):
    path = tmp_path / "t"
    bad = b'{"step_index":1,"type":"A\xff","content":"\xc0\xaf \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98"}'
    path.write_bytes(bad + b"\n")
    [found] = impl.iter_steps(path)
    assert found.raw == bad
    assert found.type == "A\ufffd"
    assert found.json()["content"] == "\ufffd\ufffd \ufffd \ufffd\ufffd\ufffd \ufffd"
    assert impl.scan_tail(path).damaged == 0
    assert list(impl.iter_records(path, ["type"])) == [("A\ufffd", 0, len(bad))]
    path.write_bytes(b'{"a":1,\xff"b":2}\n')
    assert impl.scan_tail(path).damaged == 1


@pytest.mark.parametrize("cut", range(64, 76))
def test_f22_a_sequence_across_a_chunk_border_is_not_damaged(impl, tmp_path, monkeypatch, cut):
    monkeypatch.setattr(_pure_lines, "CHUNK", 64)
    path = tmp_path / "t"
    text = "x" * (cut - 20) + "\U0001f600é" * 40
    write_lines(path, [{"step_index": 1, "type": "CHECKPOINT", "content": text + '"\\'}])
    assert impl.scan_tail(path).boundaries == [(1, 0, path.stat().st_size - 1)]
    [found] = impl.iter_steps(path)
    assert found.json()["content"] == text + '"\\'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-32-be"])
def test_f24_every_line_of_a_utf16_or_utf32_file_is_damaged(impl, tmp_path, encoding):
    path = tmp_path / "t"
    text = "\n".join(json.dumps(step(at)) for at in range(3)) + "\n"
    path.write_bytes(text.encode(encoding))
    tail = impl.scan_tail(path)
    assert (tail.damaged, tail.last_step, tail.boundaries) == (3, None, [])
    assert indexes(impl, path) == []


def test_f25_control_characters_and_bidi_overrides_stay_as_they_are(impl, tmp_path):
    path = tmp_path / "t"
    raw = b'{"step_index":1,"content":"\x01\x1b[31m\t\xe2\x80\xae\xe2\x80\x8b\x7f\x00"}'
    path.write_bytes(raw + b"\n")
    [found] = impl.iter_steps(path)
    assert found.raw == raw
    assert found.json()["content"] == "\x01\x1b[31m\t\u202e\u200b\x7f\0"
    assert impl.scan_tail(path).damaged == 0


@pytest.mark.parametrize("line", [b"[1,2]", b"7", b"null", b'"x"', b"true", b'[{"step_index":9,"type":"CHECKPOINT"}]'])
def test_f32_a_line_that_is_no_object_is_damaged_and_the_next_is_read(impl, tmp_path, line):
    path = tmp_path / "t"
    write_lines(path, [line, step(1)])
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged, tail.damaged_offsets, tail.last_step) == (2, 1, [0], 1)
    assert tail.boundaries == []
    found = impl.iter_steps(path)
    assert [each.index for each in found] == [1]
    assert (found.damaged, found.damaged_offsets) == (1, [0])


def test_the_offsets_of_the_first_16_damaged_lines_are_kept(impl, tmp_path):
    path = write_lines(tmp_path / "t", [b"broken"] * 20)
    tail = impl.scan_tail(path)
    assert (tail.damaged, tail.damaged_offsets) == (20, [at * 7 for at in range(16)])
    found = impl.iter_steps(path)
    assert list(found) == []
    assert (found.damaged, found.damaged_offsets) == (20, [at * 7 for at in range(16)])


def test_a_line_longer_than_the_buffer_is_read_like_any_other(impl, tmp_path):
    path = tmp_path / "t"
    big = step(2, content="x" * 3_000_000)
    hidden = step(3, content='y"CHECKPOINT" }{ \\u00' * 100_000)
    boundary = {"content": "z" * 2_500_000, **step(4, "CHECKPOINT")}
    torn = dump(step(5, content="t" * 2_000_000))[:-10]
    write_lines(path, [step(1), big, hidden, boundary, torn, torn + dump(step(6, "CHECKPOINT")), step(7)])
    starts, at = [], 0
    for line in path.read_bytes().split(b"\n"):
        starts.append(at)
        at += len(line) + 1
    tail = impl.scan_tail(path)
    assert tail.boundaries == [
        (4, starts[3], len(dump(boundary))),
        (6, starts[5] + len(torn), len(dump(step(6, "CHECKPOINT")))),
    ]
    assert (tail.lines, tail.last_step, tail.damaged) == (7, 7, 2)
    found = impl.iter_steps(path)
    assert [each.index for each in found] == [1, 2, 3, 4, 6, 7]
    assert found.damaged == 2
    assert impl.find_step(path, 2)[:3] == (2, "2026-01-01T00:00:02Z", starts[1])
    assert [each.raw for each in impl.iter_steps(path, types=["CHECKPOINT"])] == [
        dump(boundary),
        dump(step(6, "CHECKPOINT")),
    ]
