"""What a session's log writes: which entries, behind which, and when."""

import json
import os
import re

import pytest

from rehydrate import __version__
from rehydrate.entries import messages
from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from rehydrate.entries.view import model_view
from rehydrate.session import Session, SessionLog, assistant, result, user
from rehydrate.session.file import LogFile

from .conftest import SESSION, records, said

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_the_file_begins_with_what_it_is(make_log):
    log = make_log(version="7.1")
    log.append_durable(user("hello"))
    head = records(log.path)[0]
    assert TIME.fullmatch(head.pop("timestamp")) and head.pop("crc")
    assert head == {
        **{"type": "session", "format": 1, "cwd": "/srv/project", "sessionId": SESSION, "version": "7.1", "seq": 1}
    }


def test_a_message_gets_who_when_where_and_what_it_follows(make_log):
    log = make_log(git_branch="main")
    first = log.append(user("hello"))
    log.append_durable(assistant("good day", message={"id": "msg_1"}))
    _, asked, answered = records(log.path)
    assert asked["uuid"] == first and UUID.fullmatch(first) and TIME.fullmatch(asked["timestamp"])
    assert (asked["parentUuid"], answered["parentUuid"]) == (None, first)
    for each in (asked, answered):
        assert (each["sessionId"], each["cwd"], each["version"]) == (SESSION, "/srv/project", __version__)
        assert (each["gitBranch"], each["isSidechain"], "agentId" in each) == ("main", False, False)
    assert answered["message"] == {
        **{"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "good day"}]}
    }


@pytest.mark.parametrize("put", ["append", "append_durable"])
def test_an_entry_appended_alone_is_written_as_one_of_several(make_log, put):
    given = [
        user("asked"),
        assistant("answered"),
        {"type": "attachment", "attachment": {"type": "date"}},
        {"type": "system", "subtype": "note", "content": "noted"},
        {"type": "custom-title", "customTitle": "a title"},
        user("given back", uuid="u-1"),
        user("given twice", uuid="u-1"),
        user("aside", isSidechain=True),
        user("behind it"),
    ]
    log = make_log()
    log.append(user("begun"))
    for each in (given[:1], *given[1:]):
        getattr(log, put)(each)
    log.append(assistant("between"))
    getattr(log, put)([{**each, "uuid": f"{each['uuid']}-2"} if "uuid" in each else each for each in given])
    log.flush()
    rows = records(log.path)[2:]
    name_of = {each["uuid"]: at for at, each in enumerate(rows) if "uuid" in each}
    kept = [{**each, "parentUuid": name_of.get(each.get("parentUuid"), -1)} for each in rows]
    for each in kept:
        for own in ("uuid", "timestamp", "seq", "crc"):
            each.pop(own, None)
    half = len(kept) // 2
    alone, between, several = kept[:half], kept[half], kept[half + 1 :]
    assert between["parentUuid"] == half - 1
    for each in several:
        each["parentUuid"] -= half + 1 if each["parentUuid"] >= 0 else 0
    assert several == alone


def test_what_the_caller_gave_is_kept_and_never_replaced(make_log):
    log = make_log()
    given = {"uuid": "u-1", "cwd": "/elsewhere", "timestamp": "2020", "parentUuid": "gone", "odd": {"a": [None]}}
    log.append_durable(user("hello", **given))
    written = records(log.path)[1]
    assert {name: written[name] for name in given} == given
    assert log.tip == "u-1"


def test_the_number_and_check_of_another_file_are_not_taken_over(make_log):
    log = make_log()
    log.append_durable(user("hello", seq=99, crc="00000000"))
    assert records(log.path)[1]["seq"] == 2


def test_before_the_first_message_there_is_no_file_and_what_was_held_stands_before_it(make_log, place, tmp_path):
    log = make_log()
    log.append({"type": "custom-title", "customTitle": "a title"})
    log.append_durable({"type": "attachment", "attachment": {"type": "date"}})
    log.flush()
    assert not os.path.exists(tmp_path / "root")
    log.append_durable(user("hello"))
    types = [each["type"] for each in records(place.path)]
    assert types == ["session", "custom-title", "attachment", "user"]
    assert records(place.path)[3]["parentUuid"] == records(place.path)[2]["uuid"]


def test_a_session_without_a_message_leaves_nothing(make_log, tmp_path):
    log = make_log()
    log.append({"type": "custom-title", "customTitle": "a title"})
    log.close()
    assert os.listdir(tmp_path) == []


def test_metadata_has_no_uuid_and_is_not_in_the_chain(make_log):
    log = make_log()
    first = log.append(user("hello"))
    assert log.append({"type": "tag", "tag": "x"}) == first
    log.flush()
    tag = records(log.path)[2]
    assert tag.keys() == {"type", "tag", "sessionId", "timestamp", "seq", "crc"}


def test_a_tick_of_progress_is_no_entry(make_log):
    log = make_log()
    first = log.append(user("hello"))
    assert log.append({"type": "progress", "data": {"percent": 10}}) == first
    log.append_durable(assistant("done"))
    assert [each.get("parentUuid", "none") for each in records(log.path)[1:]] == [None, "none", first]
    assert sent(log.path) == ["hello", "done"]


def test_of_a_list_what_is_written_already_is_what_the_next_one_follows(make_log):
    log = make_log()
    old = [user("one", uuid="u-1"), user("two", uuid="u-2"), user("three", uuid="u-3")]
    log.append(old)
    assert log.append_durable([*old[:2], user("another three", uuid="u-4")]) == "u-4"
    assert said(log.path) == ["one", "two", "three", "another three"]
    assert [each["parentUuid"] for each in records(log.path)[1:]] == [None, "u-1", "u-2", "u-2"]


def test_what_was_in_the_file_before_is_not_written_again(make_log):
    make_log().append_durable([user("one", uuid="u-1"), user("two", uuid="u-2")])
    log = make_log()
    assert log.append_durable([user("one", uuid="u-1"), user("three")]) == log.tip
    assert said(log.path) == ["one", "two", "three"]
    assert records(log.path)[3]["parentUuid"] == "u-1"


def test_a_log_of_a_session_goes_on_where_its_conversation_ends(make_log):
    end = make_log().append_durable([user("one"), assistant("two")])
    log = make_log()
    assert log.tip == end
    log.append_durable(user("three"))
    assert records(log.path)[3]["parentUuid"] == end


def test_an_agents_entries_go_to_its_own_file(make_log, place):
    log = make_log()
    first = log.append(user("hello"))
    assert log.append([user("for an agent", agentId="a1"), assistant("from it", agentId="a1")]) == first
    log.append_durable(user("go on"))
    log.flush()
    assert said(log.path) == ["hello", "go on"]
    head, asked, answered = records(place.agent_path("a1"))
    assert (head["agentId"], asked["isSidechain"], asked["agentId"]) == ("a1", True, "a1")
    assert (asked["parentUuid"], answered["parentUuid"]) == (None, asked["uuid"])


def test_an_agents_log_does_not_know_the_uuids_of_the_session(make_log, place):
    log = make_log()
    log.append(user("shared", uuid="u-1"))
    log.append_durable([user("shared", uuid="u-1", agentId="a1"), user("own", agentId="a1")])
    assert said(place.agent_path("a1")) == ["shared", "own"]


def test_a_sidechain_in_the_sessions_own_file_is_apart_from_its_chain(make_log):
    log = make_log()
    first = log.append(user("hello", uuid="u-1"))
    assert log.append([user("aside", uuid="u-1", isSidechain=True), user("more", isSidechain=True)]) == first
    log.append_durable(user("go on"))
    assert [each["parentUuid"] for each in records(log.path)[1:]] == [None, None, "u-1", "u-1"]


def test_after_a_retraction_the_next_entry_follows_what_the_failed_attempt_followed(make_log):
    log = make_log()
    first = log.append(user("hello"))
    failed = log.append(assistant("half an ans"))
    log.retract(failed, reason="overloaded")
    assert log.tip == first
    log.append_durable(assistant("an answer"))
    mark, last = records(log.path)[3:]
    assert (mark["type"], mark["targetUuid"], mark["reason"], "uuid" in mark) == (
        *("tombstone", failed, "overloaded", False),
    )
    assert last["parentUuid"] == first
    assert make_log().tip == last["uuid"]


@pytest.mark.parametrize("which", ["boundary", "summary"])
def test_a_compaction_cannot_be_retracted_but_undone_by_a_request_that_follows_what_came_before(make_log, which):
    log = make_log()
    before = log.append([user("hello"), assistant("hello")])
    uuid = log.compact("They said hello.", trigger="manual")
    tip = log.tip
    with pytest.raises(ValueError, match="cannot be taken back"):
        log.retract(uuid if which == "boundary" else tip)
    assert log.tip == tip
    log.append(user("again", parentUuid=before))
    log.flush()
    assert sent(log.path) == ["hello", "hello", "again"]


def test_what_follows_an_entry_that_is_retracted_stays(make_log):
    log = make_log()
    first, failed, tip = (log.append(user(text)) for text in ("one", "two", "three"))
    log.retract(failed)
    last = log.append_durable(user("four"))
    assert records(log.path)[-1]["parentUuid"] == tip
    with Session.open(log.path) as session:
        assert session.view("active").uuids == session.view("scrollback").uuids == (first, tip, last)


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (2, 1, 3)])
def test_entries_may_be_retracted_one_after_another_in_any_order(make_log, order):
    log = make_log()
    uuids = [log.append(user(text)) for text in ("one", "two", "three", "four")]
    for number in order:
        log.retract(uuids[number])
    assert log.tip == uuids[0]
    last = log.append_durable(user("five"))
    with Session.open(log.path) as session:
        assert session.view("active").uuids == session.view("scrollback").uuids == (uuids[0], last)


def test_a_compaction_whose_summary_was_cut_off_by_a_crash_is_gone_on_with(make_log):
    with make_log() as log:
        log.append([user("one"), assistant("two")])
        kept = log.append(user("three"))
        mark = log.compact("in short", trigger="auto", preserve=[kept])
    with open(log.path, "rb+") as file:
        file.truncate(file.read().index(b'"isCompactSummary"'))
    log = make_log()
    assert log.tip == mark
    last = log.append_durable(user("four"))
    with Session.open(log.path) as session:
        assert session.view("active").uuids == (mark, kept, last)
        (message,) = session.view("wire")
        assert [block["text"] for block in message["content"]] == ["in short", "three", "four"]


def test_a_retraction_that_cannot_be_written_leaves_the_tip(make_log, monkeypatch):
    log = make_log()
    tip = log.append_durable(user("one"))
    monkeypatch.setattr(log, "_append", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        log.retract(tip)
    assert log.tip == tip


def test_what_is_not_there_cannot_be_retracted(make_log):
    log = make_log()
    log.append(user("hello"))
    with pytest.raises(ValueError, match="there is no entry u-9"):
        log.retract("u-9")


def test_an_abort_answers_open_calls_and_marks_the_interruption(make_log):
    log = make_log()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    log.append([user("go"), assistant([{**call, "id": "t0"}, call]), user([result("t0", "done")])])
    end = log.abort("stopped by the user")
    *_, answers, mark = records(log.path)
    (block,) = answers["message"]["content"]
    assert (block["tool_use_id"], block["is_error"]) == ("t1", True)
    assert "stopped by the user" in block["content"] and "not known" in block["content"]
    assert mark["message"]["content"] == [{"type": "text", "text": "[Request interrupted by user]"}]
    assert (mark["parentUuid"], mark["uuid"]) == (answers["uuid"], end)


def test_a_request_that_is_the_interruption_stands_in_the_place_of_the_mark(make_log):
    log = make_log()
    log.append([user("go"), assistant("going")])
    log.abort("new input", request=user("stop that, do this"))
    assert said(log.path)[-1] == "stop that, do this"
    assert len(records(log.path)) == 4


def test_a_compaction_is_a_boundary_and_its_summary_behind_it(make_log):
    log = make_log()
    log.append([user("one", uuid="u-1"), assistant("two", uuid="u-2")])
    uuid = log.compact("both counted", trigger="auto", pre_tokens=9, preserve=["u-1", "u-2"], checkpoint={"c": 1})
    mark, summary = records(log.path)[3:]
    assert (mark["uuid"], mark["parentUuid"], mark["logicalParentUuid"]) == (uuid, None, "u-2")
    assert mark["compactMetadata"] == {
        "trigger": "auto",
        "preTokens": 9,
        "preservedSegment": {"headUuid": "u-1", "anchorUuid": summary["uuid"], "tailUuid": "u-2"},
        "preservedMessages": {"anchorUuid": summary["uuid"], "uuids": ["u-1", "u-2"]},
    }
    assert (mark["checkpoint"], summary["parentUuid"], summary["isCompactSummary"]) == ({"c": 1}, uuid, True)
    assert log.tip == summary["uuid"]


def test_a_compaction_that_is_to_keep_what_is_not_there_is_refused(make_log):
    log = make_log()
    log.append([user("one", uuid="u-1"), assistant("two")])
    with pytest.raises(ValueError, match="u-9"):
        log.compact("both counted", trigger="auto", preserve=["u-1", "u-9"])
    assert said(log.path) == ["one", [{"type": "text", "text": "two"}]]


def test_before_a_compaction_is_written_all_that_it_refers_to_is_on_disk(make_log, monkeypatch):
    log = make_log()
    appended = []
    real = LogFile.append

    def append(self, bodies, *, durable, **more):
        real(self, bodies, durable=durable, **more)
        appended.append((durable, [json.loads(body).get("uuid") for body in bodies]))

    monkeypatch.setattr(LogFile, "append", append)
    log.append([user("one", uuid="u-1")])
    log.flush()
    log.append([assistant("two", uuid="u-2")])
    uuid = log.compact("both counted", trigger="auto")
    assert appended == [(False, ["u-1"]), (True, ["u-2"]), (True, [uuid, log.tip])]


def test_a_snip_names_what_it_takes_out_and_stands_in_the_chain(make_log):
    log = make_log()
    log.append([user("one", uuid="u-1"), assistant("two", uuid="u-2")])
    uuid = log.snip(["u-1"], note="too long")
    log.flush()
    mark = records(log.path)[3]
    assert (mark["uuid"], mark["parentUuid"], mark["removedUuids"]) == (uuid, "u-2", ["u-1"])
    assert (mark["type"], mark["subtype"], log.tip) == ("system", "snip_boundary", uuid)


def test_replacements_are_metadata(make_log):
    log = make_log()
    log.append(user("one"))
    log.replace_content([{"messageUuid": "u", "toolUseId": "t1", "replacement": "less"}])
    log.flush()
    assert records(log.path)[2]["replacements"] == [{"messageUuid": "u", "toolUseId": "t1", "replacement": "less"}]


@pytest.mark.parametrize(
    "entry", [{}, {"type": ""}, {"type": 3}, user("x", uuid=7), user("x", parentUuid=7), user(float("nan"))]
)
def test_of_what_is_no_entry_nothing_is_appended(make_log, entry):
    log = make_log()
    first = log.append(user("hello"))
    with pytest.raises(ValueError):
        log.append_durable([user("before it"), entry])
    assert log.tip == first
    log.flush()
    assert said(log.path) == ["hello"]


def test_of_a_list_of_which_an_agents_entry_is_wrong_nothing_is_appended(make_log, place):
    log = make_log()
    for wrong in (user(float("nan"), agentId="a1"), user("x", agentId="../up"), user("x", agentId=1), "user"):
        with pytest.raises((ValueError, TypeError)):
            log.append_durable([user("before it"), wrong])
    assert not os.path.exists(place.folder + ".jsonl") and log.tip is None


def test_a_session_whose_file_was_removed_is_begun_anew(make_log):
    log = make_log()
    log.append_durable(user("hello"))
    os.unlink(log.path)
    log.append_durable([user("again", uuid="u-1")])
    assert said(log.path) == ["again"]
    os.unlink(log.path)
    log.abort("gone")
    with pytest.raises(ValueError):
        log.retract("u-1")


def test_a_log_of_a_session_whose_end_was_given_up_goes_on_before_that(make_log):
    log = make_log()
    log.append([user("one", uuid="u-1"), assistant("two", uuid="u-2"), assistant("more", uuid="u-3")])
    for uuid in ("u-3", "u-2"):
        log.retract(uuid)
    log.close()
    assert make_log().tip == "u-1"


def test_a_closed_log_takes_nothing(make_log):
    log = make_log()
    log.append(user("hello"))
    log.close()
    assert said(log.path) == ["hello"]
    with pytest.raises(ValueError, match="is closed"):
        log.append(user("more"))


def test_ids_that_are_no_plain_names_are_refused(place):
    for name in ("../up", "a/b", "", "..", "a\0b", "\ud800"):
        with pytest.raises(ValueError):
            SessionLog(place, cwd="/", agent_id=name)
        with pytest.raises(ValueError):
            type(place)(place.root, place.key, name)
        with pytest.raises(ValueError):
            type(place)(place.root, name, SESSION)


def test_an_entry_is_what_it_was_when_it_was_appended(make_log):
    log = make_log()
    entry = user(["one"])
    log.append(entry)
    entry["message"]["content"].append("two")
    log.flush()
    assert json.loads(json.dumps(said(log.path))) == [["one"]]


def sent(path):
    """What a model is sent, as a reader of such files sees it."""
    with Log(path) as log:
        view = model_view(Scope(log))
        return [messages.text_of(log.record(index)) or log.types[index] for index in view.entries]


def test_a_reader_sees_a_compaction_as_the_summary_what_it_preserved_and_what_came_after(make_log):
    log = make_log()
    log.append([user("one"), assistant("two"), user("three", uuid="u-3"), assistant("four", uuid="u-4")])
    log.compact("both counted", trigger="auto", preserve=["u-3", "u-4"])
    log.append_durable([user("five"), assistant("six")])
    assert sent(log.path) == ["system", "both counted", "three", "four", "five", "six"]
    log.compact("all counted", trigger="manual")
    log.append_durable(user("seven"))
    assert sent(log.path) == ["system", "all counted", "seven"]


def test_a_reader_sees_no_open_call_after_an_abort(make_log):
    log = make_log()
    log.append([user("go"), assistant([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}])])
    log.flush()
    assert sent(log.path) == ["go"]
    log.abort("enough")
    assert sent(log.path) == ["go", "assistant", "user", "[Request interrupted by user]"]


def test_a_reader_passes_over_what_was_snipped(make_log):
    log = make_log()
    log.append([user("one"), assistant("two", uuid="u-2"), user("three"), assistant("four")])
    log.snip(["u-2"])
    log.append_durable(user("five"))
    assert sent(log.path) == ["one", "three", "four", "system", "five"]


def test_an_agents_entry_is_taken_after_its_log_was_closed(make_log, place):
    log = make_log()
    log.append(user("hello"))
    with log.sidechain("a1", type="x") as agent:
        agent.append(user("go"))
    log.append({**assistant("late"), "agentId": "a1"})
    log.flush()
    first, second = (each for each in records(place.agent_path("a1")) if "uuid" in each)
    assert second["parentUuid"] == first["uuid"]


def test_a_log_that_could_not_be_closed_takes_entries_of_its_agents(make_log, place, monkeypatch):
    log = make_log(flush_ms=3_600_000)
    log.append([user("hello"), {**user("go"), "agentId": "a1"}])
    with monkeypatch.context() as patch:
        patch.setattr(log._queue, "close", lambda: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(OSError, match="full"):
            log.close()
    log.append({**assistant("late"), "agentId": "a1"})
    log.close()
    assert len(said(place.agent_path("a1"))) == 2


def in_its_place(path, kind, other):
    if kind == "link":
        os.symlink(other, path)
    elif kind == "second name":
        os.link(other, path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        os.mkdir(path)


@pytest.mark.parametrize("kind", ["link", "second name", "fifo", "folder"])
@pytest.mark.parametrize("ending", ["", ".torn"])
def test_nothing_is_written_to_what_is_no_file_of_its_own(make_log, place, tmp_path, kind, ending):
    make_log().append_durable(user("hello"))
    with open(place.path, "ab") as file:
        file.write(b'{"unfinished')
    other = tmp_path / "other"
    other.write_bytes(b"of somebody else")
    if not ending:
        os.remove(place.path)
    in_its_place(place.path + ending, kind, other)
    log = make_log(flush_ms=3_600_000)
    with pytest.raises(OSError) as raised:
        log.append_durable(user("more"))
    assert raised.value.filename == place.path + ending
    assert other.read_bytes() == b"of somebody else"
    (os.rmdir if kind == "folder" else os.remove)(place.path + ending)


def test_what_is_moved_aside_is_for_its_owner_only(make_log, place):
    make_log().append_durable(user("hello"))
    with open(place.path, "ab") as file:
        file.write(b'{"unfinished')
    torn = f"{place.path}.torn"
    with open(torn, "wb"):
        os.chmod(torn, 0o666)
    make_log().append_durable(user("more"))
    assert os.stat(torn).st_mode & 0o777 == 0o600 and os.stat(torn).st_size
