"""The end of a file, read as if it were all of it."""

import json
from pathlib import Path

import pytest

from rehydrate.entries.ends import leaf
from rehydrate.session import NotASession, user, window
from rehydrate.session.window import LedOut, WindowScope, from_the_end, line_start, marks_since
from tests.entries import making
from tests.session.making import write_session


def mark(uuid, logical, **more):
    return making.boundary(uuid, logical=logical, summary="in short", **more)


def rows(*, checkpoint=True):
    more = {"checkpoint": {}} if checkpoint else {}
    return [
        *making.chat("u1", "a1", "u2", "a2"),
        *[{"type": "long", "text": "x" * 10_000}] * 20,
        mark("b1", "a2", **more),
        making.summary("s1", "b1"),
        *making.chat("u3", "a3", parent="s1"),
    ]


def starts(path, asked):
    """Where reading began each time that it was asked."""
    found = []

    def ask(session, start):
        found.append(start)
        return asked(session, start)

    return from_the_end(path, ask), found


def test_only_the_end_is_read_from_the_newest_checkpoint_on(tmp_path):
    path = write_session(tmp_path / "s.jsonl", *rows())
    uuids, found = starts(path, lambda session, _: [each.uuid for each in session.log.entries])
    assert [uuid for uuid in uuids if uuid] == ["b1", "s1", "u3", "a3"]
    assert len(found) == 1 and found[0] > 100_000


def test_more_is_read_as_long_as_that_does_not_do_and_at_last_all(tmp_path, monkeypatch):
    monkeypatch.setattr(window, "MARGIN_BYTES", 1)
    path = write_session(tmp_path / "s.jsonl", *rows())

    def ask(session, start):
        if start:
            raise LedOut
        return len(session.log)

    count, found = starts(path, ask)
    assert count == 29 and found == sorted(found, reverse=True) and len(found) > 2 and found[-1] == 0


def test_without_a_checkpoint_all_is_read(tmp_path):
    assert starts(write_session(tmp_path / "s.jsonl", *rows(checkpoint=False)), lambda _, start: start) == (0, [0])


def test_what_is_no_session_or_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        from_the_end(str(tmp_path / "none.jsonl"), lambda *_: None)
    (tmp_path / "other.jsonl").write_text('{"type":"x"}\n')
    with pytest.raises(NotASession):
        from_the_end(str(tmp_path / "other.jsonl"), lambda *_: None)


def in_window(path, word, ask):
    start = Path(path).read_bytes().index(word)
    with window._open(path, line_start(path, start)) as session:
        assert isinstance(session.scope, WindowScope)
        return ask(session)


def test_an_entry_that_leads_out_of_it_says_so(tmp_path):
    path = write_session(tmp_path / "s.jsonl", *making.chat("u1", "a1", "u2", "a2"))
    with pytest.raises(LedOut):
        in_window(path, b'"uuid":"a1"', lambda session: session.scope.parent(0))
    assert in_window(path, b'"uuid":"a1"', lambda session: session.scope.parent(1)) == 0


def test_so_does_an_end_that_is_not_in_it(tmp_path):
    path = write_session(tmp_path / "s.jsonl", *making.chat("u1", "a1"), *[{"type": "cost", "n": 1}] * 3)
    with pytest.raises(LedOut):
        in_window(path, b'"type":"cost"', lambda session: leaf(session.scope))


def test_so_does_what_only_the_beginning_of_a_file_tells(tmp_path):
    path = write_session(tmp_path / "s.jsonl", *making.chat("u1", "a1"), making.user("u2", "a1", teamName="t"))
    with pytest.raises(LedOut):
        in_window(path, b'"uuid":"a1"', lambda session: session.scope.is_aside(1))


def test_a_file_that_has_become_shorter_leads_out(tmp_path):
    path = write_session(tmp_path / "s.jsonl", user("x"))
    with pytest.raises(LedOut):
        window._open(path, 10_000)


def test_compactions_are_found_from_the_end_whatever_texts_say(tmp_path):
    quoted = json.dumps({"subtype": "compact_boundary"}, separators=(",", ":"))
    nested = making.assistant("a1", "u1", making.call("c1", subtype="compact_boundary"))
    path = write_session(
        tmp_path / "s.jsonl",
        *[
            mark("b1", None),
            making.user("u1", "b1", quoted),
            nested,
            mark("b2", "a1"),
            making.user("u2", "b2", "x" * 300_000),
        ],
        *[mark("b3", "u2"), b'{broken "subtype":"compact_boundary"', making.user("u3", "b3")],
    )
    assert [found["uuid"] for _, found in marks_since(path, None)] == ["b3", "b2", "b1"]
    assert [found["uuid"] for _, found in marks_since(path, "b1")] == ["b3", "b2"]
    data = Path(path).read_bytes()
    assert all(data[at:].startswith(b'{"parentUuid"') for at, _ in marks_since(path, None))
