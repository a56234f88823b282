"""What a provider is sent: by turns, each call with its result, nothing that it refuses."""

import pytest

from rehydrate.session.wire import CLOSING, OPENING, closed, wire
from tests.entries.making import assistant, attachment, call, chat, meta, result, system, text, thought, user
from tests.session.making import roles


def sent(*records):
    return roles(wire(records)[0])


def left_out(*records):
    return wire(records)[1]


def test_a_message_of_one_record_keeps_its_content():
    content = [text("Go."), {"type": "image", "source": {"type": "base64", "data": "x"}}]
    rows = [user("a", None, "Hello."), assistant("b", "a"), user("c", "b", content)]
    assert [message["content"] for message in wire(rows)[0]] == ["Hello.", [text("Done.")], content]


def test_a_message_has_a_role_and_a_content_and_nothing_else():
    assert all(set(message) == {"role", "content"} for message in wire(chat("a", "b", "c"))[0])


def test_the_records_of_one_answer_are_one_message():
    rows = [*chat("a"), assistant("b", "a", thought(), id="m"), assistant("c", "b", text("Yes."), id="m")]
    assert sent(*rows) == [("u", "Do it."), ("a", "thinking Yes.")]


def test_what_the_user_says_in_a_row_is_one_message():
    assert sent(user("a", None, "One."), user("b", "a", "Two."), assistant("c", "b")) == [
        ("u", "One. Two."),
        ("a", "Done."),
    ]


def test_calls_that_ran_while_the_answer_was_given_are_one_message_and_so_are_their_results():
    rows = [*chat("a"), assistant("b", "a", call("1"), id="m"), result("r", "b", "1")]
    rows += [assistant("c", "r", call("2"), id="m"), result("s", "c", "2")]
    assert sent(*rows) == [("u", "Do it."), ("a", "1? 2?"), ("u", "1! 2!")]


def test_an_answer_goes_on_as_another_message_behind_a_word_of_the_user():
    rows = [*chat("a"), assistant("b", "a", text("One."), id="m"), user("c", "b"), assistant("d", "c", id="m")]
    assert sent(*rows) == [("u", "Do it."), ("a", "One."), ("u", "Do it."), ("a", "Done.")]


def test_results_stand_before_words_in_the_order_of_the_calls():
    rows = [*chat("a"), assistant("b", "a", call("1"), call("2")), user("c", "b", "Wait."), result("r", "c", "2", "1")]
    assert sent(*rows) == [("u", "Do it."), ("a", "1? 2?"), ("u", "1! 2! Wait.")]


def test_a_result_that_came_later_stands_behind_its_call():
    rows = [*chat("a"), assistant("b", "a", text("Hm."), call("1")), user("c", "b", "And?"), assistant("d", "c")]
    rows += [result("r", "d", "1"), assistant("e", "r", text("So."))]
    assert sent(*rows) == [("u", "Do it."), ("a", "Hm. 1?"), ("u", "1! And?"), ("a", "Done. So.")]


def test_of_two_calls_only_the_one_with_a_result_is_sent():
    rows = [*chat("a"), assistant("b", "a", call("1"), call("2")), result("r", "b", "1")]
    assert sent(*rows) == [("u", "Do it."), ("a", "1?"), ("u", "1!")]
    assert left_out(*rows) == [("b", "call without a result")]


def test_a_result_without_a_call_is_not_sent():
    rows = [*chat("a", "b"), result("r", "b", "1"), user("c", "r", "Go.")]
    assert sent(*rows) == [("u", "Do it."), ("a", "Done."), ("u", "Go.")]
    assert left_out(*rows) == [("r", "result without a call")]


def test_a_result_before_its_call_is_none():
    rows = [user("a", None), result("r", "a", "1"), assistant("b", "r", call("1"), text("."))]
    assert sent(*rows) == [("u", "Do it."), ("a", ".")]


def test_of_two_results_the_first_is_sent():
    rows = [*chat("a"), assistant("b", "a", call("1")), result("r", "b", "1", words="one"), result("s", "r", "1")]
    messages, unfit = wire(rows)
    assert [block["content"] for block in messages[-1]["content"]] == ["one"]
    assert unfit == [("s", "second result")]


def test_an_id_that_was_used_twice_belongs_to_the_last_call_before_the_result():
    rows = [*chat("a"), assistant("b", "a", call("1"), text("x")), user("c", "b"), assistant("d", "c", call("1"))]
    rows += [result("r", "d", "1"), assistant("e", "r", call("1"), text("y")), result("s", "e", "1")]
    assert sent(*rows) == [("u", "Do it."), ("a", "x"), ("u", "Do it."), ("a", "1?"), ("u", "1!"), ("a", "y")]


def test_where_nothing_of_an_answer_is_left_the_user_goes_on():
    rows = [*chat("a"), assistant("b", "a", call("1")), user("c", "b", "And?")]
    assert sent(*rows) == [("u", "Do it. And?")]


def test_thoughts_whose_call_went_are_not_sent_alone():
    rows = [*chat("a"), assistant("b", "a", thought(), call("1")), user("c", "b", "And?")]
    assert sent(*rows) == [("u", "Do it. And?")]
    assert left_out(*rows) == [("b", "call without a result"), ("b", "only thoughts")]


def test_blank_texts_are_not_sent():
    rows = [user("a", None, [text(" "), text("Go.")]), user("b", "a", " \n"), assistant("c", "b", text(""))]
    assert sent(*rows) == [("u", "Go.")]
    assert left_out(*rows) == [("b", "empty"), ("c", "empty")]


@pytest.mark.parametrize("odd", [call(["1"]), {"type": "tool_use"}, {"type": "tool_result", "tool_use_id": "1"}])
def test_a_block_that_can_have_no_other_half_is_not_sent(odd):
    assert sent(*chat("a"), assistant("b", "a", odd, text("."))) == [("u", "Do it."), ("a", ".")]


@pytest.mark.parametrize("odd", [call("1"), thought(), {"type": "tool_result", "tool_use_id": 3}])
def test_a_block_that_no_user_says_is_not_sent_as_the_users(odd):
    assert sent(user("a", None, [odd, text("Go.")])) == [("u", "Go.")]


def test_before_an_assistant_that_speaks_first_the_user_says_so():
    assert sent(assistant("a", None), user("b", "a")) == [("u", OPENING), ("a", "Done."), ("u", "Do it.")]


def test_a_user_message_that_is_not_answered_any_more_is_closed():
    messages = wire(chat("a", "b", "c"))[0]
    assert roles(closed(messages))[-1] == ("a", CLOSING)
    assert closed(messages[:2]) == messages[:2] and closed([]) == []


def test_nothing_becomes_nothing():
    assert wire([]) == ([], [])


def test_rows_of_the_system_are_not_sent(session_of):
    printed = system("c", "b", "local_command", content="<local-command-stdout>ok</local-command-stdout>")
    rows = [*chat("a", "b"), printed, system("d", "c"), attachment("e", "d"), meta("f", "e", "Hidden.")]
    assert roles(session_of(*rows).view("wire"))[-1] == ("u", "Hidden.")


def test_a_failed_request_is_not_sent(session_of):
    failed = assistant("b", "a", text("API Error: 529"), isApiErrorMessage=True)
    view = session_of(*chat("a"), failed).view("wire")
    assert (roles(view), view.left_out) == ([("u", "Do it.")], (("b", "failed request"),))
