"""Texts and messages that are cut: never above their limit, and what is missing is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.context.meter import Meter
from rehydrate.context.shorten import FLOOR, cut_request, shorten, shorten_unit
from rehydrate.context.tokens import Estimate
from tests.context.counters import Characters
from tests.context.talk import assistant, call, result, text, thought, user

METERS = [Meter(Characters()), Meter(Estimate()), Meter()]
CHARACTERS = METERS[0]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
ANY = st.text(st.characters(exclude_categories=()), max_size=400)
"""Surrogates that stand alone included."""


def test_a_text_within_its_limit_is_left_as_it_is():
    assert shorten("words", limit=5, meter=CHARACTERS) == "words"


def test_three_quarters_of_what_stays_are_from_the_beginning():
    cut = shorten("a" * 5000 + "b" * 5000, limit=1000, meter=CHARACTERS)
    head, mark, tail = cut.split("\n")
    assert set(head) == {"a"} and set(tail) == {"b"}
    assert len(head) == pytest.approx(3 * len(tail), abs=4)
    assert len(head) + len(tail) > 900
    assert mark == f"[… {10_000 - len(head) - len(tail):,} characters left out here …]"


def test_where_the_mark_has_no_room_nothing_is_left():
    assert shorten("word " * 100, limit=3, meter=CHARACTERS) == ""


@pytest.mark.parametrize("meter", METERS, ids=["characters", "estimate", "usual"])
@given(pieces=st.lists(ANY, max_size=4), times=st.integers(1, 40), limit=st.integers(0, 300))
def test_a_cut_text_never_counts_more_than_its_limit(meter, pieces, times, limit):
    whole = "".join(piece * times for piece in pieces)
    cut = shorten(whole, limit=limit, meter=meter)
    assert cut == "" or meter.counter.count(cut) <= limit
    assert cut in ("", whole) or "characters left out here" in cut
    assert shorten(whole, limit=limit, meter=meter) == cut


def test_most_of_the_limit_is_used_where_the_text_changes_its_kind():
    whole = "漢字" * 20_000 + " " * 60_000 + "word and word " * 8_000
    assert METERS[2].counter.count(shorten(whole, limit=2_000, meter=METERS[2])) > 1_400


def test_a_surrogate_pair_is_not_cut_in_two():
    pair = "\ud83d\ude00"
    for limit in range(60, 90):
        head, _, tail = shorten(pair * 200, limit=limit, meter=CHARACTERS).split("\n")
        assert head == pair * (len(head) // 2) and tail == pair * (len(tail) // 2)


def unit(*contents):
    names = [f"c{at}" for at in range(len(contents))]
    return [
        assistant(thought(), text("I look."), *(call(name) for name in names)),
        user(*(result(name, content) for name, content in zip(names, contents, strict=True))),
    ]


def total(messages):
    return CHARACTERS.messages(messages)


def test_the_long_results_of_a_unit_are_cut_and_the_short_ones_stay():
    given_unit = unit("short", "x" * 5000, "y" * 9000)
    made = shorten_unit(given_unit, limit=1500, meter=CHARACTERS)
    first, second, third = (block["content"] for block in made[1]["content"])
    assert first == "short"
    assert abs(len(second) - len(third)) < 30
    assert 1300 < total(made) <= 1500


def test_a_shortened_unit_keeps_its_calls_and_loses_its_thoughts():
    made = shorten_unit(unit("x" * 5000), limit=1000, meter=CHARACTERS)
    assert made[0]["content"] == [text("I look."), call("c0")]


def test_images_of_a_shortened_unit_become_words():
    made = shorten_unit(unit([IMAGE, text("x" * 5000)]), limit=1000, meter=CHARACTERS)
    image, words = made[1]["content"][0]["content"]
    assert image == text("[an image was here; it is left out]")
    assert words["text"].startswith("xxx")


def test_what_is_given_is_not_changed():
    given_unit = unit([IMAGE, text("x" * 5000)])
    shorten_unit(given_unit, limit=1000, meter=CHARACTERS)
    assert given_unit == unit([IMAGE, text("x" * 5000)])


def test_t58_no_text_is_cut_to_less_than_the_floor():
    assert shorten_unit(unit(*["x" * 200] * 20), limit=20 * (FLOOR - 1), meter=CHARACTERS) is None


def test_calls_are_not_cut():
    messages = [assistant(call("c", content="x" * 5000)), user(result("c"))]
    assert shorten_unit(messages, limit=1000, meter=CHARACTERS) is None


def test_an_answer_of_thoughts_alone_cannot_be_shortened():
    assert shorten_unit([assistant(thought("x" * 5000))], limit=1000, meter=CHARACTERS) is None


def test_a_unit_with_blocks_that_nobody_knows_cannot_be_shortened():
    messages = [assistant({"type": "server_tool_use", "id": "s"}, text("x" * 5000))]
    assert shorten_unit(messages, limit=1000, meter=CHARACTERS) is None


def test_a_request_of_many_parts_is_cut_as_one_text():
    made = cut_request(user(*(text(f"{at} ") for at in range(500))), limit=200, meter=CHARACTERS)
    assert made["content"].startswith("0 \n1 ")
    assert total([made]) <= 200


def test_a_request_loses_its_images_before_its_words():
    words = "Why is this red? " * 5
    assert cut_request(user(IMAGE, text(words)), limit=300, meter=CHARACTERS)["content"][1] == text(words)


def test_a_request_that_has_no_room_for_the_mark_is_none():
    assert cut_request(user("word " * 100), limit=20, meter=CHARACTERS) is None


@given(parts=st.lists(ANY.map(text) | st.just(IMAGE), min_size=1, max_size=5), limit=st.integers(1, 500))
def test_a_cut_request_never_counts_more_than_its_limit(parts, limit):
    for meter in METERS:
        made = cut_request(user(*parts), limit=limit, meter=meter)
        assert made is None or (meter.message(made) <= limit and made["content"])
