import pytest

from rehydrate.entries.metadata import collapses, metadata, replaced, replacements, title
from rehydrate.entries.view import full_view
from tests.entries.making import boundary, chat, meta, result, summary, user


def titled(scope):
    return title(scope, full_view(scope).entries)


TITLES = [
    {"type": "custom-title", "customTitle": "Mine"},
    {"type": "ai-title", "aiTitle": "Its"},
    {"type": "last-prompt", "lastPrompt": "Last"},
    {"type": "summary", "summary": "Sum", "leafUuid": "a"},
]


@pytest.mark.parametrize("count", range(4))
def test_a_title_by_rank(scope_of, count):
    rows = TITLES[count:]
    assert titled(scope_of(*chat("a"), *reversed(rows))) == ["Mine", "Its", "Last", "Sum"][count]


def test_the_last_of_several_titles_holds(scope_of):
    rows = [{"type": "custom-title", "customTitle": name} for name in ("One", "Two")]
    assert titled(scope_of(*chat("a"), *rows)) == "Two"


def test_a_title_before_a_compaction_still_counts(scope_of):
    assert titled(scope_of(TITLES[0], *chat("a"), boundary("B"), summary("s", "B"))) == "Mine"


@pytest.mark.parametrize("row", [{"type": "ai-title", "aiTitle": 3}, {"type": "ai-title"}, {"type": "tag"}])
def test_without_a_title_it_is_the_first_request(scope_of, row):
    command = user("b", "m", "<command-name>/x</command-name>")
    records = [meta("m", None), command, user("c", "b", "[Request interrupted by user]"), user("d", "c", "Go.")]
    assert titled(scope_of(row, *records)) == "Go."


def test_a_summary_of_another_conversation_is_no_title(scope_of):
    assert titled(scope_of({"type": "summary", "summary": "Other", "leafUuid": "x"}, *chat("a"))) == "Do it."


def test_a_command_is_no_title(scope_of):
    last = {"type": "last-prompt", "lastPrompt": "<command-name>/compact</command-name>"}
    assert titled(scope_of(*chat("a"), last)) == "Do it."


def test_without_anything_it_is_empty(scope_of):
    assert titled(scope_of()) == ""


def test_the_last_of_each_lasting_kind_is_told(scope_of):
    rows = [{"type": "mode", "mode": "plan"}, {"type": "mode", "mode": "normal"}, {"type": "file-history-snapshot"}]
    assert metadata(scope_of(*rows)) == {"mode": {"type": "mode", "mode": "normal"}}


def swap(*rows, **more):
    return {"type": "content-replacement", "replacements": list(rows), **more}


ROW = {"messageUuid": "r", "toolUseId": "1", "blockIndex": 0, "kind": "persisted"}


def test_where_no_substitute_is_stored_the_file_is_named(scope_of):
    known = replacements(scope_of(swap(ROW)))
    (block,) = replaced(result("r", "b", "1"), known, folder="s/tool-results")["message"]["content"]
    assert "s/tool-results/1.txt" in block["content"]


def test_a_replacement_of_a_subagent_is_its_own(scope_of):
    scope = scope_of(swap(ROW, agentId="x"))
    assert (len(replacements(scope)), len(replacements(scope, agent_id="x"))) == (0, 1)


@pytest.mark.parametrize("rows", [None, 3, [None, 3, {}, {"toolUseId": 3}]])
def test_replacements_of_any_shape_are_read(scope_of, rows):
    assert replacements(scope_of({"type": "content-replacement", "replacements": rows})) == {}


def test_a_record_without_a_replacement_stays_itself(scope_of):
    record = result("x", "b", "9")
    assert replaced(record, replacements(scope_of(swap(ROW))), folder="f") == record


def test_folds_are_told_in_order_and_void_before_a_compaction(scope_of):
    rows = [{"type": "context-collapse-commit", "n": n} for n in range(3)]
    shots = [{"type": "context-collapse-snapshot", "n": n} for n in range(2)]
    scope = scope_of(rows[0], *shots, boundary("B"), *rows[1:])
    assert collapses(scope, boundary=None) == (rows, shots[1])
    assert collapses(scope, boundary=scope.at("B")) == (rows[1:], None)
