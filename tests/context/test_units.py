"""What belongs together: nothing is lost when it is put together, and nothing cuts through it."""

from rehydrate.context.units import arrange, arranged, open_calls, units
from tests.context.talk import assistant, call, result, step, text, user

ASKED = user("Look around.")


def kinds(messages):
    return [(unit.kind, unit.start, unit.stop) for unit in units(messages)]


def test_a_message_that_is_in_its_place_is_the_very_object():
    given = [ASKED, *step("a", "b"), assistant("Done.")]
    assert all(one is other for one, other in zip(arrange(given), given, strict=True))


def test_results_come_right_behind_their_calls_in_one_message():
    given = [ASKED, assistant(call("a"), call("b")), user(result("b")), user("Wait."), user(result("a"))]
    assert arrange(given) == [ASKED, assistant(call("a"), call("b")), user(result("a"), result("b")), user("Wait.")]


def test_t08_results_that_are_stored_before_their_calls_come_behind_them():
    given = [ASKED, user(result("b")), assistant(call("a"), call("b")), user(result("a"))]
    assert arrange(given) == [ASKED, assistant(call("a"), call("b")), user(result("a"), result("b"))]


def test_a_message_that_mixes_results_and_words_is_split_in_two():
    given = [ASKED, assistant(call("a")), user(text("And?"), result("a"))]
    assert arrange(given) == [ASKED, assistant(call("a")), user(result("a")), user(text("And?"))]


def test_the_pieces_of_one_answer_are_one_message():
    given = [ASKED, assistant(text("I look."), id="m"), assistant(call("a"), id="m"), user(result("a"))]
    assert arrange(given) == [ASKED, assistant(text("I look."), call("a"), id="m"), user(result("a"))]


def test_calls_that_ran_while_the_answer_was_given_are_in_one_message():
    given = [ASKED, assistant(call("a"), id="m"), user(result("a")), assistant(call("b"), id="m"), user(result("b"))]
    assert arrange(given) == [ASKED, assistant(call("a"), call("b"), id="m"), user(result("a"), result("b"))]


def test_a_message_says_which_ones_it_is_made_of():
    given = [ASKED, assistant(call("a"), id="m"), user(result("a")), assistant(call("b"), id="m"), user(result("b"))]
    assert [each.sources for each in arranged(given)] == [(0,), (1, 3), (2, 4)]


def test_a_result_without_a_call_stays_where_it_is():
    given = [user(result("gone")), ASKED]
    assert arrange(given) == given


def test_a_second_result_stands_with_the_first_one():
    given = [ASKED, *step("a"), assistant("Hm."), user(result("a", "again"))]
    assert arrange(given) == [ASKED, assistant(call("a")), user(result("a"), result("a", "again")), assistant("Hm.")]


def test_an_id_that_is_used_again_has_its_own_result():
    given = [ASKED, assistant(call("a")), user(result("a", "1")), assistant(call("a")), user(result("a", "2"))]
    assert arrange(given) == given


def test_a_step_is_an_answer_with_calls_and_its_results():
    given = [{"role": "system", "content": "x"}, ASKED, *step("a", "b"), assistant("Done."), ASKED]
    assert kinds(given) == [
        ("system", 0, 1),
        ("request", 1, 2),
        ("step", 2, 4),
        ("answer", 4, 5),
        ("request", 5, 6),
    ]


def test_each_request_begins_a_loop():
    given = [ASKED, *step("a"), *step("b"), assistant("Done."), ASKED, *step("c")]
    assert [unit.loop for unit in units(given)] == [1, 1, 1, 1, 2, 2]


def test_t03_ten_parallel_calls_are_one_unit():
    names = [f"read_{number}" for number in range(10)]
    given = [ASKED, assistant(*map(call, names)), *(user(result(name)) for name in reversed(names))]
    assert kinds(arrange(given)) == [("request", 0, 1), ("step", 1, 3)]


def test_calls_without_a_result_are_open():
    given = [ASKED, *step("a"), assistant(call("b"), call("c")), user(result("c")), assistant(call("d"))]
    assert open_calls(given) == [(3, call("b")), (5, call("d"))]
