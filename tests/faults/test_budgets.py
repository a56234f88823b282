"""What is given back is never over its budget, and what is left out is counted."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.conversation import Boundary, Conversation, Segment, Turn
from rehydrate.files import Access
from rehydrate.recall import build
from rehydrate.settings import Settings

from .worlds import SESSION, joined

SECTIONS = ("requests_chars", "dialogue_chars", "documents_chars", "files_chars")


def environ(chars, *only):
    return {f"REHYDRATE_{key.upper()}": str(chars) for key in only or SECTIONS}


@pytest.mark.parametrize("chars", [0, 1, 79, 400])
@pytest.mark.parametrize("letter", ["x", "é", "漢", "\U0001f600", "`"])
def test_f60_no_section_is_over_its_budget(antigravity, chars, letter):
    file = antigravity.work / "PLAN.md"
    file.write_text(letter * 5_000)
    lines = [antigravity.user(letter * 5_000), antigravity.said(letter * 5_000, ("edit", str(file)))]
    antigravity.path.write_bytes(joined(*lines, antigravity.user(letter * 900), antigravity.boundary()))
    text = "".join(antigravity.hook(SESSION, environ=environ(chars)))
    sections = re.split(r"(?=\n## [1-4]\. )", text)[1:]
    assert all(len(each) <= chars for each in sections)
    assert text.startswith("[POST-COMPACT REHYDRATION v1 | checkpoint=")
    assert len(sections) == 0 or chars >= 79


@pytest.mark.parametrize("letter", ["x", "漢", "\U0001f600", "\x1b"])
def test_f60_no_value_and_no_part_is_longer_than_the_client_takes(world, letter):
    lines = [world.user(letter * 40_000), *(world.said(f"{n} " + letter * 4_000) for n in range(12))]
    text = world.fire(joined(*lines, world.user(letter * 40_000)))  # each part and value is measured there
    assert letter in text or "\\u{1b}" in text


turns = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=300), st.integers(1, 60)), max_size=9
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(turns, st.lists(st.sampled_from([0, 1, 79, 80, 300, 5_000]), min_size=4, max_size=4))
def test_f60_no_section_of_any_conversation_is_over_any_budget(said, chars):
    made = tuple(Turn(at, role, text * times, 0) for at, (role, text, times) in enumerate(said))
    boundary = Boundary(99, 99, "0badcafe", 2, True, "", 0, 1)
    conversation = Conversation("x", "s", (Segment("s", "/s", 0, 99),), made, (), boundary)
    whole = build(conversation, Settings(**dict(zip(SECTIONS, chars, strict=True))), access=Access(()))
    assert all(len(section.text) <= limit for section, limit in zip(whole.sections, chars, strict=True))


def test_f62_of_thousands_of_requests_the_first_and_the_last_stay_and_the_rest_is_counted(world):
    lines = [world.user(f"Request {n:04} {'z' * 60}.") for n in range(3_000)]
    text = world.fire(joined(*lines))
    whole = world.whole() if world.name == "claude-code" else text
    for each in (whole, text):
        assert all(f"Request {n:04} " in each for n in (0, 1, 2, 3, 4, 2_999))
    kept = int(re.search(r"verbatim: ([\d,]+) of 3000", whole)[1])
    assert f"\n{3_000 - kept} left out for want of room" in whole
    assert "Request 1000 " not in whole


@pytest.mark.parametrize("place", ["first", "newest", "only"])
def test_f62_one_request_of_a_million_characters_keeps_its_ends(world, place):
    huge = "The very start. " + "z" * 1_000_000 + " The very end."
    around = [world.user("Another one.")]
    lines = {"first": [world.user(huge), *around], "newest": [*around, world.user(huge)], "only": [world.user(huge)]}
    text = world.fire(joined(*lines[place]))
    whole = world.whole() if world.name == "claude-code" else text
    assert "The very start." in whole and "The very end." in whole
    assert re.search(r"\[\.\.\. 9\d{5} characters left out \.\.\.\]", whole)
    assert "The very start." in text
