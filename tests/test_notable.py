"""notable: of a long text the few lines that say most, verbatim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate import notable
from rehydrate.redact import MARGIN
from tests.helpers import NATIVE_MISSING


@pytest.fixture(params=["native", "pure"], autouse=True)
def implementation(request, monkeypatch):
    if request.param == "pure":
        monkeypatch.setattr(notable, "IS_NATIVE", False)
    elif NATIVE_MISSING:
        pytest.skip(f"no native module: {NATIVE_MISSING}")
    else:
        monkeypatch.setattr(notable, "IS_NATIVE", True)


def test_of_a_series_the_line_that_differs_comes_first():
    lines = [f"worker {number} took job {number * 7}" for number in range(200)]
    lines.insert(77, "queue depth p99 was 4711")
    assert notable.result_lines("\n".join(lines))[0] == "queue depth p99 was 4711"


def test_an_outcome_comes_before_words_without_one():
    text = "collecting\nlooking around\n3 failed, 9 passed in 2.1 s\nbye\n"
    assert notable.result_lines(text)[0] == "3 failed, 9 passed in 2.1 s"


def test_colours_of_a_terminal_are_taken_off():
    assert notable.result_lines("\x1b[31m2 failed\x1b[0m") == ("2 failed",)


def test_the_numbers_of_a_reading_tool_are_taken_off_a_file_and_indents_kept():
    assert notable.file_lines("   1\timport os\n   2\t    LIMIT = 40\n")[0] == "    LIMIT = 40"
    assert notable.file_lines("1→import os\n2→LIMIT = 40\n")[0] == "LIMIT = 40"


def test_values_and_definitions_come_before_plain_code():
    text = "import os\n\nx.close()\nTIMEOUT_S = 30\nfor each in rows:\n    go(each)\ndef load(path):\n    pass\n"
    assert set(notable.file_lines(text)[:2]) == {"TIMEOUT_S = 30", "def load(path):"}


def test_of_an_edit_only_lines_that_are_new_count():
    assert notable.changed_lines("a = 1\nb = 2\n", "a = 1\nb = 3\n") == ("b = 3",)


def test_of_an_answer_what_was_decided_comes_first_and_filler_is_left_out():
    text = "Let me look. The tests are green. I decided to use a ring buffer of 64 slots, because locks are slow. Done."
    assert notable.sentences(text) == ("I decided to use a ring buffer of 64 slots, because locks are slow.",)


def test_code_in_an_answer_is_no_sentence():
    assert notable.sentences("```\nnever = 1 because 2\n```\n") == ()


def test_what_a_request_orders_comes_first():
    text = "Here is some talk. There was 1 more. Never push to main. Bye."
    spans = notable.telling_spans(text)
    assert text[slice(*spans[0])] == "Never push to main."


def test_a_long_text_is_looked_at_from_both_ends():
    text = "first = 1\n" + "filler\n" * 100_000 + "last = 2\n"
    assert {"first = 1", "last = 2"} <= set(notable.file_lines(text))


def test_a_long_request_is_looked_at_from_both_ends():
    text = "Never push.\n" + "Never wait.\n" * 100_000 + "Always test.\n"
    found = {text[start:end] for start, end in notable.telling_spans(text)}
    assert found == {"Never push.", "Never wait.", "Always test."}
    assert len(notable.telling_spans(text)) < 2_000


texts = st.text(st.sampled_from("ab1 =:.\n\t`#汉。\U0001f600\r\x0b\x1b[m"), max_size=400)


@given(texts, st.integers(1, 40))
def test_all_that_is_kept_is_verbatim_and_little(text, times):
    text *= times
    for found, most, size in (
        (notable.file_lines(text), notable.LINES, notable.LINE_CHARS + MARGIN),
        (notable.changed_lines("", text), notable.LINES, notable.LINE_CHARS + MARGIN),
        (notable.sentences(text), notable.SENTENCES, notable.SENTENCE_CHARS + MARGIN),
    ):
        assert len(found) <= most
        assert all(each in text and 0 < len(each) <= size for each in found)
    assert all(text[start:end].strip() for start, end in notable.telling_spans(text))


def test_nothing_is_weighed_before_somebody_asks(monkeypatch):
    def weighed(*_):
        raise AssertionError("nobody has asked")

    monkeypatch.setattr(notable, "in_rust", weighed)
    monkeypatch.setattr(notable, "in_python", weighed)
    found = [notable.result_lines("a = 1"), notable.file_lines("a = 1"), notable.changed_lines("", "a = 1")]
    with pytest.raises(AssertionError, match="nobody has asked"):
        len(found[0])


def test_a_line_that_is_blank_as_far_as_it_is_looked_at_is_no_fault():
    assert notable.file_lines(" " * 1_000 + "a = 1") == (" " * (notable.LINE_CHARS + MARGIN),)


def test_whether_there_is_a_sentence_is_told_as_its_number_tells():
    for text in ("", "Done.", "I chose 3 of them, because they are small. Done.", "It is so."):
        assert bool(notable.sentences(text)) is (len(notable.sentences(text)) > 0)
