"""`scan_tail`: boundaries, the highest step, and what it looks at in full."""

import pytest

from tests.helpers import DATA, dump, step, write_lines


def test_boundaries_come_in_file_order_whatever_their_status(impl, tmp_path):
    records = [
        step(3),
        step(9, "CHECKPOINT", status="ERROR"),
        step(5),
        step(4, "CHECKPOINT"),
        step(4, "CHECKPOINT", status="RUNNING"),
        {"type": "CHECKPOINT"},
    ]
    path = write_lines(tmp_path / "t", records)
    places, at = [], 0
    for record in records:
        places.append((at, len(dump(record))))
        at += len(dump(record)) + 1
    tail = impl.scan_tail(path)
    assert tail.boundaries == [(9, *places[1]), (4, *places[3]), (4, *places[4]), (None, *places[5])]
    assert tail[2:] == (9, 6, 0, [], False)
    assert tail.cursor[:2] == (1, at)
    data = (tmp_path / "t").read_bytes()
    for mark, record in zip(tail.boundaries, (records[1], *records[3:]), strict=True):
        assert data[mark.offset : mark.offset + mark.length] == dump(record)


def test_an_empty_file_has_nothing(impl, tmp_path):
    path = write_lines(tmp_path / "t", [])
    assert impl.scan_tail(path) == ((1, 0, "00000000"), [], None, 0, 0, [], False)


def test_only_what_follows_the_cursor_is_read(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(9, "CHECKPOINT"), b"broken"])
    before = impl.scan_tail(path)
    with open(path, "ab") as file:
        file.write(dump(step(2)) + b"\nbroken\n" + dump(step(3, "CHECKPOINT")) + b"\n")
    tail = impl.scan_tail(path, before.cursor)
    at = before.cursor[1]
    assert [mark[:2] for mark in tail.boundaries] == [(3, at + len(dump(step(2))) + 8)]
    assert tail[2:] == (3, 3, 1, [at + len(dump(step(2))) + 1], False)
    assert impl.scan_tail(path, tail.cursor) == (tail.cursor, [], None, 0, 0, [], False)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        # Begins and ends as a record does and holds nothing rare: taken as it is, so the damage is not seen.
        (b'{"step_index":5,broken}', (5, 0)),
        (b'{"step_index":5}}', (5, 0)),
        (b'{"step_index":-0,"a":01}', (0, 0)),
        (b'{"step_index":5,broken}\r', (5, 0)),
        # Anything else is walked.
        (b'{"step_index":5,broken} ', (None, 1)),
        (b' {"step_index":5,broken}', (None, 1)),
        (b'{ "step_index":5,broken}', (None, 1)),
        (b'{"step_index": 5,broken}', (None, 1)),
        (b'{"step_index":05,broken}', (None, 1)),
        (b'{"step_index":-05,broken}', (None, 1)),
        (b'{"step_index":5.0,broken}', (None, 1)),
        (b'{"step_index":9223372036854775808,broken}', (None, 1)),
        (b'{"step_index":5,broken', (None, 1)),
        (b'{"step_index":5,"CHECKPOINT"}', (None, 1)),
        (b'{"step_index":5,"\\u0041"}', (None, 1)),
        (b'{"step_index":5,"step_index"}', (None, 1)),
        (b'{"step_index":5,"}{"}', (None, 1)),
        (b'{"step_index":5,"\\u1234"}', (5, 0)),
    ],
    ids=repr,
)
def test_a_line_is_walked_unless_its_step_is_proven(impl, tmp_path, line, wanted):
    path = write_lines(tmp_path / "t", [line])
    tail = impl.scan_tail(path)
    assert (tail.last_step, tail.damaged, tail.lines) == (*wanted, 1)


@pytest.mark.parametrize("digits", range(1, 19))
def test_a_window_that_cuts_a_number_is_not_taken_for_it(impl, tmp_path, digits):
    number = int("1234567890123456789"[:digits])
    for line in (b'{"step_index":%d}', b'{"step_index":%d,"a":1}', b'{"a":"CHECKPOINT","step_index":%d}'):
        assert impl.scan_tail(write_lines(tmp_path / "t", [line % number])).last_step == number


def test_real_transcripts(impl):
    told = {}
    for path in sorted((DATA / "antigravity").rglob("transcript_full.jsonl")):
        tail = impl.scan_tail(path)
        assert (tail.damaged, tail.restarted, tail.cursor[1]) == (0, False, path.stat().st_size)
        told[path.parts[-3], path.parts[-2][:4]] = [mark.step for mark in tail.boundaries], tail.last_step, tail.lines
    assert told == {
        ("compact", "0184"): ([10, 28], 37, 38),
        ("compact-core", "7469"): ([11], 20, 21),
        ("compact-fails-error", "0d6b"): ([6], 6, 7),
        ("compact-fails-error", "3ef1"): ([], 6, 7),
        ("compact-inject", "a11b"): ([15, 38], 55, 56),
        ("plain", "6af5"): ([], 1, 2),
        ("resume", "a7b0"): ([], 3, 4),
        ("tools", "f03c"): ([], 7, 8),
    }


def test_a_read_that_is_to_end_somewhere_reads_the_lines_that_end_there(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(index, "CHECKPOINT") for index in range(4)])
    ends = [mark.offset + mark.length + 1 for mark in impl.scan_tail(path).boundaries]
    for end in range(ends[-1] + 2):
        found = impl.scan_tail(path, end=end)
        assert found.lines == sum(each <= end for each in ends)
        assert found.cursor == impl.cursor_at(path, max(each for each in (0, *ends) if each <= end))
        rest = impl.scan_tail(path, found.cursor)
        assert len(found.boundaries) + len(rest.boundaries) == 4 and not rest.restarted
    later = impl.scan_tail(path, impl.cursor_at(path, ends[1]), end=5)
    assert (later.cursor[1], later.lines, later.restarted) == (ends[1], 0, False)
    assert impl.scan_tail(path, end=1 << 80) == impl.scan_tail(path)
    with pytest.raises(ValueError, match="end: not below 0"):
        impl.scan_tail(path, end=-1)
