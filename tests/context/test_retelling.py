"""Messages as text for a model: what is said, by whom, each within its share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.context.messages import FOREIGN, marked
from rehydrate.context.retelling import clip, name, pieces
from tests.context.talk import assistant, call, result, text, thought, user

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}


def told(*messages, chars=5_000):
    return list(pieces(messages, chars=chars))


def test_what_is_said_stands_below_who_says_it():
    assert told(user("Hi."), assistant("Ho.")) == [("user", "Hi."), ("assistant", "Ho.")]


def test_a_call_has_its_input_and_a_result_the_name_of_its_tool():
    assert told(assistant(call("a", "grep", pattern="x")), user(result("a", "found"), result("b", "?"))) == [
        ("assistant, calls grep", '{"pattern":"x"}'),
        ("result of grep", "found"),
        ("result of a tool", "?"),
    ]


def test_a_result_says_that_its_call_failed():
    assert told(assistant(call("a")), user(result("a", "no", is_error=True)))[1] == ("result of ls, which failed", "no")


def test_thoughts_are_left_out():
    assert told(assistant(thought("secret"), text("Ho."))) == [("assistant", "Ho.")]


def test_there_is_a_word_for_what_cannot_be_read():
    assert told(assistant(call("a")), user(result("a", [text("Seen."), IMAGE])), user(IMAGE, text("this"))) == [
        ("assistant, calls ls", "{}"),
        ("result of ls", "Seen.\n[image, left out here]"),
        ("user", "[image, left out here]"),
        ("user", "this"),
    ]


def test_the_summary_of_another_program_is_called_that():
    assert told(marked(user("Before."), FOREIGN)) == [("a summary that another program has made", "Before.")]


def test_what_says_nothing_is_left_out():
    assert told(user(""), user(text(" \n")), assistant(thought())) == []


@pytest.mark.parametrize("odd", ["a\nb", "a\r\n b", "a\u2028b"])
def test_a_name_is_one_line(odd):
    assert told(assistant(call("a", odd)))[0][0] == "assistant, calls a b"


def test_a_long_name_is_cut():
    assert len(name("x" * 1_000_000)) < 100


def test_a_message_has_no_more_characters_than_it_may():
    sizes = [
        len(said) for _, said in told(assistant(call("a"), call("b")), user(result("a", "x" * 9_000), result("b", "y")))
    ]
    assert sizes[-1] == 1
    assert 4_900 < sizes[-2] <= 4_999


def test_what_short_results_leave_is_for_the_long_ones():
    calls = assistant(*(call(each) for each in "abcd"))
    results = user(result("a", "x" * 9_000), result("b", "y" * 9_000), result("c", "z"), result("d", "z"))
    assert [len(said) // 100 for _, said in told(calls, results)[4:]] == [24, 24, 0, 0]


def test_of_a_long_text_three_quarters_are_from_its_beginning_and_one_from_its_end():
    cut = clip("a" * 50_000 + "b" * 50_000, chars=1_000)
    assert 3 * cut.count("b") - 3 <= cut.count("a") <= 3 * cut.count("b") + 3
    assert "characters left out" in cut


@given(st.text(st.characters(exclude_categories=()), max_size=300), st.integers(0, 350))
def test_a_text_that_is_cut_is_never_too_long_and_parts_no_pair(said, chars):
    cut = clip(said, chars=chars)
    assert len(cut) <= chars or cut == said
    pairs = said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert cut.encode("utf-16", "surrogatepass").decode("utf-16", "replace").count("\ufffd") <= pairs.count("\ufffd")
