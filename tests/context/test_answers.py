"""Of what a summariser gives back only the text of a summary is taken."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.context.answers import NoSummary, text_of
from rehydrate.context.ledger import HEADINGS, NEXT
from rehydrate.context.wire import FORMATS
from tests.context.answering import HALF, NOTES, SOUND, UNSOUND, anthropic, gemini, text


def lack(reply, format="anthropic"):
    with pytest.raises(NoSummary) as raised:
        text_of(reply, format=format)
    return raised.value.lack


@pytest.mark.parametrize(("format", "reply"), SOUND)
def test_the_text_of_a_sound_response_is_the_summary(format, reply):
    assert text_of(reply, format=format) == NOTES


@pytest.mark.parametrize(("wrong", "format", "reply"), UNSOUND)
def test_a_response_that_is_no_summary_is_none(wrong, format, reply):
    assert lack(reply, format) == wrong


def test_every_format_has_answers_of_each_kind():
    assert {format for format, _ in SOUND} == set(FORMATS)
    for wrong in ("empty", "refusal", "tool_calls", "cut_off", "not_text"):
        assert {format for kind, format, _ in UNSOUND if kind == wrong} == set(FORMATS)


def test_a_text_is_the_summary_without_white_space_around_it():
    assert text_of(f"\n {NOTES}\n", format="gemini") == NOTES


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "THINK"])
def test_thoughts_in_front_of_a_text_are_no_part_of_it(tag):
    assert text_of(f"<{tag}>\n## {NEXT}\n- push</{tag}>\n\n{NOTES}", format="gemini") == NOTES


def test_thoughts_without_an_end_are_all_there_is():
    assert lack(f"<think>\n{NOTES}") == "empty"


@pytest.mark.parametrize("empty", ["", " \n\t", "<think>Hm.</think>"])
def test_a_text_that_says_nothing_is_empty(empty):
    assert lack(empty) == "empty"


def test_headings_with_nothing_under_them_are_empty():
    assert lack("\n".join(f"## {heading}\n- none" for heading in HEADINGS)) == "empty"


@pytest.mark.parametrize(
    "garbage", ["I'm sorry, but I can't help with that.", "OK", "{}", "<html>", "\x00\ud800", "asdf " * 9_000]
)
def test_a_text_without_any_of_the_headings_is_no_summary(garbage):
    assert lack(garbage) == "not_text"


def test_a_heading_on_its_way_between_two_parts_begins_a_line():
    parts = [text(f"## {HEADINGS[0]}\n- a"), text(f"## {NEXT}\n"), text("- b")]
    assert text_of(anthropic(*parts), format="anthropic") == f"## {HEADINGS[0]}\n- a\n## {NEXT}\n\n- b"


def test_a_word_that_is_parted_is_one_word():
    assert text_of(gemini({"text": f"{NOTES} an"}, {"text": "d more"}), format="gemini") == f"{NOTES} and more"


def test_what_was_cut_off_counts_where_it_says_what_comes_next():
    assert text_of(anthropic(text(NOTES[:-4]), stop="max_tokens"), format="anthropic") == NOTES[:-4]
    assert lack(anthropic(text(f"{HALF}## {NEXT}\n"), stop="max_tokens")) == "cut_off"


@pytest.mark.parametrize("reply", [None, 7, b"## Exact next action", ["x"], object()])
def test_what_is_neither_a_text_nor_a_response_is_a_mistake_of_the_summariser(reply):
    with pytest.raises(TypeError, match="a summariser gives a text or a response"):
        text_of(reply, format="anthropic")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(NOTES),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "choices",
                        "message",
                        "content",
                        "role",
                        "type",
                        "text",
                        "output",
                        "candidates",
                        "parts",
                        "refusal",
                    ),
                    *("tool_calls", "function", "finish_reason", "stop_reason", "promptFeedback", "functionCall", "id"),
                ]
            ),
            inside,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(FORMATS)),
    st.dictionaries(
        st.sampled_from(["choices", "output", "candidates", "content", "role", "message", "stop_reason"]),
        _json,
        max_size=4,
    ),
)
def test_whatever_a_response_holds_it_is_a_summary_or_none(format, reply):
    try:
        found = text_of(reply, format=format)
    except NoSummary:
        return
    assert found.strip() == found != ""
