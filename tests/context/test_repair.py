"""What was loaded is made whole, what was whole stays as it is, and all that was done is told."""

import copy

from rehydrate.context.repair import UNKNOWN_OUTCOME, repair
from rehydrate.context.validate import violations
from tests.context.talk import assistant, call, result, step, user

ASKED = user("Look around.")


def unknown(name):
    return result(name, UNKNOWN_OUTCOME, is_error=True)


def repaired(*messages, **more):
    """The messages, and the codes of what was wrong."""
    found = repair(messages, **more)
    return found.messages, [each.code for each in found.repaired]


def test_a_whole_list_stays_as_it_is():
    given = [ASKED, *step("a", "b"), assistant("Done.")]
    assert repaired(*given) == (given, [])


def test_t11_a_result_without_a_call_is_left_out_and_told_and_the_given_list_is_untouched():
    given = [ASKED, user(result("gone")), assistant("Hm."), ASKED]
    before = copy.deepcopy(given)
    assert repaired(*given) == ([ASKED, assistant("Hm."), ASKED], ["orphan_result"])
    assert given == before


def test_only_the_results_without_a_call_leave_a_message():
    given = [ASKED, assistant(call("a")), user(result("gone"), result("a"))]
    assert repaired(*given) == ([ASKED, *step("a")], ["orphan_result"])


def test_t10_a_call_that_will_never_be_answered_is_given_an_unknown_outcome():
    given = [ASKED, assistant(call("a")), ASKED]
    assert repaired(*given) == ([ASKED, assistant(call("a")), user(unknown("a")), ASKED], ["unanswered_call"])


def test_an_unknown_outcome_joins_the_results_of_its_batch_in_its_place():
    given = [ASKED, assistant(call("a"), call("b")), user(result("b"))]
    assert repaired(*given)[0] == [ASKED, assistant(call("a"), call("b")), user(unknown("a"), result("b"))]


def test_a_call_that_still_runs_is_left_open():
    given = [ASKED, assistant(call("a"), call("b"))]
    assert repaired(*given, pending={"a"})[0] == [*given, user(unknown("b"))]


def test_of_two_results_the_first_one_stays():
    given = [ASKED, *step("a"), assistant("Hm."), user(result("a", "again"))]
    assert repaired(*given) == ([ASKED, *step("a"), assistant("Hm.")], ["duplicate_result"])


def test_of_two_calls_of_one_id_in_an_answer_the_first_one_stays():
    given = [ASKED, assistant(call("a"), call("a", "rm")), user(result("a"))]
    assert repaired(*given) == ([ASKED, *step("a")], ["duplicate_call"])


def test_t14_a_call_in_a_message_of_the_user_is_left_out():
    given = [user(call("a"), {"type": "text", "text": "In short: ..."}), assistant("Hm.")]
    assert repaired(*given) == ([user({"type": "text", "text": "In short: ..."}), assistant("Hm.")], ["wrong_role"])


def test_where_the_assistant_begins_the_user_says_so_first():
    messages, codes = repaired({"role": "system", "content": "x"}, assistant("Hello."), ASKED)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert codes == ["first_not_user"]


def test_what_was_wrong_is_told_with_its_place_in_the_given_list():
    found = repair([ASKED, assistant("Hm."), user(result("gone")), assistant(call("a"))])
    assert [(each.code, each.place) for each in found.repaired] == [("orphan_result", 2), ("unanswered_call", 3)]
    assert violations(found.messages, format="anthropic") == []
