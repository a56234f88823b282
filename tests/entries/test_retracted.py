"""What was taken back by a tombstone is in no view, and the conversation goes on around it."""

import pytest

from rehydrate.entries.ends import latest_leaf, leaf
from rehydrate.entries.view import full_view, model_view, scrollback
from tests.entries.making import assistant, boundary, call, chat, names, result, summary, system, text, user


def tombstone(uuid):
    return {"type": "tombstone", "targetUuid": uuid}


VIEWS = pytest.mark.parametrize("view", [full_view, model_view, scrollback])


@VIEWS
def test_what_was_taken_back_is_in_no_view(scope_of, view):
    scope = scope_of(*chat("a", "b", "c", "d"), tombstone("c"))
    found = view(scope)
    assert names(scope, found.entries) == ["a", "b", "d"]
    assert [(scope.log.entries[at].uuid, why) for at, why in found.left_out] == [("c", "taken back")]


@VIEWS
def test_a_last_word_that_was_taken_back_is_not_the_end(scope_of, view):
    scope = scope_of(*chat("a", "b", "c"), assistant("x", "c", text("Half.")), tombstone("x"))
    assert names(scope, view(scope).entries) == ["a", "b", "c"]


@pytest.mark.parametrize("end", [leaf, latest_leaf])
def test_the_end_is_found_through_what_was_taken_back(scope_of, end):
    scope = scope_of(*chat("a", "b", "c"), system("x", "c"), system("y", "x"), tombstone("x"))
    assert names(scope, [end(scope)]) == ["y"]


def test_a_conversation_that_was_taken_back_whole_has_no_end(scope_of):
    assert leaf(scope_of(*chat("a", "b"), tombstone("a"), tombstone("b"))) is None


def test_a_result_that_was_taken_back_does_not_stand_for_the_one_that_came_after(scope_of):
    rows = [*chat("a"), assistant("b", "a", call("1"), id="m"), result("r", "b", "1"), result("s", "b", "1")]
    scope = scope_of(*rows, assistant("c", "b", text("Yes."), id="m"), user("d", "c"), tombstone("r"))
    assert names(scope, full_view(scope).entries) == ["a", "b", "s", "c", "d"]


def test_a_block_behind_one_that_was_taken_back_comes_back_to_its_answer(scope_of):
    rows = [*chat("a"), assistant("b", "a", call("1"), id="m"), assistant("x", "b", text("No."), id="m")]
    rows += [assistant("y", "x", call("2"), id="m"), result("r", "b", "1"), user("d", "r"), tombstone("x")]
    scope = scope_of(*rows)
    assert names(scope, full_view(scope).entries) == ["a", "b", "y", "r", "d"]


def test_a_compaction_cannot_be_taken_back(scope_of):
    scope = scope_of(*chat("a"), boundary("B", logical="a"), summary("s", "B"), tombstone("B"))
    assert names(scope, full_view(scope).entries) == ["a", "B", "s"]


def test_a_snip_that_was_taken_back_takes_nothing_out(scope_of):
    scope = scope_of(*chat("a", "b", "c"), system("x", "c", "snip_boundary", removedUuids=["b"]), tombstone("x"))
    assert names(scope, model_view(scope).entries) == ["a", "b", "c"]


def test_what_is_taken_back_later_was_there_before(scope_of):
    scope = scope_of(*chat("a", "b"), tombstone("b"))
    assert names(scope.before(2), full_view(scope.before(2)).entries) == ["a", "b"]


@pytest.mark.parametrize("target", [None, 7, "lost", ["a"]])
def test_a_tombstone_of_nothing_takes_nothing_back(scope_of, target):
    scope = scope_of(*chat("a", "b"), {"type": "tombstone", "targetUuid": target})
    assert names(scope, full_view(scope).entries) == ["a", "b"]


def test_entries_in_a_circle_can_be_taken_back(scope_of):
    scope = scope_of(*chat("a"), user("x", "y"), user("y", "x"), tombstone("x"), tombstone("y"))
    assert names(scope, full_view(scope).entries) == ["a"]


def test_the_scrollback_holds_what_was_taken_out_of_the_middle(scope_of):
    snip = system("x", "c", "snip_boundary", removedUuids=["b"])
    scope = scope_of(*chat("a", "b", "c"), snip, user("d", "x"))
    assert names(scope, scrollback(scope).entries) == ["a", "b", "c", "x", "d"]


def test_what_follows_itself_through_what_was_taken_back_is_an_end(scope_of):
    scope = scope_of(*chat("a"), user("b", "x"), system("x", "b"), tombstone("x"))
    assert names(scope, [leaf(scope)]) == ["b"]


def test_what_was_taken_back_between_two_compactions_is_still_passed_through(scope_of):
    first = [user("a", None), system("n", None), boundary("B", logical="lost"), tombstone("a")]
    scope = scope_of(*first, boundary("C", logical="lost"), summary("s", "C"))
    assert names(scope, full_view(scope).entries) == ["B", "C", "s"]
