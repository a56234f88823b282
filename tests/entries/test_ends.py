import pytest

from rehydrate.entries.ends import latest_leaf, leaf
from tests.entries.making import assistant, attachment, boundary, call, chat, meta, result, system, text, user


def end_of(scope):
    index = leaf(scope)
    return None if index is None else scope.log.entries[index].uuid


def test_the_end_is_the_last_branch_in_file_order(scope_of):
    assert end_of(scope_of(*chat("a", "b", "c", "d"), *chat("e", "f", parent="b"))) == "f"


def test_an_old_branch_written_to_by_the_client_alone_does_not_win(scope_of):
    assert end_of(scope_of(*chat("a", "b"), *chat("c", "d", parent="b"), system("s", "a"))) == "d"


def test_what_the_client_wrote_behind_the_last_word_belongs_to_the_end(scope_of):
    assert end_of(scope_of(*chat("a", "b"), attachment("c", "b"), system("d", "c"))) == "d"


def test_a_compaction_that_tells_its_summary_itself_counts_by_its_own_place(scope_of):
    """And not by that of the word before it, where that stands behind it in the file."""
    mark = {**boundary("d", logical=None, summary="In short."), "parentUuid": "c"}
    scope = scope_of(mark, user("b", None), user("c", None))
    assert end_of(scope) == "b"


def test_a_subagent_is_no_end(scope_of):
    assert end_of(scope_of(*chat("a", "b"), user("s", "b", isSidechain=True))) == "b"


def test_in_a_subagents_own_file_it_is(scope_of):
    records = [{**each, "isSidechain": True} for each in chat("a", "b")]
    assert end_of(scope_of(*records, agent=True)) == "b"


def test_a_member_of_a_team_is_no_end(scope_of):
    assert end_of(scope_of(*chat("a", "b"), user("t", "a", teamName="red"))) == "b"


def test_in_a_members_own_file_it_is(scope_of):
    assert end_of(scope_of(*({**each, "teamName": "red"} for each in chat("a", "b")))) == "b"


def test_what_the_client_says_on_its_own_behalf_does_not_make_a_branch_the_last(scope_of):
    assert end_of(scope_of(*chat("a", "b", "c"), meta("m", "a"))) == "c"


def test_what_the_client_says_on_its_own_behalf_behind_the_last_word_is_kept(scope_of):
    assert end_of(scope_of(*chat("a", "b"), meta("m", "b"))) == "m"


def test_of_two_ends_behind_one_word_the_one_that_the_client_noted_is_taken(scope_of):
    ends = [attachment("x", "b"), attachment("y", "b")]
    note = {"type": "last-prompt", "leafUuid": "x"}
    assert end_of(scope_of(*chat("a", "b"), *ends, note)) == "x"


def test_of_two_ends_behind_one_word_else_the_last(scope_of):
    assert end_of(scope_of(*chat("a", "b"), attachment("x", "b"), attachment("y", "b"))) == "y"


def test_the_last_of_several_results_is_the_end_of_an_interrupted_turn(scope_of):
    calls = [assistant("b", "a", call("1"), id="m"), assistant("c", "b", call("2"), id="m")]
    assert end_of(scope_of(user("a", None), *calls, result("r1", "b", "1"), result("r2", "c", "2"))) == "r2"


def test_everything_in_a_circle_ends_with_the_last_word(scope_of):
    assert end_of(scope_of(user("a", "b"), assistant("b", "a"))) == "b"


def test_a_file_where_nobody_speaks_ends_with_its_last_entry(scope_of):
    assert end_of(scope_of(system("a", None), system("b", "a"))) == "b"


@pytest.mark.parametrize("records", [[], [{"type": "mode", "mode": "normal"}], [user("a", None, isSidechain=True)]])
def test_a_file_without_a_conversation_has_no_end(scope_of, records):
    assert end_of(scope_of(*records)) is None


def test_what_was_written_later_does_not_exist_in_an_earlier_scope(scope_of):
    assert end_of(scope_of(*chat("a", "b", "c", "d")).before(2)) == "b"


def test_the_newest_end_by_time_is_another_one(scope_of):
    times = {"b": "2026-01-02T00:00:00Z", "c": "2026-01-01T00:00:00.000Z"}
    records = [user("a", None), *(assistant(u, "a", text(u), timestamp=t) for u, t in times.items())]
    scope = scope_of(*records)
    assert scope.log.entries[latest_leaf(scope)].uuid == "b"
