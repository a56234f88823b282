import pytest

from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from rehydrate.entries.view import account, full_view, given, model_view, sent
from tests.entries.making import (
    assistant,
    attachment,
    boundary,
    call,
    chat,
    names,
    result,
    summary,
    system,
    text,
    thought,
    user,
)
from tests.helpers import DATA


def left_out(scope, view):
    return {scope.log.entries[index].uuid: why for index, why in view.left_out}


def spoken(scope, view):
    """What is said in a view, a line each."""
    lines = []
    for record in sent(scope, view, folder="results"):
        content = record["message"]["content"]
        for block in [text(content)] if isinstance(content, str) else content:
            lines.append(block.get("text") or block.get("name") or block["type"])
    return lines


def test_the_models_view_begins_at_the_newest_compaction(scope_of):
    first = [*chat("a"), boundary("B", logical="a"), summary("s", "B"), *chat("b", parent="s")]
    scope = scope_of(*first, boundary("C", logical="b"), summary("t", "C"), user("c", "t"))
    view = model_view(scope)
    assert (names(scope, view.entries), names(scope, [view.boundary, view.summary])) == (["C", "t", "c"], ["C", "t"])


def test_the_full_view_goes_past_every_compaction(scope_of):
    first = [*chat("a"), boundary("B", logical="a"), summary("s", "B"), *chat("b", parent="s")]
    scope = scope_of(*first, boundary("C", logical="b"), summary("t", "C"), user("c", "t"))
    view = full_view(scope)
    assert names(scope, view.entries) == ["a", "B", "s", "b", "C", "t", "c"]
    assert names(scope, view.compactions) == ["B", "C"]


def test_what_a_compaction_kept_is_in_the_view_before_anything_follows_it(scope_of):
    scope = scope_of(*chat("a", "b"), boundary("B", logical="b", preserved=("s", ["a", "b"])), summary("s", "B"))
    assert names(scope, model_view(scope).entries) == ["B", "s", "a", "b"]


def test_a_compaction_on_a_branch_that_was_left_is_void(scope_of):
    scope = scope_of(*chat("a", "b", "c"), boundary("B"), summary("s", "B"), *chat("d", "e", parent="b"))
    assert (names(scope, model_view(scope).entries), model_view(scope).boundary) == (["a", "b", "d", "e"], None)


def test_with_the_newest_compaction_void_the_one_before_it_holds(scope_of):
    kept = boundary("B", preserved=("s", ["a"]))
    scope = scope_of(
        *chat("a"),
        kept,
        summary("s", "B"),
        *chat("b", "c", parent="s"),
        boundary("C"),
        summary("t", "C"),
        user("d", "b"),
    )
    assert names(scope, model_view(scope).entries) == ["B", "s", "a", "b", "d"]


def test_a_summary_may_come_behind_what_the_client_attached(scope_of):
    scope = scope_of(*chat("a"), boundary("B"), system("x", "B"), summary("s", "x"))
    assert names(scope, [model_view(scope).summary]) == ["s"]


def test_what_was_taken_out_of_the_middle_is_in_no_view(scope_of):
    snip = system("x", "c", "snip_boundary", snipMetadata={"removedUuids": ["b", 7, "lost"]})
    scope = scope_of(*chat("a", "b", "c"), snip, user("d", "x"))
    for view in (full_view(scope), model_view(scope)):
        assert names(scope, view.entries) == ["a", "c", "x", "d"]
        assert left_out(scope, view) == {"b": "taken out"}


def test_what_was_taken_out_does_not_come_back_beside_its_answer(scope_of):
    answer = [assistant("b", "a", call("1"), id="m"), assistant("c", "b", call("2"), id="m")]
    results = [result("r", "b", "1"), result("s", "c", "2")]
    snip = system("x", "s", "snip_boundary", snipMetadata={"removedUuids": ["r"]})
    scope = scope_of(*chat("a"), *answer, *results, snip, user("d", "x"))
    view = full_view(scope)
    assert names(scope, view.entries) == ["a", "b", "c", "s", "x", "d"]
    assert left_out(scope, view) == {"r": "taken out"}


def test_a_call_without_a_result_is_not_sent(scope_of):
    scope = scope_of(*chat("a"), assistant("b", "a", call("1")), user("c", "b"))
    assert left_out(scope, model_view(scope)) == {"b": "call without a result"}
    assert names(scope, full_view(scope).entries) == ["a", "b", "c"]


def test_what_was_said_beside_a_call_without_a_result_is_sent(scope_of):
    scope = scope_of(*chat("a"), assistant("b", "a", thought(), text("So."), call("1")), user("c", "b"))
    assert left_out(scope, model_view(scope)) == {}


@pytest.mark.parametrize("blocks", [[text("")], [text(" \n")]])
def test_an_empty_answer_is_not_sent(scope_of, blocks):
    scope = scope_of(*chat("a"), assistant("b", "a", *blocks), user("c", "b"))
    assert left_out(scope, model_view(scope)) == {"b": "empty"}


def test_thoughts_that_led_to_nothing_are_not_sent(scope_of):
    scope = scope_of(*chat("a"), assistant("b", "a", thought()), user("c", "b"))
    assert left_out(scope, model_view(scope)) == {"b": "only thoughts"}


def test_thoughts_before_an_answer_are_sent(scope_of):
    scope = scope_of(*chat("a"), assistant("b", "a", thought(), id="m"), assistant("c", "b", text("Yes."), id="m"))
    assert left_out(scope, model_view(scope)) == {}


def test_a_report_of_a_failed_request_is_not_sent(scope_of):
    failed = assistant("b", "a", text("API Error: 529"), isApiErrorMessage=True)
    scope = scope_of(*chat("a"), failed, user("c", "b"))
    assert left_out(scope, model_view(scope)) == {"b": "failed request"}


def test_what_was_put_in_the_place_of_a_result_is_sent(scope_of):
    row = {"messageUuid": "r", "toolUseId": "1", "blockIndex": 0, "kind": "x", "replacement": "short"}
    swap = {"type": "content-replacement", "replacements": [row]}
    scope = scope_of(*chat("a"), assistant("b", "a", call("1")), result("r", "b", "1", words="long"), swap)
    *_, last = sent(scope, model_view(scope), folder="results")
    assert last["message"]["content"][0]["content"] == "short"


def test_what_a_command_printed_beside_the_conversation_is_not_sent(scope_of):
    printed = system("b", "a", "local_command", content="<local-command-stdout>ok</local-command-stdout>")
    scope = scope_of(*chat("a"), printed, system("c", "b"))
    assert spoken(scope, model_view(scope)) == ["Do it."]


def test_what_the_user_asked_during_a_turn_is_sent(scope_of):
    queued = attachment("b", "a", "queued_command", prompt="And that.")
    noted = attachment("c", "b", "file") | {"message": {"role": "user", "content": "A note."}}
    scope = scope_of(*chat("a"), queued, noted, attachment("d", "c", "date", prompt="x"))
    assert spoken(scope, model_view(scope)) == ["Do it.", "And that.", "A note."]


def test_every_record_is_accounted_for(scope_of):
    rows = [{"type": "mode"}, {"parentUuid": "b", "type": "progress", "uuid": "p"}, user("a", None)]
    scope = scope_of(*chat("a", "b"), *rows, user("x", "b"), user("c", "p"))
    assert account(scope, full_view(scope)) == {
        "in view": 3,
        "metadata": 1,
        "progress": 1,
        "written twice": 1,
        "another branch": 1,
    }


def test_history_before_the_compaction_is_not_decoded_for_the_models_view(scope_of):
    scope = scope_of(
        *chat("a", "b", "c", "d"), boundary("B", logical="d"), summary("s", "B"), *chat("e", "f", parent="s")
    )
    decoded = set()
    record = scope.log.record
    scope.log.record = lambda index: decoded.add(index) or record(index)
    model_view(scope)
    assert min(decoded) == scope.at("B")


def test_what_a_subagent_was_given_is_found_in_its_parent(scope_of):
    ref = {"type": "fork-context-ref", "agentId": "x", "parentLastUuid": "b"}
    parent, agent = scope_of(*chat("a", "b", "c")), scope_of(ref, user("s", None, isSidechain=True), agent=True)
    assert names(parent, given(agent, parent).entries) == ["a", "b"]


def test_a_subagent_that_does_not_say_so_was_given_nothing(scope_of):
    parent, agent = scope_of(*chat("a", "b", "c")), scope_of(user("s", None, isSidechain=True), agent=True)
    assert given(agent, parent).entries == ()


REAL = {
    "auto-compact": [
        "Summary of the conversation so far, by the rig's fake model.",
        "That used a lot of context.",
        "And on. RIG:two",
        "Second answer.",
        "And on again. RIG:three",
        "Third answer.",
    ],
    "interrupted-sigint": [
        "Talk slowly. RIG:slow",
        "word ",
        "[Request interrupted by user]",
        "No response requested.",
        "Go on. RIG:two",
        "Second answer.",
    ],
    "parallel": [
        *("Read everything. RIG:parallel", "Reading three things at once.", "Read", "Read", "Bash"),
        *("tool_result", "tool_result", "tool_result", "Bash", "Read", "tool_result", "tool_result", "All read."),
    ],
    "resume": [
        *("Say hello. RIG:plain", "thinking", "Hello from the rig. The answer is 42."),
        *("More. RIG:two", "Second answer.", "More. RIG:three", "Third answer."),
    ],
}


@pytest.mark.parametrize("case", REAL)
def test_the_models_view_of_a_real_conversation(case):
    (path,) = [each for each in (DATA / "claude-code" / case).glob("*.jsonl") if each.name != "hooks.jsonl"]
    with Log(str(path)) as log:
        scope = Scope(log)
        said = [line.split("\n")[0] for line in spoken(scope, model_view(scope))]
    assert [line[: len(want)] for line, want in zip(said, REAL[case], strict=True)] == REAL[case]


def test_after_a_manual_compaction_the_command_follows_what_was_kept():
    (path,) = (DATA / "claude-code" / "manual-compact").glob("7*.jsonl")
    with Log(str(path)) as log:
        scope = Scope(log)
        heads = [line[:20] for line in spoken(scope, model_view(scope))]
    assert heads == [
        *("Summary of the conve", "Fixed: `add` now add", "<local-command-cavea", "<command-name>/compa"),
        *("<local-command-stdou", "Go on. RIG:two", "Second answer."),
    ]
