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


# -- compactions, and what they kept --------------------------------------------------------------------------------

TORN = [boundary("B", logical="d", preserved=("s", ["c", "d"]), summary="In short.")]
"""The summary behind it was lost."""


def test_a_compaction_holds_without_the_summary_behind_it(session_of):
    session = session_of(*chat("a", "b", "c", "d"), *TORN)
    view = session.view("active")
    assert (session.leaf, uuids(view), view.boundary, view.preserved) == ("B", ["B", "c", "d"], "B", ("c", "d"))
    assert session.view("wire")[0]["content"][0] == text("In short.")
    assert shown(session, "scrollback") == ["a", "b", "c", "d", "B"]


def test_what_follows_a_compaction_without_a_summary_stands_behind_what_it_kept(session_of):
    session = session_of(*chat("a", "b", "c", "d"), *TORN, *chat("e", "f", parent="B"))
    assert shown(session, "active") == ["B", "c", "d", "e", "f"]
    assert shown(session, "scrollback") == ["a", "b", "c", "d", "B", "e", "f"]


def test_a_summary_that_is_there_is_told_once(session_of):
    session = session_of(*chat("a", "b"), boundary("B", logical="b", summary="In short."), summary("s", "B"))
    assert list(session.view("wire")) == [{"role": "user", "content": "What came before, in short."}]


def test_a_summary_that_was_taken_back_is_not_told_by_the_compaction(session_of):
    rows = [*chat("a", "b"), boundary("B", logical="b", summary="In short."), summary("s", "B")]
    session = session_of(*rows, {"type": "tombstone", "targetUuid": "s"}, user("c", "B"))
    assert list(session.view("wire")) == [{"role": "user", "content": "Do it."}]


def test_a_compaction_of_other_writers_without_a_summary_is_none_yet(session_of):
    session = session_of(*chat("a", "b"), boundary("B", logical="b", preserved=("s", ["b"])))
    assert (session.leaf, shown(session, "active")) == ("b", ["a", "b"])


@pytest.mark.parametrize("at", ["c", "d", "x"])
def test_what_stood_at_an_entry_knows_no_later_compaction_that_kept_it_or_what_it_follows(session_of, at):
    rows = [*chat("a", "b", "c", "d"), user("x", "d"), *chat("y", parent="b")]
    session = session_of(*rows, boundary("B", logical="y", preserved=("s", ["c", "d"])), summary("s", "B"))
    expected = {"c": ["a", "b", "c"], "d": ["a", "b", "c", "d"], "x": ["a", "b", "c", "d", "x"]}[at]
    for kind in ("scrollback", "active"):
        assert shown(session, kind, at=at) == expected
    assert session.view("wire", at=at).uuids == tuple(expected)


def test_a_turn_to_what_follows_an_entry_that_was_kept_has_undone_the_compaction(session_of):
    rows = [*chat("a", "b", "c"), user("x", "c"), boundary("B", logical="c", preserved=("s", ["c"])), summary("s", "B")]
    session = session_of(*rows, user("d", "x"))
    for kind in ("scrollback", "active"):
        assert shown(session, kind) == ["a", "b", "c", "x", "d"]


def test_a_turn_to_what_an_older_compaction_kept_undoes_the_newer_alone(session_of):
    older = [*chat("a", "b"), boundary("B", logical="b", preserved=("s", ["b"])), summary("s", "B")]
    newer = [*chat("c", "d", parent="s"), boundary("C", logical="d", preserved=("t", ["d"])), summary("t", "C")]
    session = session_of(*older, *newer, user("e", "b"))
    assert shown(session, "scrollback") == ["a", "b", "B", "s", "e"]
    assert shown(session, "active") == ["B", "s", "b", "e"]


def test_what_leads_past_a_compaction_stands_behind_what_that_kept(session_of):
    rows = [*chat("a", "b"), boundary("B", logical="b", preserved=("s", ["b"])), summary("s", "B")]
    session = session_of(*rows, assistant("x", "a"), user("c", "x"))
    view = session.view("active")
    assert (uuids(view), [(gap.uuid, gap.why) for gap in view.gaps]) == (["B", "s", "b", "x", "c"], [("x", "bypass")])
    assert shown(session, "scrollback") == ["a", "b", "B", "s", "x", "c"]


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


def test_a_view_that_ends_with_a_summary_holds_what_the_compaction_kept(session_of):
    session = session_of(*COMPACTED)
    assert shown(session, "active", at="s") == ["B", "s", "c", "d"]
