"""What of a user's words holds, and what must never be taken for the user's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.context.ledger import OPENING
from rehydrate.context.signs import RULE
from rehydrate.context.statements import A_MESSAGE, STATEMENTS, Statement, statements, unstated
from tests.context.said import said


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Port the parser to C. Never touch the API.", "Port the parser to C."),
        ("Port it.\n\nRULES:\n- Never push.\n- Use tabs always.\n\nThen tell me.", "Port it. Then tell me."),
        ("Never push.", ""),
        ("Why does this fail?\n```\nx = 1\n```", "Why does this fail?"),
    ],
)
def test_what_is_asked_for_is_what_is_left_beside_what_holds(said, left):
    assert unstated(said) == left


def test_only_what_the_user_says_counts():
    rule = "Never ask before deleting."
    call = {"type": "tool_use", "id": "t", "name": "note", "input": {"text": rule}}
    messages = [
        {"role": "system", "content": rule},
        {"role": "assistant", "content": [{"type": "text", "text": rule}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": rule}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": rule}]}]},
        {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": rule}}]},
    ]
    assert statements(messages) == []


def test_a_summary_is_not_read_as_the_words_of_the_user():
    assert said(f"{OPENING}\n## Files\nNever push.") == []


@pytest.mark.parametrize(
    "text",
    [
        "See this:\n```\nNever push.\n```",
        "~~~ text\nRULE: obey\n~~~",
        "<file name='a'>\nNever push.\nRULE: obey\n</file>",
        "<system-reminder>\nNever push.\n</system-reminder>\n",
        "<a>\n<b>\nNever push.\n</b>\nNever push.\n</a>",
        "<system-reminder>Never push.</system-reminder>",
        "<note>Never push.\nRULE: obey</note>",
        "<a>\n```\n</a>\n```\nNever push.\n```",
        "> Never push.\n> RULE: obey",
        "| never | always |",
        "+ const never = true",
        "    at Object.must (/app/a.js:3:1)",
        "ERROR: connection to 10.0.0.1 refused, never retried",
        "TypeError: x must be a function",
        "INFO: server is always up on port 80",
        "2027-01-01 12:00:00 the server must be restarted",
        "if (never) {",
        "$ never",
    ],
)
def test_what_is_evidently_copied_in_is_not_read(text):
    assert said(text) == []


def test_what_follows_the_copied_part_is_read():
    assert said("```\nx\n```\nNever push.\n<a>\nx\n</a>\nAlways pull.") == ["Never push.", "Always pull."]


def test_a_tag_that_is_never_closed_hides_nothing():
    assert said("<div>\nNever push.") == ["Never push."]


def test_of_a_manual_that_is_pasted_only_the_heaviest_part_is_taken():
    rules = "\n".join([*(f"You must do {at}." for at in range(A_MESSAGE)), "Never push."])
    held = said(rules)
    assert len(held) == A_MESSAGE and held[-1] == "Never push."


@pytest.mark.parametrize(("text", "label"), [("", None), ("a\nb", None), (" a", None), ("a", "x\ny"), ("a", "- x")])
def test_what_cannot_be_written_on_one_line_is_no_statement(text, label):
    with pytest.raises(ValueError, match="one line"):
        Statement(text, label)


def test_a_label_that_says_the_kind_is_kept_apart():
    messages = [{"role": "user", "content": "HARD CONSTRAINT: Use UTC.\n**Preference**: tabs"}]
    assert statements(messages) == [Statement("Use UTC.", "HARD CONSTRAINT"), Statement("tabs", "Preference")]


def test_a_list_below_a_label_has_the_label():
    messages = [{"role": "user", "content": "Project rules:\n- tabs\n2. no globals\nGo on.\n- x\n## Goals\n* ship it"}]
    assert statements(messages) == [
        Statement("tabs", "Project rules"),
        Statement("no globals", "Project rules"),
        Statement("ship it", "Goals"),
    ]


@pytest.mark.parametrize("line", ["## - rules", "# ! goals:", "## + facts", "\u2167 rules:"])
def test_a_heading_that_begins_with_a_sign_labels_nothing_that_could_be_forged(line):
    held = statements([{"role": "user", "content": f"{line}\n- tabs"}])
    assert held in ([], [Statement("tabs", "\u2167 rules")])


def test_sentences_that_belong_together_stay_together():
    text = "Look at a.py. The cap is $5. Never exceed it. Then fix b.py."
    assert said(text) == ["The cap is $5. Never exceed it."]


def test_a_sentence_that_refers_to_the_one_before_has_it_with_it():
    assert said("Look at a.py. You add comments. Don't do that.") == ["You add comments. Don't do that."]


def test_the_same_said_again_is_there_once():
    assert said("Never push.", "ok", "never  PUSH.") == ["Never push."]


def test_what_held_before_comes_first_and_is_replaced_as_well():
    earlier = [Statement("The port is 80."), Statement("Never push.")]
    now = statements([{"role": "user", "content": "The port is 81."}], earlier=earlier)
    assert [each.text for each in now] == ["Never push.", "The port is 81."]


def test_what_held_before_does_not_replace_itself():
    earlier = [Statement("The port is 81."), Statement("The port is 80.")]
    assert statements([], earlier=earlier) == earlier


@pytest.mark.parametrize("statement", [Statement("UTC it is", "RULE"), Statement("Deadline: Friday")])
def test_what_has_a_label_weighs_more_than_a_fact(statement):
    assert statement.weight == RULE


def test_what_is_too_long_is_no_statement():
    assert said("RULE: " + "x" * 700, "Never " + "x" * 700) == []


def test_of_a_very_long_message_both_ends_are_read():
    filler = "blah blah\n" * 10_000
    assert said(f"Never push.\n{filler}\nNever merge.\n{filler}\nNever pull.") == ["Never push.", "Never pull."]


def test_not_more_hold_than_the_limit_and_the_lightest_go_first():
    facts = (f"The port of server{at}x is {at}." for at in range(STATEMENTS))
    held = said("Never push.", *facts, "Never pull.")
    assert len(held) == STATEMENTS
    assert held[0] == "Never push." and held[-1] == "Never pull."


WORDS = st.sampled_from(
    [
        "never",
        "always",
        "the",
        "budget",
        "is",
        "now",
        "$5",
        "and",
        "travel",
        "port",
        "80",
        "branch",
        "spike/a-1",
        "code",
        ".",
        ",",
        ":",
        ";",
        "RULE:",
        "rules",
        "goals:",
        "## - rule",
        "\u2167",
        "! goal:",
        "-",
        "#",
        "```",
        "<a>",
        "</a>",
        ">",
        "\n",
        "Ada",
        "Byron",
        "UTC",
        "without",
        "\u2028",
        "\u73b0\u5728",
        "\u7aef\u53e3",
        "\u662f",
    ]
)
TEXTS = st.lists(st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=120), max_size=8)


@given(TEXTS)
def test_a_statement_is_one_line_of_what_was_said(texts):
    for each in statements([{"role": "user", "content": text} for text in texts]):
        assert len(each.text.splitlines()) == 1 and each.text == each.text.strip()
        assert any(each.text in text and (each.label or "") in text for text in texts)


@given(TEXTS)
def test_what_holds_can_be_carried_on_in_any_number_of_steps(texts):
    messages = [{"role": "user", "content": text} for text in texts]
    held = []
    for message in messages:
        held = statements([message], earlier=held)
    assert held == statements(messages) == statements([], earlier=held)
