"""A session opened: what it says of itself, and which files hold none."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from rehydrate.session.errors import NewerVersion, NotASession
from rehydrate.session.reading import Session
from tests.entries.making import assistant, boundary, chat, result, summary, system, text, user
from tests.helpers import DATA, dump, write_lines
from tests.session.making import HEAD, sealed, uuids, write_session


def test_an_entry_is_found_by_its_uuid_with_all_its_members(session_of):
    session = session_of(user("a", None, "Hello.", odd={"x": [1]}))
    assert session.messages["a"]["odd"] == {"x": [1]}
    assert "b" not in session.messages
    with pytest.raises(KeyError):
        session.messages["b"]


def test_the_entries_are_in_file_order_each_once(session_of):
    session = session_of({"type": "mode", "mode": "plan"}, *chat("a", "b"), user("a", None, "Again."))
    assert (list(session.messages), len(session.messages)) == (["a", "b"], 2)
    assert session.messages["a"]["message"]["content"] == "Do it."


def test_the_leaf_is_where_the_conversation_ends_and_the_leaves_are_all_ends(session_of):
    session = session_of(*chat("a", "b", "c", "d"), *chat("e", "f", parent="b"))
    assert (session.leaf, session.leaves) == ("f", ("d", "f"))


def test_a_subagent_and_what_was_taken_back_are_no_leaves(session_of):
    rows = [
        *chat("a", "b"),
        user("s", "b", isSidechain=True),
        system("x", "b"),
        {"type": "tombstone", "targetUuid": "x"},
    ]
    assert session_of(*rows).leaves == ("b",)


def test_what_a_compaction_came_after_is_no_leaf_once_its_summary_is_there(session_of):
    rows = [*chat("a", "b"), boundary("c", logical="b")]
    assert "b" in session_of(*rows).leaves
    assert session_of(*rows, summary("d", "c")).leaves == ("d",)


def test_nor_is_it_where_another_compaction_came_after_that_one(session_of):
    rows = [*chat("a", "b"), boundary("c", logical="b", summary="In short."), boundary("d", logical="c")]
    assert session_of(*rows, summary("e", "d")).leaves == ("e",)


def test_the_end_with_the_newest_time_can_be_asked_for(session_of):
    rows = [
        user("a", None),
        assistant("b", "a", timestamp="2026-01-02T00:00:00Z"),
        assistant("c", "a", timestamp="2026-01-01T00:00:00Z"),
    ]
    assert session_of(*rows).latest_leaf == "b"


def test_a_session_says_its_id_and_where_it_is(session_of):
    session = session_of(user("a", None, cwd="/srv/other"), name="x.jsonl")
    assert (session.id, session.cwd, session.agent_id) == ("s-1", "/srv/other", None)


def test_a_file_of_another_writer_is_named_by_its_name(tmp_path):
    path = write_lines(tmp_path / "s-2.jsonl", [user("a", None, cwd="/srv/x"), assistant("b", "a")])
    with Session.open(path) as session:
        assert (session.id, session.cwd) == ("s-2", "/srv/x")


def test_a_subagents_file_is_its_own_conversation(tmp_path):
    rows = [{**each, "isSidechain": True, "sessionId": "s-9"} for each in chat("a", "b")]
    with Session.open(write_lines(tmp_path / "agent-7.jsonl", rows)) as session:
        assert (session.agent_id, session.id, session.leaf) == ("7", "s-9", "b")


def test_of_each_type_of_metadata_the_last_holds_whatever_the_type(session_of):
    rows = [{"type": "mine", "n": n} for n in range(3)]
    session = session_of(rows[0], *chat("a"), *rows[1:])
    assert session.metadata["mine"]["n"] == 2
    assert set(session.metadata) == {"session", "mine"}


def test_metadata_that_is_a_list_comes_in_order(session_of):
    session = session_of(*({"type": "mine", "n": n} for n in range(3)))
    assert [row["n"] for row in session.of_type("mine")] == [0, 1, 2]


def test_replacement_records_are_told(session_of):
    rows = [{"messageUuid": "r", "toolUseId": str(n), "replacement": "x"} for n in range(3)]
    more = {"messageUuid": "r", "toolUseId": "0", "replacement": "y"}
    session = session_of(
        {"type": "content-replacement", "replacements": rows[:2]},
        {"type": "content-replacement", "replacements": [rows[2], more]},
        {"type": "content-replacement", "agentId": "7", "replacements": rows},
    )
    assert [row["replacement"] for row in session.replacements] == ["y", "x", "x"]


def test_folds_are_told(session_of):
    rows = [{"type": "context-collapse-commit", "n": n} for n in range(2)]
    commits, snapshot = session_of(*chat("a"), *rows).collapses
    assert ([row["n"] for row in commits], snapshot) == ([0, 1], None)


def test_the_title_is_what_the_user_called_it_or_what_was_asked(session_of):
    named = {"type": "custom-title", "customTitle": "Mine"}
    assert session_of(*chat("a"), named).title == "Mine"
    assert session_of(user("a", None, "Go."), name="b.jsonl").title == "Go."


def test_opening_decodes_nothing_but_the_first_record(tmp_path, monkeypatch):
    decoded = []
    record = Session.open.__globals__["CheckedLog"].record
    monkeypatch.setattr(
        "rehydrate.session.damage.CheckedLog.record", lambda log, index: decoded.append(index) or record(log, index)
    )
    with Session.open(write_session(tmp_path / "a.jsonl", *chat("a", "b", "c"))):
        assert set(decoded) <= {0}


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"hello\n", b"[1]\n", b'{"step_index":1,"type":"USER_INPUT"}\n', b'{"uuid":"a"}\n'],
    ids=["empty", "blank", "text", "list", "another log", "no type"],
)
def test_what_holds_no_session_is_an_error_with_its_path(tmp_path, content):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(NotASession, match="holds no session") as told:
        Session.open(tmp_path / "a.jsonl")
    assert told.value.path == str(tmp_path / "a.jsonl")


def test_a_session_of_which_only_metadata_was_written_is_one(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", [{"type": "custom-title", "customTitle": "T", "sessionId": "a"}])
    with Session.open(path) as session:
        assert (session.title, session.leaf, list(session.view("active"))) == ("T", None, [])


def test_a_later_format_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(sealed({**HEAD, "format": 2}, 1) + b"\n")
    with pytest.raises(NewerVersion, match="format 2") as told:
        Session.open(path)
    assert (told.value.path, told.value.line, told.value.offset) == (str(path), 1, 0)


@pytest.mark.parametrize("format", ["2", None, [], 0.5])
def test_a_format_that_is_no_number_is_passed_over(tmp_path, format):
    path = write_session(tmp_path / "a.jsonl", {**HEAD, "format": format}, *chat("a"))
    with Session.open(path) as session:
        assert session.leaf == "a"


def test_a_missing_file_and_a_folder_are_errors_of_the_system(tmp_path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(OSError, match=r"."):
            Session.open(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_is_refused_and_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(OSError, match="regular"):
        Session.open(tmp_path / "a.jsonl")


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="the system cannot be asked not to follow a link")
def test_a_link_is_not_followed(tmp_path):
    write_session(tmp_path / "a.jsonl", *chat("a", "b"))
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")
    with pytest.raises(OSError, match=r"b\.jsonl"):
        Session.open(tmp_path / "b.jsonl")


def test_reading_writes_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    write_session(path, *chat("a", "b"))
    path.write_bytes(path.read_bytes() + b'{"type":"user"')
    before = path.read_bytes(), path.stat().st_mtime_ns
    with Session.open(path) as session:
        for kind in ("raw", "scrollback", "active", "wire"):
            session.view(kind).load()
        list(session.verify())
    assert ((path.read_bytes(), path.stat().st_mtime_ns), os.listdir(tmp_path)) == (before, ["a.jsonl"])


@pytest.fixture
def quick_switches():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_several_threads_read_one_session(session_of, monkeypatch, quick_switches):
    monkeypatch.setattr("rehydrate.entries.log.KEPT_RECORDS", 3)
    session = session_of(*chat(*map(str, range(40))))

    def read(first):
        places = [first + 1, (first * 3) % 7 + 1, (first * 5) % 7 + 1] * 250
        assert all(session.log.raw(at).startswith(b'{"parentUuid"') for at in places[:150])
        return all(session.log.record(at)["seq"] == at + 1 for at in places)

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(read, range(6)))


@pytest.mark.parametrize(
    "path", sorted((DATA / "claude-code").glob("*/*-*-*.jsonl")), ids=lambda path: f"{path.parent.name}/{path.stem[:8]}"
)
def test_sessions_of_claude_code_are_read(path):
    with Session.open(path) as session:
        assert session.damage == () and session.leaf in session.leaves
        assert len(session.view("scrollback")) >= len(session.view("active")) > 1
        assert session.view("wire")[0]["role"] == "user"
        assert [dump(record) for record in session.view("raw")] == [
            dump(json.loads(line)) for line in path.read_bytes().splitlines()
        ]


def test_a_compaction_whose_summary_was_not_written_any_more_has_not_happened(session_of):
    session = session_of(*chat("a", "b"), boundary("B", logical="b"))
    assert (session.leaf, uuids(session.view("active"))) == ("b", ["a", "b"])


def test_results_of_an_agents_own_file_are_replaced_by_its_own_records(tmp_path):
    row = {"messageUuid": "r", "toolUseId": "1", "replacement": "short"}
    call = {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}
    rows = [
        user("a", None),
        assistant("b", "a", call),
        result("r", "b", "1", words="long"),
        assistant("c", "r", text(".")),
    ]
    rows.append({"type": "content-replacement", "agentId": "7", "replacements": [row]})
    with Session.open(write_lines(tmp_path / "agent-7.jsonl", rows)) as session:
        assert session.view("active")[2]["message"]["content"][0]["content"] == "short"


def test_a_child_of_a_fork_reads_what_its_parent_reads(tmp_path):
    path = write_session(tmp_path / "s.jsonl", *chat(*(f"e{number}" for number in range(600))))
    with Session.open(path) as session:
        child = os.fork()
        right = all(session.messages[f"e{number}"]["uuid"] == f"e{number}" for _ in range(10) for number in range(600))
        if not child:
            os._exit(0 if right else 1)
        assert (right, os.waitpid(child, 0)[1]) == (True, 0)
