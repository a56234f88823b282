import pytest

from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from rehydrate.entries.turns import interruption, usage, waiting
from rehydrate.entries.view import full_view, model_view
from tests.entries.making import assistant, attachment, call, chat, meta, result, summary, system, text, user
from tests.helpers import DATA


def state_of(scope):
    return interruption(scope.log, full_view(scope).entries)


ANSWERED = [user("a", None), assistant("b", "a", call("1"))]
SENT = [user("a", None), assistant("b", "a", call("1", "SendUserMessage"))]
FAILED = assistant("c", "a", text("API Error"), isApiErrorMessage=True)


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([], "none"),
        (chat("a", "b"), "none"),
        (chat("a", "b", "c"), "prompt"),
        ([*ANSWERED, result("r", "b", "1")], "turn"),
        ([*SENT, result("r", "b", "1")], "none"),
        (ANSWERED, "turn"),
        ([*ANSWERED, assistant("c", "b", text("Hm."), id="msg-b")], "turn"),
        ([*ANSWERED, result("r", "b", "1"), assistant("c", "r")], "none"),
        ([*ANSWERED, *chat("c", "d", parent="b")], "none"),
        (SENT, "none"),
        ([*chat("a", "b", "c"), attachment("d", "c", "file")], "turn"),
        ([*chat("a", "b"), attachment("d", "b", "prompt_snapshot")], "none"),
        ([*chat("a", "b"), attachment("d", "b", ["file"])], "turn"),
        ([*chat("a"), system("s", "a")], "prompt"),
        ([*chat("a"), FAILED], "prompt"),
        ([*chat("a", "b"), meta("m", "b")], "none"),
        ([*chat("a", "b"), summary("s", "b")], "none"),
        ([*chat("a", "b"), user("c", "b", "<command-name>/x</command-name>")], "none"),
        ([*chat("a", "b", "c"), user("d", "c", "[Request interrupted by user]")], "none"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_how_the_last_turn_stands(scope_of, records, state):
    assert state_of(scope_of(*records)) == state


def test_a_call_without_a_result_waits(scope_of):
    scope = scope_of(*chat("a"), assistant("b", "a", call("1", "Read"), call("2", "Edit")), result("r", "b", "1"))
    assert [each.name for each in waiting(scope.log, full_view(scope).entries)] == ["Edit"]


def test_usage_counts_an_answer_once_by_its_last_record(scope_of):
    records = [
        assistant("b", "a", text("1"), id="m", usage={"input_tokens": 10, "output_tokens": 1}),
        assistant("c", "b", text("2"), id="m", usage={"input_tokens": 10, "output_tokens": 7}),
        assistant("d", "c", text("3"), usage={"input_tokens": 5, "output_tokens": "x", "cache_read_input_tokens": -3}),
    ]
    scope = scope_of(*chat("a"), *records)
    assert usage(scope.log, full_view(scope).entries) == {
        "input_tokens": 15,
        "output_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def test_usage_of_what_a_compaction_kept_counts_as_nothing():
    (path,) = (DATA / "claude-code" / "auto-compact").glob("a*.jsonl")
    with Log(str(path)) as log:
        view = model_view(Scope(log))
        assert usage(log, view.entries)["cache_read_input_tokens"] == 75_000
        assert usage(log, view.entries, free=view.preserved)["cache_read_input_tokens"] == 0


@pytest.mark.parametrize("case", ["plain", "tools", "parallel", "resume", "subagent", "interrupted-sigint"])
def test_a_real_conversation_that_came_to_its_end_was_not_interrupted(case):
    (path,) = [each for each in (DATA / "claude-code" / case).glob("*.jsonl") if each.name != "hooks.jsonl"]
    with Log(str(path)) as log:
        assert interruption(log, full_view(Scope(log)).entries) == "none"
