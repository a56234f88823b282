import pytest

from rehydrate.clients.claude_code import kept
from rehydrate.conversation import Agent
from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from rehydrate.entries.view import full_view
from tests.entries.making import assistant, call, chat, result, text, user
from tests.helpers import write_lines


@pytest.fixture
def keep(tmp_path):
    """What is kept of a transcript with these records."""

    def read(*records):
        found = kept.Kept()
        with Log(write_lines(tmp_path / "a.jsonl", records)) as log:
            scope = Scope(log)
            found.add(scope, full_view(scope).entries, segment=0, own=True)
        return found

    return read


def worked(count):
    """A request and so many calls, each with its result."""
    records = chat("a")
    for at in range(count):
        parent = records[-1]["uuid"]
        records.append(assistant(f"b{at}", parent, call(f"t{at}", command="make")))
        records.append(result(f"r{at}", f"b{at}", f"t{at}", words=f"{at} tests failed"))
    return records


def test_what_it_already_has_from_a_younger_file_is_passed_over(tmp_path):
    found = kept.Kept()
    with Log(write_lines(tmp_path / "a.jsonl", chat("a", "b", "c"))) as log:
        found.add(Scope(log), [1, 2], segment=1, own=True)
        found.add(Scope(log), [0, 1], segment=0, own=False)
    assert [(turn.step, turn.segment) for turn in found.turns()] == [("a", 0), ("b", 1), ("c", 1)]


def test_old_results_are_not_looked_at_once_enough_is_noted(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", 25)
    (_, *answers) = keep(*worked(4)).turns()
    assert [each.calls[0].noted for each in answers] == [(), (), (), ("3 tests failed",)]
    assert not any(each.calls[0].pending for each in answers)


def test_an_old_result_that_says_more_is_read_all_the_same(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    blocks = [*result("r", "b", "1")["message"]["content"], text("And go on.")]
    records = [*chat("a"), assistant("b", "a", call("1", command="make")), user("c", "b", blocks)]
    assert [turn.text for turn in keep(*records).turns() if turn.role == "user"] == ["Do it.", "And go on."]


def test_an_old_error_is_told_all_the_same(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    records = [*chat("a"), assistant("b", "a", call("1", command="make")), result("r", "b", "1", error=True)]
    assert keep(*records).turns()[-1].calls[0].failed


def test_an_old_agent_is_told_all_the_same(keep, monkeypatch):
    monkeypatch.setattr(kept, "NOTED_CHARS", -1)
    told = {"isAsync": True, "agentId": "x", "description": "Look"}
    records = [*chat("a"), assistant("b", "a", call("1", "Agent")), result("r", "b", "1", toolUseResult=told)]
    assert keep(*records).agents() == (Agent("Agent", "Look", "x"),)


def test_old_answers_are_not_sifted_once_enough_was(keep, monkeypatch):
    monkeypatch.setattr(kept, "SIFTED_CHARS", 1)
    said = text("We decided to use port 8080 because 80 is taken.")
    turns = keep(user("a", None), assistant("b", "a", said), assistant("c", "b", said)).turns()
    assert [bool(turn.noted) for turn in turns] == [False, False, True]


def test_a_text_that_was_let_go_of_keeps_its_calls(keep, monkeypatch):
    monkeypatch.setattr(kept, "TEXT_CHARS", 5)
    old = assistant("b", "a", text("Making."), call("1", command="make"))
    turns = keep(*chat("a"), old, result("r", "b", "1"), assistant("c", "r", text("Made."))).turns()
    assert [(turn.text, len(turn.calls)) for turn in turns[1:]] == [(None, 1), ("Made.", 0)]
