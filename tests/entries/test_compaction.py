from rehydrate.entries.compaction import preserved
from rehydrate.entries.view import active_view, full_view, model_view, sent
from tests.entries.making import assistant, attachment, boundary, chat, names, summary, user


def kept(scope, uuid="B"):
    return names(scope, preserved(scope, scope.at(uuid)).entries)


def test_a_complete_list_is_what_was_kept(scope_of):
    scope = scope_of(*chat("a", "b", "c"), boundary("B", preserved=("s", ["b", "c"])), summary("s", "B"))
    assert kept(scope) == ["b", "c"]


def test_a_list_is_preferred_to_its_ends(scope_of):
    mark = boundary("B", preserved=("s", ["c"]), segment=("b", "s", "c"))
    assert kept(scope_of(*chat("a", "b", "c"), mark, summary("s", "B"))) == ["c"]


def test_an_incomplete_list_gives_way_to_its_ends(scope_of):
    mark = boundary("B", preserved=("s", ["b", "lost"]), segment=("b", "s", "c"))
    assert kept(scope_of(*chat("a", "b", "c"), mark, summary("s", "B"))) == ["b", "c"]


def test_ends_that_do_not_meet_keep_nothing(scope_of):
    mark = boundary("B", segment=("lost", "s", "c"))
    assert kept(scope_of(*chat("a", "b", "c"), mark, summary("s", "B"))) == []


def test_an_anchor_that_does_not_come_from_the_boundary_keeps_nothing(scope_of):
    mark = boundary("B", preserved=("a", ["b", "c"]))
    assert kept(scope_of(*chat("a", "b", "c"), mark, summary("s", "B"))) == []


def test_a_list_that_holds_the_boundary_or_one_entry_twice_keeps_nothing(scope_of):
    for uuids in (["b", "B"], ["b", "b"], [1, None], {}):
        assert kept(scope_of(*chat("a", "b"), boundary("B", preserved=("s", uuids)), summary("s", "B"))) == []


def test_what_was_kept_stands_behind_the_summary_and_before_what_follows_it(scope_of):
    mark = boundary("B", logical="d", preserved=("s", ["c", "d"]))
    after = [attachment("x", "s"), user("e", "x")]
    scope = scope_of(*chat("a", "b", "c", "d"), mark, summary("s", "B"), *after)
    assert names(scope, model_view(scope).entries) == ["B", "s", "c", "d", "x", "e"]


def test_what_was_kept_may_be_copied_behind_the_summary(scope_of):
    records = [boundary("B", parent="b", preserved=("s", ["c", "d"])), summary("s", "B")]
    scope = scope_of(*chat("a", "b"), *records, *chat("c", "d", parent="b"), user("e", "d"))
    view = model_view(scope)
    assert (names(scope, view.entries), view.gaps) == (["B", "s", "c", "d", "e"], ())


def test_what_hangs_on_the_last_entry_that_was_kept_stands_behind_it(scope_of):
    mark = boundary("B", preserved=("s", ["b", "c"]))
    scope = scope_of(*chat("a", "b", "c"), mark, summary("s", "B"), user("d", "c"))
    assert names(scope, model_view(scope).entries) == ["B", "s", "b", "c", "d"]


def test_a_step_back_to_an_entry_that_was_kept_drops_what_was_kept_after_it(scope_of):
    mark = boundary("B", preserved=("s", ["b", "c", "d"]))
    scope = scope_of(*chat("a", "b", "c", "d"), mark, summary("s", "B"), *chat("e", parent="d"), user("f", "b"))
    assert names(scope, model_view(scope).entries) == ["B", "s", "b", "f"]


def test_only_some_of_what_was_kept_may_be_copied_behind_the_summary(scope_of):
    mark = boundary("B", logical="d", preserved=("s", ["b", "c", "d"]))
    scope = scope_of(*chat("a", "b", "c"), mark, summary("s", "B"), assistant("d", "s"), user("e", "d"))
    assert names(scope, model_view(scope).entries) == ["B", "s", "b", "c", "d", "e"]
    assert names(scope, full_view(scope).entries) == ["a", "b", "c", "B", "s", "d", "e"]


def test_a_line_that_goes_on_from_the_boundary_beside_its_summary_has_both_the_summary_and_what_was_kept(scope_of):
    mark = boundary("B", logical="d", preserved=("s", ["c", "d"]), summary="What came before, in short.")
    scope = scope_of(*chat("a", "b", "c", "d"), mark, summary("s", "B"), user("e", "B"))
    view = model_view(scope)
    assert (names(scope, view.entries), names(scope, [view.summary])) == (["B", "c", "d", "e"], ["B"])
    assert names(scope, active_view(scope, tip=scope.at("B")).entries) == ["B", "c", "d"]
    told = [record["message"]["content"] for record in sent(scope, view, folder="")]
    assert told[0] == "What came before, in short." and len(told) == 4


def test_who_looks_at_what_came_before_a_record_does_not_see_that_a_summary_was_told_later(scope_of):
    """Where children stand before their parents in the file."""
    first = boundary("A", logical="u", preserved=("s", []), summary="In short.")
    second = boundary("B", logical="v", preserved=("t", []), summary="In short.")
    scope = scope_of(user("u", None), first, second, user("v", "s"), summary("s", "A"), summary("t", "B"))
    assert names(scope, full_view(scope, tip=scope.at("v")).entries) == ["u", "A", "B", "s", "v"]


def test_a_turn_that_is_what_a_compaction_came_after_does_not_lead_behind_that_compaction(scope_of):
    """Where children stand before their parents in the file."""
    newest = boundary("B", logical="u", preserved=("t", ["s"]))
    scope = scope_of(summary("s", "A"), boundary("A", logical=None), newest, user("u", "s"), summary("t", "B"))
    assert names(scope, full_view(scope, tip=scope.at("B")).entries) == ["A", "s", "u", "B"]
