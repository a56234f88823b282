"""The estimate, held against the exact count."""

import random

import pytest

from rehydrate.context import estimate
from rehydrate.context.tokens import Exact
from tests.context import kinds

try:
    EXACT = Exact()
except ImportError:
    EXACT = None

needs_exact = pytest.mark.skipif(EXACT is None, reason="the exact count is not there: bpe-openai has no wheel for here")


@needs_exact
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_the_estimate_is_within_15_percent(kind, seed):
    text = kinds.of(kind, seed)
    assert 0.85 < estimate.tokens(text) / EXACT.count(text) < 1.15


@needs_exact
def test_white_space_is_never_counted_too_low():
    rng = random.Random(8)
    for text in (kinds.blank(rng) for _ in range(5_000)):
        assert estimate.tokens(text) >= EXACT.count(text), ascii(text)


@needs_exact
def test_indented_code_is_never_counted_too_low_for_its_white_space():
    for depth in range(1, 60):
        for line in ("\n" + " " * depth + "x", "\n\n" + "\t" * depth + "x", "\r\n" + " " * depth + "\r\n  x"):
            assert estimate.tokens(line * 50) >= EXACT.count(line * 50)


@needs_exact
@pytest.mark.parametrize("unit", ["😀", "─", "→", "}", "/", "_", "7", "ñ"])
def test_a_character_many_times_is_not_counted_much_too_low(unit):
    assert estimate.tokens(unit * 1_000) >= 0.5 * EXACT.count(unit * 1_000)


def test_only_an_empty_text_is_nothing():
    assert estimate.tokens("") == 0
    assert [estimate.tokens(text) for text in ("a", " ", "\n", "7", "_", "字", "\0")] == [1] * 7


def test_the_same_text_has_the_same_estimate():
    text = "".join(kinds.of(kind, 1) for kind in kinds.KINDS)
    assert estimate.tokens(text) == estimate.tokens(text[:7_000] + text[7_000:])


@pytest.mark.parametrize("unit", ["a", "A", " ", "\n", "\n ", "=", "-=", "'s", "a\u0301", "é", "漢", "7", "_", "aA"])
def test_a_megabyte_of_one_thing_takes_no_long(unit):
    assert estimate.tokens(unit * (1_000_000 // len(unit))) > 0


def test_what_was_estimated_before_has_the_price_that_it_has_alone():
    texts = [kinds.of(kind, seed) for kind in kinds.KINDS for seed in range(2)]
    alone = []
    for text in texts:
        estimate._known.cache_clear()
        alone.append(estimate.tokens(text))
    assert [estimate.tokens(text) for text in texts] == alone


def test_no_long_piece_of_a_text_is_remembered():
    estimate._known.cache_clear()
    estimate.tokens("a" * (estimate.SHORT + 1))
    assert estimate._known.cache_info().currsize == 0
