"""How small a compaction has to make a conversation."""

from rehydrate.context.gate import target_of


def target(source, *, window=200_000, fixed=10_000, handoff_line=120_000):
    return target_of(source=source, window=window, fixed=fixed, handoff_line=handoff_line)


def test_a_target_is_never_above_50000():
    assert target(150_000) == 50_000


def test_a_target_is_four_fifths_of_its_source():
    assert target(40_000) == 32_000


def test_a_target_is_5000_where_four_fifths_are_less():
    assert target(6_000) == 5_000


def test_a_target_is_smaller_than_its_source():
    assert target(3_000) == 2_999


def test_a_target_is_half_of_a_small_window():
    assert target(7_000, window=8_000, fixed=0, handoff_line=5_600) == 4_000


def test_a_target_and_the_fixed_part_are_below_the_handoff_line():
    assert target(100_000, fixed=90_000, handoff_line=120_000) == 30_000


def test_t26_a_handoff_line_below_the_fixed_part_does_not_count():
    assert target(100_000, fixed=130_000, handoff_line=120_000) == 50_000


def test_a_fixed_part_that_is_nearly_at_the_handoff_line_leaves_5_percent_of_it():
    for fixed in range(114_001, 120_000, 333):
        assert target(100_000, fixed=fixed, handoff_line=120_000) == 6_000
    assert target(100_000, fixed=113_000, handoff_line=120_000) == 7_000


def test_a_window_that_nobody_knows_is_no_limit():
    assert target(100_000, window=None, handoff_line=None) == 50_000


def test_nothing_is_no_source():
    assert target(0) == 0
