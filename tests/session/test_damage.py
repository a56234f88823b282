"""Lines that are not what was written: told with their place, and reading goes on."""

import os

import pytest

from rehydrate.session.errors import DamagedLine
from rehydrate.session.reading import Session
from tests.entries.making import boundary, chat, summary, user
from tests.session.making import HEAD, sealed, uuids, write_session


def places(damage):
    return [(each.line, each.offset) for each in damage]


def test_a_line_that_is_no_record_is_told_and_passed_over(tmp_path):
    first = len(sealed(HEAD, 1)) + 1
    path = write_session(tmp_path / "a.jsonl", b"{torn", *chat("a", "b"))
    with Session.open(path) as session:
        assert uuids(session.view("active")) == ["a", "b"]
        (damage,) = session.damage
        assert (damage.path, damage.line, damage.offset, session.damaged) == (path, 2, first, 1)
        assert isinstance(damage, DamagedLine) and str(damage) == f"line 2 of {path} is no record"


def test_a_line_with_a_wrong_check_is_read_as_it_stands_and_told_once_it_was_read(tmp_path):
    changed = sealed(user("a", None, "Hello."), 2).replace(b"Hello", b"Hallo")
    path = write_session(tmp_path / "a.jsonl", changed, *chat("b", "c", parent="a"))
    with Session.open(path) as session:
        assert session.damage == ()
        assert session.view("active")[0]["message"]["content"] == "Hallo."
        assert [(each.line, "check" in str(each)) for each in session.damage] == [(2, True)]
        assert session.damage[0] is session.damage[0]


def test_lines_of_other_writers_have_no_check_and_are_no_damage(tmp_path):
    path = write_session(tmp_path / "a.jsonl", b'{"type":"user","uuid":"a","message":{"content":"x"}}')
    with Session.open(path) as session:
        list(session.view("raw"))
        assert session.damage == () and list(session.verify()) == []


def test_of_many_lines_that_are_no_record_the_first_are_listed_and_all_counted(tmp_path):
    with Session.open(write_session(tmp_path / "a.jsonl", *[b"x"] * 40, *chat("a"))) as session:
        assert (len(session.damage), session.damaged, len(list(session.verify()))) == (16, 40, 40)


def test_a_file_that_was_cut_short_is_told(tmp_path):
    path = write_session(tmp_path / "a.jsonl", *chat("a", "b"))
    with Session.open(path) as session:
        os.truncate(path, os.path.getsize(path) - 9)
        assert session.view("raw")[2] == {}
        assert "cut off" in str(session.damage[0])


def test_a_record_nested_beyond_measure_is_told(tmp_path):
    deep = b'{"uuid":"a","type":"user","x":' + b"[" * 3_000 + b"]" * 3_000 + b"}"
    with Session.open(write_session(tmp_path / "a.jsonl", deep)) as session:
        assert session.messages["a"] == {}
        assert [(each.line, "nested" in str(each)) for each in session.damage] == [(2, True)]


def test_a_whole_file_is_verified(tmp_path):
    with Session.open(write_session(tmp_path / "a.jsonl", *chat("a", "b"))) as session:
        assert list(session.verify()) == []


@pytest.mark.parametrize("line", [b"{torn", b"\0" * 40, b"[]", b'{"a":1}{"b":2}', b'{"a":1} x', b"x\r"])
def test_verifying_tells_every_line_that_is_no_record(tmp_path, line):
    with Session.open(write_session(tmp_path / "a.jsonl", *chat("a"), line, *chat("b"))) as session:
        found = list(session.verify())
        assert places(found) == [(3, len(sealed(HEAD, 1) + sealed(chat("a")[0], 2)) + 2)]


def test_what_reading_makes_good_is_told_when_a_file_is_verified(tmp_path):
    glued = b"\0" * 9 + sealed(chat("a")[0], 2) + sealed(chat("b")[0], 3)
    with Session.open(write_session(tmp_path / "a.jsonl", glued)) as session:
        assert (list(session.messages), session.damaged) == (["a", "b"], 0)
        assert ["more than one record" in str(each) for each in session.verify()] == [True]


@pytest.mark.parametrize("line", [b"", b"  ", b"\r", b' {"a":1} \r'])
def test_verifying_passes_over_blank_lines_and_what_stands_around_a_record(tmp_path, line):
    with Session.open(write_session(tmp_path / "a.jsonl", *chat("a"), line)) as session:
        assert list(session.verify()) == [] and session.damaged == 0


def test_verifying_passes_over_a_mark_of_the_encoding(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + sealed(HEAD, 1) + b"\n")
    with Session.open(path) as session:
        assert list(session.verify()) == []


def test_every_changed_byte_of_a_line_is_found(tmp_path):
    path = write_session(tmp_path / "a.jsonl", *chat("a"))
    whole = (tmp_path / "a.jsonl").read_bytes()
    second = whole.index(b"\n") + 1
    for at in range(second, len(whole) - 1):
        for byte in {whole[at] ^ 1, ord("}")} - {whole[at], ord("\n")}:
            (tmp_path / "a.jsonl").write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
            with Session.open(path) as session:
                assert [each.line for each in session.verify()] == [2], (at, byte)


def test_missing_lines_are_found(tmp_path):
    path = write_session(tmp_path / "a.jsonl", *chat("a", "b", "c", "d"))
    lines = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines[:2] + lines[4:]))
    with Session.open(path) as session:
        found = [(each.line, str(each).partition(".jsonl ")[2]) for each in session.verify()]
        assert found == [
            (3, "has the number 5, and the one before it 2: lines are missing or written twice"),
            (3, "follows c, which is not in the file"),
        ]


def test_entries_that_follow_one_that_is_not_there_are_found_in_file_order(tmp_path):
    rows = [user("a", "lost"), b"{torn", *chat("b", "c", parent="a"), user("d", "gone")]
    with Session.open(write_session(tmp_path / "a.jsonl", *rows)) as session:
        found = list(session.verify())
        assert [(each.line, "follows" in str(each)) for each in found] == [(2, True), (3, False), (6, True)]
        assert [each.offset for each in found] == sorted(each.offset for each in found)
        assert session.log.entries[session.log.at("d")].offset == found[-1].offset


def test_a_compaction_may_follow_what_was_never_written(tmp_path):
    mark = boundary("B", parent="lost", logical="lost")
    with Session.open(write_session(tmp_path / "a.jsonl", *chat("a"), mark, summary("s", "B"))) as session:
        assert list(session.verify()) == []


def test_the_log_of_a_subagent_may_begin_with_what_follows_its_conversation(tmp_path):
    rows = [{"type": "fork-context-ref", "agentId": "x", "parentLastUuid": "p"}, user("a", "p", isSidechain=True)]
    with Session.open(write_session(tmp_path / "agent-x.jsonl", *rows, user("b", "q"))) as session:
        assert [str(each).partition("follows ")[2] for each in session.verify()] == ["q, which is not in the file"]


def test_an_unfinished_last_line_is_found_when_a_file_is_verified(tmp_path):
    path = write_session(tmp_path / "a.jsonl", *chat("a", "b"))
    os.truncate(path, os.path.getsize(path) - 1)
    with Session.open(path) as session:
        assert uuids(session.view("active")) == ["a"]
        assert [(each.line, "not finished" in str(each)) for each in session.verify()] == [(3, True)]


def test_what_is_written_while_a_file_is_verified_is_no_damage(tmp_path):
    path = write_session(tmp_path / "a.jsonl", *chat("a"))
    with Session.open(path) as session:
        with open(path, "ab") as file:
            file.write(b"garbage\n" * 3)
        assert list(session.verify()) == []
