"""The views of a session: raw, scrollback, active; where they end, and what they leave out."""

import pytest

from rehydrate.entries import log
from rehydrate.session.reading import Session
from tests.entries.making import assistant, boundary, call, chat, result, summary, system, text, user
from tests.session.making import uuids, write_session

SNIP = system("x", "c", "snip_boundary", removedUuids=["b"])
COMPACTED = [
    *chat("a", "b", "c", "d"),
    boundary("B", logical="d", preserved=("s", ["c", "d"])),
    summary("s", "B"),
    *chat("e", "f", parent="s"),
]


def shown(session, kind, **more):
    return uuids(session.view(kind, **more))


def test_raw_is_every_record_as_it_stands(session_of):
    session = session_of({"type": "mode"}, *chat("a"), user("a", None), {"type": "tombstone", "targetUuid": "a"})
    assert shown(session, "raw") == [None, None, "a", "a", None]
    assert session.view("raw")[1]["seq"] == 2


def test_scrollback_goes_past_compactions_and_active_begins_at_the_newest(session_of):
    session = session_of(*COMPACTED)
    assert shown(session, "scrollback") == ["a", "b", "c", "d", "B", "s", "e", "f"]
    view = session.view("active")
    assert (uuids(view), view.boundary, view.preserved) == (["B", "s", "c", "d", "e", "f"], "B", ("c", "d"))
    assert view.uuids == tuple(uuids(view))


def test_scrollback_shows_what_was_taken_out_and_active_does_not(session_of):
    session = session_of(*chat("a", "b", "c"), SNIP, user("d", "x"))
    assert shown(session, "scrollback") == ["a", "b", "c", "x", "d"]
    view = session.view("active")
    assert (uuids(view), view.left_out) == (["a", "c", "x", "d"], (("b", "taken out"),))


@pytest.mark.parametrize("kind", ["scrollback", "active", "wire"])
def test_what_was_taken_back_is_only_in_raw(session_of, kind):
    session = session_of(*chat("a", "b", "c"), {"type": "tombstone", "targetUuid": "b"})
    assert (session.view(kind).uuids, session.view(kind).left_out) == (("a", "c"), (("b", "taken back"),))
    assert "b" in shown(session, "raw")


def test_active_has_the_replacement_and_scrollback_what_was_there(session_of):
    row = {"messageUuid": "r", "toolUseId": "1", "replacement": "short"}
    rows = [*chat("a"), assistant("b", "a", call("1")), result("r", "b", "1", words="long"), user("c", "r")]
    session = session_of(*rows, {"type": "content-replacement", "replacements": [row]})
    contents = [session.view(kind)[2]["message"]["content"][0]["content"] for kind in ("active", "scrollback")]
    assert contents == ["short", "long"]


def test_active_drops_the_payload_beside_a_message(session_of):
    session = session_of(*chat("a", "b"), user("c", "b", toolUseResult={"stdout": "x" * 99}))
    assert ["toolUseResult" in session.view(kind)[2] for kind in ("active", "scrollback")] == [False, True]


def test_active_keeps_a_call_without_a_result_and_wire_tells_that_it_does_not(session_of):
    session = session_of(*chat("a"), assistant("b", "a", call("1")))
    assert shown(session, "active") == ["a", "b"]
    assert session.view("wire").left_out == (("b", "call without a result"),)


def test_a_gap_is_told_by_uuid(session_of):
    view = session_of(*chat("a", "b"), user("c", "lost")).view("active")
    assert (uuids(view), [(gap.uuid, gap.why) for gap in view.gaps]) == (["a", "b", "c"], [("c", "missing")])


def test_a_slice_of_a_view_is_a_list_of_records(session_of):
    view = session_of(*chat("a", "b", "c")).view("active")
    assert (uuids(view[1:]), view[-1]["uuid"], len(view)) == (["b", "c"], "c", 3)
    with pytest.raises(IndexError):
        view[3]


def test_an_unknown_kind_is_refused(session_of):
    with pytest.raises(ValueError, match="sideways"):
        session_of(*chat("a")).view("sideways")


# -- where a view ends ----------------------------------------------------------------------------------------------


def test_a_view_ends_at_an_entry(session_of):
    session = session_of(*chat("a", "b", "c", "d"))
    for kind in ("scrollback", "active"):
        assert shown(session, kind, at="b") == ["a", "b"]
    assert shown(session, "raw", at="b") == [None, "a", "b"]


def test_a_view_ends_at_the_last_record_of_an_answer(session_of):
    rows = [*chat("a"), assistant("b", "a", text("1"), id="m"), assistant("c", "b", text("2"), id="m"), user("d", "c")]
    session = session_of(*rows)
    assert (shown(session, "active", at="m"), shown(session, "active", at="b")) == (["a", "b", "c"], ["a", "b"])


def test_an_answer_ends_with_what_of_it_was_not_taken_back(session_of):
    rows = [*chat("a"), assistant("b", "a", text("1"), id="m"), assistant("c", "b", text("2"), id="m"), user("d", "b")]
    session = session_of(*rows, {"type": "tombstone", "targetUuid": "c"})
    assert session.view("active", at="m").uuids == ("a", "b") and session.place_of("m") == session.place_of("b")


def test_a_view_that_ends_at_an_answer_holds_no_results_of_its_calls(session_of):
    rows = [*chat("a"), assistant("b", "a", text("Hm."), call("1"), id="m"), result("r", "b", "1"), user("c", "r")]
    session = session_of(*rows)
    assert shown(session, "active", at="m") == ["a", "b"]
    assert list(session.view("wire", at="m")) == [
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "content": [text("Hm.")]},
    ]


def test_a_view_that_ends_before_a_compaction_does_not_know_it(session_of):
    view = session_of(*COMPACTED).view("active", at="b")
    assert (uuids(view), view.boundary) == (["a", "b"], None)


def test_a_view_may_end_on_a_branch_that_was_left(session_of):
    session = session_of(*chat("a", "b", "c", "d"), *chat("e", "f", parent="b"))
    assert shown(session, "active", at="d") == ["a", "b", "c", "d"]


@pytest.mark.parametrize("at", ["lost", "", "é\ud800", "t", "s"])
def test_a_view_that_is_to_end_nowhere_is_an_error(session_of, at):
    session = session_of(*chat("a", "b"), user("s", "a", isSidechain=True), {"type": "mode", "uuid": "t"})
    with pytest.raises(LookupError, match="holds no entry"):
        session.view("active", at=at)


def test_an_answer_is_found_whatever_its_id_is_made_of(session_of):
    session = session_of(*chat("a"), assistant("b", "a", id='é"\n'), user("c", "b"))
    assert shown(session, "active", at='é"\n') == ["a", "b"]


# -- cost -----------------------------------------------------------------------------------------------------------


def test_what_a_view_leaves_out_is_not_decoded(session_of):
    session = session_of(*chat("a", "b"), *COMPACTED[:6], {"type": "file-history-snapshot"}, *chat("g", parent="s"))
    decoded = set()
    record = session.log.record
    session.log.record = lambda index: decoded.add(session.log.entries[index].uuid) or record(index)
    view = session.view("active")
    list(view)
    assert decoded <= {"B", *view.uuids}


def test_for_a_provider_each_record_is_decoded_once(session_of, monkeypatch):
    monkeypatch.setattr("rehydrate.entries.log.KEPT_RECORDS", 1)
    session = session_of(*chat("a", "b"), *COMPACTED, *chat("g", "h", "i", parent="f"))
    decode, decoded = log._decoded, []
    monkeypatch.setattr("rehydrate.entries.log._decoded", lambda *given: decoded.append(given[1]) or decode(*given))
    view = session.view("wire")
    assert [decoded.count(session.log.entries[session.log.at(uuid)].offset) for uuid in view.uuids[2:]] == [1] * 7
    assert session.log._kept == {}


def test_a_loaded_view_outlives_its_session(tmp_path):
    with Session.open(write_session(tmp_path / "a.jsonl", *chat("a", "b"))) as session:
        view = session.view("active")
        loaded = view.load()
    assert (uuids(loaded), loaded.uuids, loaded.kind) == (["a", "b"], ("a", "b"), "active")
