import os

import pytest

from rehydrate.entries import log as log_module
from rehydrate.entries.log import Log
from tests.entries.making import chat, user
from tests.helpers import write_lines


def test_a_record_is_read_when_it_is_asked_for(scope_of):
    log = scope_of(*chat("a", "b")).log
    assert log.record(1)["message"]["content"] == [{"type": "text", "text": "Done."}]


def test_of_one_uuid_written_twice_the_first_is_the_entry(scope_of):
    log = scope_of(*chat("a", "b"), user("a", "b")).log
    assert (log.at("a"), log.is_entry(0), log.is_entry(2)) == (0, True, False)
    assert (list(log.children(2)), list(log.children(1))) == ([], [])


def test_a_parent_that_stands_behind_its_child_is_found(scope_of):
    log = scope_of(user("b", "a"), user("a", None)).log
    assert (log.parent(0), list(log.children(1))) == (1, [0])


def test_a_record_cut_off_since_is_empty(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", chat("a", "b"))
    with Log(path) as log:
        os.truncate(path, log.entries[1].offset + 5)
        assert log.record(1) == {}


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links cannot be told from files here")
@pytest.mark.parametrize("becomes", ["a link", "a pipe"])
def test_f50_what_the_file_has_become_since_it_was_indexed_is_not_read(tmp_path, monkeypatch, becomes):
    path = write_lines(tmp_path / "a.jsonl", chat("a", "b"))

    def indexed(path):
        found = index_of(path)
        os.rename(path, tmp_path / "away")
        if becomes == "a link":
            os.symlink(tmp_path / "away", path)
        else:
            os.mkfifo(path)
        return found

    index_of = log_module._known
    monkeypatch.setattr(log_module, "_known", indexed)
    with pytest.raises(OSError, match=r"symbolic links|regular file"):
        Log(path)


def test_a_record_nested_beyond_measure_is_empty(scope_of):
    deep = b'{"uuid":"a","type":"user","x":' + b"[" * 3_000 + b"]" * 3_000 + b"}"
    assert scope_of(deep).log.record(0) == {}


def test_few_decoded_records_are_kept(scope_of, monkeypatch):
    monkeypatch.setattr("rehydrate.entries.log.KEPT_RECORDS", 3)
    log = scope_of(*chat(*map(str, range(20)))).log
    for index in range(20):
        log.record(index)
    assert list(log._records) == [17, 18, 19]


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        Log(str(tmp_path / "none.jsonl"))


def test_a_file_that_has_grown_is_read_anew(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", chat("a", "b"))
    with Log(path) as log:
        assert len(log) == 2
    write_lines(tmp_path / "a.jsonl", chat("a", "b", "c"))
    with Log(path) as log:
        assert len(log) == 3


def test_a_file_with_other_bytes_of_the_same_length_is_read_anew(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", chat("a", "b"))
    with Log(path):
        pass
    write_lines(tmp_path / "a.jsonl", chat("a", "c"))
    with Log(path) as log:
        assert (log.at("b"), log.at("c")) == (None, 1)


def test_an_index_is_read_once_for_several_looks(tmp_path, monkeypatch):
    path = write_lines(tmp_path / "a.jsonl", chat("a", "b"))
    with Log(path):
        monkeypatch.setattr("rehydrate.scan.read_tree", None)
        with Log(path) as log:
            assert len(log) == 2


def test_what_can_be_no_path_is_an_error_of_the_system():
    with pytest.raises(OSError, match="nvalid"):
        Log("a\0b")


def test_damaged_lines_are_counted(scope_of):
    assert scope_of(*chat("a"), b"{broken", b"\0" * 40 + b"[]").log.damaged == 2
