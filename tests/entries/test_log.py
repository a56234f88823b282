import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.entries import log as log_module
from rehydrate.entries.log import Log, member
from tests.entries.making import chat, user
from tests.helpers import needs_native_backend, write_lines


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


WANTED = {"status": None, "file": {"start": None, "count": None}, "patch": None}
"""Of a member `told`."""
texts = [b'""', b'"a,\\"told\\":{"', b'"\xff\xc3"', b'"\\ud83d"', b'"\\ud83d\\ude00"', b'"\\ud83d\\ud83d\\ude00"']
numbers = [b"1", b"-0.5e3", b"1e999", b"NaN", b"9" * 5_000]
nested = [b"[" * depth + b"]" * depth for depth in (2, 70, 600)]
scalars = st.sampled_from([b"true", b"null", *texts, *numbers, *nested])
keys = st.sampled_from(
    [b'"told"', b'"told"', b'"t\\u006fld"', b'"x"', b'"file"', b'"status"', b'"st\\u0061tus"', b'"start"', b'"patch"']
)


def objects(values):
    blank = st.sampled_from([b"", b"", b" ", b"\t"])
    pairs = st.lists(st.tuples(keys, blank, values).map(lambda each: each[0] + each[1] + b":" + each[1] + each[2]))
    return pairs.map(lambda each: b"{" + b",".join(each) + b"}")


values = st.recursive(
    scalars,
    lambda inner: objects(inner) | st.lists(inner, max_size=3).map(lambda each: b"[" + b",".join(each) + b"]"),
    max_leaves=12,
)


def only(found, wanted):
    """What is wanted of a decoded value."""
    if not isinstance(found, dict):
        return {}
    kept = {name: found[name] for name in wanted if name in found}
    return {
        name: only(each, wanted[name]) if wanted[name] and isinstance(each, dict) else each
        for name, each in kept.items()
    }


def without_told(record):
    return {name: value for name, value in record.items() if name != "told"}


@needs_native_backend
@settings(max_examples=400, deadline=None)
@given(objects(values))
def test_a_record_and_what_is_wanted_of_a_member_are_those_that_all_of_it_decoded_has(raw):
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(raw + b"\n")
        with Log(str(path)) as log:
            record, told = log.record_and(0, "told", WANTED)
            whole = log.record(0)
    assert without_told(record) == without_told(whole)
    assert only(told, WANTED) == only(member(whole, "told"), WANTED)


@needs_native_backend
def test_of_a_member_only_what_is_wanted_is_decoded(scope_of):
    told = {"file": {"content": "x" * 9_000, "start": 3}, "stdout": "y" * 9_000, "status": "done"}
    log = scope_of(user("a", None, told=told)).log
    assert log.record_and(0, "told", WANTED)[1] == {"file": {"start": 3}, "status": "done"}


def test_what_is_wanted_of_a_record_cut_off_since_is_empty(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", chat("a", "b"))
    with Log(path) as log:
        os.truncate(path, log.entries[1].offset + 5)
        assert log.record_and(1, "told", WANTED) == ({}, {})
