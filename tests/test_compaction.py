"""compaction: what is remembered of a call that went wrong."""

import json
from pathlib import Path

import pytest

from rehydrate import compaction, scan
from rehydrate.conversation import MARKER_HEAD
from rehydrate.deadline import TooLate

from .clients.claude_code.making import Home, Talk, session_id
from .process.home import Recorder

S = session_id(1)


@pytest.fixture
def path(tmp_path):
    talk = Talk(S)
    talk.talk("Fix add.", "Fixed.")
    return Path(Home(tmp_path).write(talk))


def fire(path):
    """What was sent."""
    payload = {"session_id": S, "transcript_path": str(path), "source": "compact"}
    reply = Recorder()
    environ = {"HOME": str(path.parents[3])}
    compaction.answer("claude-code", json.dumps(payload).encode(), number=1, reply=reply, environ=environ)
    return reply.sent


def kept_error(path):
    return json.loads((path.with_suffix("") / "rehydrate" / "plan.json").read_text())["error"]


@pytest.mark.parametrize(
    "error, what", [(RuntimeError("odd"), "RuntimeError: odd"), (TooLate("It took long."), "It took long.")]
)
def test_what_went_wrong_is_kept_with_the_plan_and_goes_with_the_next_delivery(path, monkeypatch, error, what):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(compaction, "serve", fail)
    with pytest.raises(type(error)):
        fire(path)
    assert kept_error(path)["what"] == what
    monkeypatch.undo()
    assert len(fire(path)) == 1
    assert kept_error(path) is None


@pytest.mark.parametrize(
    "text",
    [MARKER_HEAD + " | x]" + "y" * 10_000, MARKER_HEAD + " | x]" + "\N{GRINNING FACE}" * 5_000, "nothing of ours"],
)
def test_a_plan_with_a_value_that_the_client_would_cut_is_made_anew(path, text):
    [made] = fire(path)
    file = path.with_suffix("") / "rehydrate" / "plan.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"parts": [text], "taken": []}))
    assert fire(path) == [made]


def test_a_disk_that_is_full_costs_the_file_and_not_the_value(path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compaction.planning.private, "replace", full)
    [sent] = fire(path)
    assert str(path) in json.loads(sent)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("last", [b"", b"{}", b"{" + b"x" * 100], ids=["nothing", "a tail", "a long tail"])
def test_the_end_of_a_log_is_where_a_scan_of_it_ends(tmp_path, monkeypatch, last):
    monkeypatch.setattr(compaction, "_BACK_BYTES", 4)
    path = tmp_path / "a"
    for count in (0, 1, 2, 40):
        path.write_bytes(b'{"uuid":"a"}\n' * count + last)
        assert compaction._end(str(path)) == scan.scan_tail(path).cursor
