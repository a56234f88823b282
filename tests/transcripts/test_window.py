import pytest

from rehydrate.scan import iter_records
from rehydrate.transcripts.window import WINDOW_BYTES, tail_cursor, working_folders
from tests.helpers import write_lines


@pytest.mark.parametrize(("size", "left"), [(1, []), (9, []), (11, [3]), (19, [3]), (21, [2, 3]), (29, [2, 3])])
def test_the_last_bytes_are_read_from_their_first_whole_line_on(tmp_path, size, left):
    path = write_lines(tmp_path / "a.jsonl", [b'{"a": 1 }', b'{"a": 2 }', b'{"a": 3 }'])
    assert [row[0] for row in iter_records(path, ("a",), cursor=tail_cursor(path, size))] == left


def test_a_file_that_is_smaller_is_read_from_its_start(tmp_path):
    assert tail_cursor(write_lines(tmp_path / "a.jsonl", [{}]), 3) is None


def test_the_first_folder_is_told_and_those_at_the_end(tmp_path):
    filling = {"cwd": "/between", "x": "y" * 1_000}
    rows = [{}, {"cwd": "/first"}, *[filling] * 50, {"x": "y" * WINDOW_BYTES}, {"cwd": "/a"}, {"cwd": "/b"}]
    assert working_folders(write_lines(tmp_path / "a.jsonl", rows)) == ["/first", "/a", "/b"]


@pytest.mark.parametrize("cwd", ["relative", 1, None, "", "/\0"])
def test_what_is_no_folder_is_passed_over(tmp_path, cwd):
    assert working_folders(write_lines(tmp_path / "a.jsonl", [{"cwd": cwd}])) == []
