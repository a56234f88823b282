"""What went wrong with real transcripts elsewhere, each as a small transcript of its own."""

import random

from rehydrate.entries import messages
from rehydrate.entries.compaction import preserved
from rehydrate.entries.ends import latest_leaf, leaf
from rehydrate.entries.scope import boundaries
from rehydrate.entries.turns import usage, waiting
from rehydrate.entries.view import account, full_view, model_view, sent
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
from tests.helpers import dump


def both(scope):
    return names(scope, full_view(scope).entries), names(scope, model_view(scope).entries)


def test_a_second_compaction_replays_old_rows_with_the_same_uuids(scope_of):
    old = [*chat("a", "b"), boundary("B", logical="b"), summary("s", "B"), *chat("c", "d", parent="s")]
    second = [boundary("C", logical="d"), summary("t", "C"), *old, user("e", "t")]
    scope = scope_of(*old, *second)
    assert both(scope) == (["a", "b", "B", "s", "c", "d", "C", "t", "e"], ["C", "t", "e"])
    assert names(scope, boundaries(scope)) == ["B", "C"]
    assert account(scope, full_view(scope))["written twice"] == len(old)


def test_a_row_hangs_before_the_last_boundary_and_16_become_unreachable(scope_of):
    after = chat(*(f"n{n}" for n in range(14)), parent="s")
    stray = [system("x", "b"), *chat("y", "z", parent="x")]
    scope = scope_of(*chat("a", "b"), boundary("B", logical="b"), summary("s", "B"), *after, *stray)
    full, model = both(scope)
    assert full == ["a", "b", "B", "s", *(f"n{n}" for n in range(14)), "x", "y", "z"]
    assert model == full[2:]


def test_a_parent_is_a_row_never_written(scope_of):
    scope = scope_of(*chat("a", "b"), user("c", "never"), assistant("d", "c"))
    assert both(scope) == (["a", "b", "c", "d"], ["a", "b", "c", "d"])


def test_a_snapshots_message_id_equals_the_next_uuid(scope_of):
    snapshot = {"type": "file-history-snapshot", "messageId": "b", "snapshot": {"uuid": "b", "parentUuid": "a"}}
    scope = scope_of(*chat("a"), snapshot, assistant("b", "a"))
    assert both(scope)[0] == ["a", "b"]


def test_a_permission_row_grafted_on_an_old_call_wins_by_time(scope_of):
    turn = [user("a", None), assistant("b", "a", call("1")), result("r", "b", "1"), assistant("c", "r")]
    late = result("late", "b", "1", timestamp="2030-01-01T00:00:00Z")
    scope = scope_of(*turn, *chat("d", "e", parent="c"), late)
    assert names(scope, [leaf(scope), latest_leaf(scope)]) == ["e", "e"]
    assert both(scope)[0] == ["a", "b", "r", "c", "d", "e"]


def test_what_the_client_wrote_behind_a_late_row_does_not_make_it_win(scope_of):
    turn = [user("a", None), assistant("b", "a", call("1")), result("r", "b", "1"), assistant("c", "r")]
    scope = scope_of(*turn, result("late", "b", "1"), attachment("x", "late"))
    assert both(scope)[0] == ["a", "b", "r", "c"]


def test_375_leaves(scope_of):
    leaves = [assistant(f"l{n}", "a") for n in range(375)]
    assert both(scope_of(*chat("a"), *leaves))[0] == ["a", "l374"]


def test_branch_writes_rows_twice_with_and_without_forked_from(scope_of):
    rows = chat("a", "b", "c")
    marked = [{**row, "forkedFrom": {"sessionId": "old", "messageUuid": row["uuid"]}} for row in rows]
    for twice in ([*rows, *marked], [*marked, *rows]):
        scope = scope_of(*twice, assistant("d", "c"))
        assert both(scope)[0] == ["a", "b", "c", "d"]


def test_stale_preserved_uuids_after_a_fork_revive_a_million_tokens(scope_of):
    history = chat(*(f"h{n}" for n in range(400)))
    stale = boundary("B", logical="h399", preserved=("s", ["gone", "h399"]), segment=("gone", "s", "h399"))
    scope = scope_of(*history, stale, summary("s", "B"), user("z", "s"))
    assert preserved(scope, scope.at("B")).entries == ()
    assert both(scope)[1] == ["B", "s", "z"]


def test_stale_preserved_uuids_hung_upon_do_not_revive_it_either(scope_of):
    history = chat(*(f"h{n}" for n in range(400)))
    stale = boundary("B", segment=("gone", "s", "h399"))
    scope = scope_of(*history, stale, summary("s", "B"), attachment("x", "h399"), user("z", "x"))
    assert both(scope)[1] == ["B", "s", "x", "z"]


def test_glued_spliced_and_truncated_lines(scope_of):
    a, b, c, d = (dump(row) for row in chat("a", "b", "c", "d"))
    scope = scope_of(a + b, b[: len(b) // 2] + c, d[:-9])
    assert both(scope)[0] == ["a", "b", "c"]
    assert scope.log.damaged == 2  # two whole objects on one line are none


def test_nul_runs_after_power_loss(scope_of):
    a, b, c = (dump(row) for row in chat("a", "b", "c"))
    scope = scope_of(a, b"\0" * 4096 + b, b"\0" * 100, c)
    assert both(scope)[0] == ["a", "b", "c"]


def test_4252_messages_emptied_by_a_rate_limit(scope_of):
    emptied = []
    for n in range(4_252):
        emptied.append(assistant(f"e{n}", f"e{n - 1}" if n else "a", text("")))
    scope = scope_of(*chat("a"), *emptied, user("z", "e4251"))
    view = model_view(scope)
    assert names(scope, view.entries) == ["a", "z"]
    assert account(scope, view)["empty"] == 4_252


def test_a_message_as_an_object_with_numeric_keys(scope_of):
    spread = {str(at): letter for at, letter in enumerate("Fix it.")}
    scope = scope_of({**user("a", None), "message": {"role": "user", "content": spread}})
    assert messages.request_of(scope.log.record(0)) == "Fix it."


def test_images_doubled_in_lines_of_474_kb(scope_of):
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 237_000}}
    row = user("a", None, [text("Look."), image], toolUseResult={"content": [image]})
    scope = scope_of(row, assistant("b", "a"))
    assert both(scope)[0] == ["a", "b"]
    assert messages.request_of(scope.log.record(0)) == "Look."


def test_the_arguments_of_compact_are_not_a_request(scope_of):
    words = "<command-name>/compact</command-name>\n<command-args>delete everything</command-args>"
    scope = scope_of(*chat("a", "b"), boundary("B"), summary("s", "B"), user("c", "s", words))
    asked = [messages.request_of(scope.log.record(index)) for index in full_view(scope).entries]
    assert [each for each in asked if each] == ["Do it."]


def test_usage_is_not_counted_for_each_block(scope_of):
    numbers = {"input_tokens": 100, "output_tokens": 10}
    blocks = [thought(), text("Yes."), call("1")]
    rows = [assistant(f"b{n}", f"b{n - 1}" if n else "a", each, id="m", usage=numbers) for n, each in enumerate(blocks)]
    scope = scope_of(*chat("a"), *rows)
    assert usage(scope.log, full_view(scope).entries)["input_tokens"] == 100


def test_a_fork_with_a_call_and_no_result(scope_of):
    scope = scope_of(*chat("a"), assistant("b", "a", call("1", "Task")), user("c", "b", "Go on."))
    view = model_view(scope)
    assert names(scope, view.entries) == ["a", "c"]
    assert [each.name for each in waiting(scope.log, full_view(scope).entries)] == ["Task"]
    assert "tool_use" not in str(list(sent(scope, view, folder="f")))


def test_order_of_keys_and_escapes_do_not_matter(scope_of):
    rows = chat("a", "b", "c")
    shuffled = []
    for row in rows:
        keys = list(row)
        random.Random(row["uuid"]).shuffle(keys)
        shuffled.append(dump({key: row[key] for key in keys}).replace(b'"uuid"', b'"\\u0075uid"'))
    assert both(scope_of(*shuffled))[0] == ["a", "b", "c"]
