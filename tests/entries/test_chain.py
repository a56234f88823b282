import pytest

from rehydrate.entries.chain import descent, walk
from rehydrate.entries.scope import Scope, boundaries
from rehydrate.entries.view import full_view
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
    user,
)


def chain_of(scope):
    view = full_view(scope)
    return names(scope, view.entries), [(scope.log.entries[gap.at].uuid, gap.why) for gap in view.gaps]


def test_the_line_of_descent_leaves_other_branches_out(scope_of):
    assert chain_of(scope_of(*chat("a", "b", "c"), *chat("d", "e", parent="b"))) == (["a", "b", "d", "e"], [])


def test_children_may_stand_before_their_parents(scope_of):
    a, b, c = chat("a", "b", "c")
    assert chain_of(scope_of(b, a, c)) == (["a", "b", "c"], [])


def test_progress_is_bridged(scope_of):
    progress = {"parentUuid": "b", "type": "progress", "uuid": "p"}
    assert chain_of(scope_of(*chat("a", "b"), progress, user("c", "p"))) == (["a", "b", "c"], [])


def test_a_parent_never_written_is_a_gap_bridged_in_file_order(scope_of):
    assert chain_of(scope_of(*chat("a", "b"), *chat("d", "e", parent="lost"))) == (
        ["a", "b", "d", "e"],
        [("d", "missing")],
    )


def test_a_gap_is_never_bridged_into_a_subagent(scope_of):
    aside = user("s", None, isSidechain=True)
    assert chain_of(scope_of(*chat("a", "b"), aside, user("d", "lost")))[0] == ["a", "b", "d"]


def test_a_circle_ends(scope_of):
    assert chain_of(scope_of(user("a", "c"), assistant("b", "a"), user("c", "b"))) == (
        ["a", "b", "c"],
        [("a", "circle")],
    )


def test_an_entry_that_is_its_own_parent_ends(scope_of):
    assert chain_of(scope_of(user("a", None), user("b", "b"))) == (["a", "b"], [("b", "circle")])


def test_a_compaction_is_passed_by_what_it_names(scope_of):
    scope = scope_of(
        *chat("a", "b"), user("x", "a"), boundary("B", logical="b"), summary("s", "B"), assistant("c", "s")
    )
    assert chain_of(scope) == (["a", "b", "B", "s", "c"], [])


def test_a_compaction_that_names_nothing_known_is_passed_in_file_order(scope_of):
    scope = scope_of(*chat("a", "b"), boundary("B", logical="lost"), summary("s", "B"))
    assert chain_of(scope) == (["a", "b", "B", "s"], [])


def test_a_compaction_that_names_nothing_goes_on_from_where_the_conversation_ended_then(scope_of):
    late = result("r", "b", "1")
    calls = [user("a", None), assistant("b", "a", call("1")), *chat("c", "d", parent="b"), late]
    scope = scope_of(*calls, boundary("B"), summary("s", "B"))
    assert chain_of(scope) == (["a", "b", "r", "c", "d", "B", "s"], [])


def test_a_compaction_that_says_that_nothing_came_before_is_the_beginning(scope_of):
    rows = [*chat("a"), boundary("B", summary="In short."), *chat("b", "c", parent="B")]
    assert chain_of(scope_of(*rows)) == (["B", "b", "c"], [])


def test_the_parent_of_a_compaction_is_never_followed(scope_of):
    scope = scope_of(*chat("a", "b"), boundary("B", logical="b", parent="a"), summary("s", "B"))
    assert chain_of(scope)[0] == ["a", "b", "B", "s"]


def test_a_request_that_hangs_before_a_compaction_has_undone_it(scope_of):
    scope = scope_of(*chat("a", "b", "c"), boundary("B"), summary("s", "B"), *chat("d", "e", parent="b"))
    assert chain_of(scope) == (["a", "b", "d", "e"], [])


@pytest.mark.parametrize("kind", [attachment, assistant, system, summary])
def test_nothing_else_that_hangs_before_a_compaction_undoes_it(scope_of, kind):
    scope = scope_of(*chat("a", "b"), boundary("B", logical="b"), summary("s", "B"), kind("x", "b"), user("c", "x"))
    assert chain_of(scope) == (["a", "b", "B", "s", "x", "c"], [("x", "bypass")])


def test_what_hangs_on_an_entry_that_was_kept_comes_after_the_compaction(scope_of):
    kept = boundary("B", logical="d", preserved=("s", ["c", "d"]))
    scope = scope_of(*chat("a", "b", "c", "d"), kept, summary("s", "B"), *chat("e", "f", parent="d"))
    assert chain_of(scope) == (["a", "b", "c", "d", "B", "s", "e", "f"], [])


def test_a_boundary_is_known_by_its_subtype_alone(scope_of):
    talk = user("a", None, "compact_boundary")
    other = system("b", "a", "microcompact_boundary", note="compact_boundary")
    scope = scope_of(talk, other, boundary("B"), user("s", None, isSidechain=True), boundary("S", isSidechain=True))
    assert names(scope, boundaries(scope)) == ["B"]


def test_a_boundary_written_twice_is_one(scope_of):
    scope = scope_of(*chat("a"), boundary("B"), summary("s", "B"), boundary("B"), boundary("C"))
    assert names(scope, boundaries(scope)) == ["B", "C"]


def test_a_boundary_written_with_escapes_is_one(scope_of):
    raw = b'{"type":"system","subtype":"\\u0063ompact_boundary","uuid":"B"}'
    scope = scope_of(raw)
    assert names(scope, boundaries(scope)) == ["B"]


def test_a_result_from_before_a_compaction_does_not_undo_it(scope_of):
    before = [user("a", None), assistant("b", "a", call("1"))]
    scope = scope_of(*before, boundary("B", logical="b"), summary("s", "B"), result("r", "b", "1"), assistant("c", "r"))
    assert chain_of(scope)[0] == ["a", "b", "B", "s", "r", "c"]


def test_a_line_of_descent_that_is_asked_for_again_is_that_of_the_question(scope_of):
    first, second, third = chat("a", "b", "c")
    scope = scope_of(second, first, third, boundary("B", isSidechain=True), assistant("d", "c", text("Done.")))
    agent = Scope(scope.log, agent=True)
    for each, tip in [(scope, 4), (scope, 4), (agent, 4), (scope, 4), (scope, 0), (scope.before(1), 0), (scope, 0)]:
        found = walk(each, tip, boundaries=boundaries(each), past=lambda _: True)
        assert descent(each, tip) == found


def test_a_compaction_right_before_another_does_not_hide_what_was_said_before_them(scope_of):
    """The last entry before the second is one in which nobody speaks."""
    first = [user("a", None), user("m", None, isMeta=True), boundary("B", parent="a", logical="lost")]
    assert chain_of(scope_of(*first, boundary("C", logical="lost"), summary("s", "C")))[0] == ["a", "B", "C", "s"]


def test_a_compaction_before_which_nobody_spoke_does_not_hide_what_was_said_before_a_later_one(scope_of):
    first = [attachment("h", "C"), boundary("B", logical="lost"), *reversed(chat("a", "b"))]
    scope = scope_of(*first, boundary("C", logical="lost"))
    view = full_view(scope, tip=scope.at("B"))
    assert names(scope, view.entries) == ["a", "b", "C", "h", "B"]
