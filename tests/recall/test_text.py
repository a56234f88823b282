"""What is quoted is visible, can be encoded, and is cut where a cut does no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.recall.text import clip, cut_after, cut_before, fence, is_cut, left_out_mark, one_line, squeezed, visible


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred", "\\u{1b}[31mred"),
        ("a\x00b\x07", "a\\u{0}b\\u{7}"),
        ("\x85\x7f", "\\u{85}\\u{7f}"),
        ("\u202eabc\u2066", "\\u{202e}abc\\u{2066}"),
        ("a\u200bb\u2060\ufeff", "a\\u{200b}b\\u{2060}\\u{feff}"),
        ("\U000e0041", "\\u{e0041}"),
        ("line\rover", "line\\u{d}over"),
        ("a\r\r\nb", "a\\u{d}\r\nb"),
    ],
)
def test_F25_what_hides_or_reorders_is_made_visible(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize(
    "text", ["tab\tand\nlines\r\n", "\u0646\u0645\u06cc\u200c\u062e", "\U0001f468\u200d\U0001f469"]
)
def test_F25_joiners_and_plain_white_space_are_kept(text: str) -> None:
    assert visible(text) == text


def test_F23_lone_surrogates_are_replaced() -> None:
    assert visible("a\ud800b\udfff") == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("e\u0301x", [1]),
        ("\U0001f468\u200d\U0001f469x", [1, 2]),
        ("\u2764\ufe0fx", [1]),
        ("\U0001f44d\U0001f3fdx", [1]),
        ("a\r\nb", [2]),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", [1, 3]),
        ("\u0e01\u0e34x", [1]),
    ],
)
def test_F26_no_cut_falls_inside_a_grapheme(text: str, inside: list[int]) -> None:
    assert [at for at in range(len(text)) if not is_cut(text, at)] == inside
    for at in range(len(text) + 1):
        assert cut_before(text, at) not in inside
        assert cut_after(text, at) not in inside


def test_a_fence_is_longer_than_any_run_inside() -> None:
    assert fence("no ticks, `one`, ``two``") == "```"
    assert fence("a ``` b ````` c") == "``````"


@given(st.text(), st.integers(0, 300), st.sampled_from([68, 75]))
def test_a_clipped_text_is_its_head_the_mark_and_its_real_tail(text: str, limit: int, percent: int) -> None:
    text *= 20
    clipped = clip(text, limit, head_percent=percent, mark=left_out_mark)
    if clipped is None:
        assert limit <= len(left_out_mark(len(text))) or not any(is_cut(text, at) for at in range(1, limit))
        return
    kept, left_out = clipped
    assert len(kept) <= max(limit, 0)
    if left_out == 0:
        assert kept == text
        return
    mark = left_out_mark(left_out)
    assert any(
        text.startswith(kept[:at]) and text.endswith(kept[at + len(mark) :])
        for at in range(len(kept))
        if kept.startswith(mark, at)
    )
    assert len(kept) - len(mark) + left_out == len(text)


def test_one_line_has_no_line_end() -> None:
    assert one_line("a\r\nb\tc\nd") == "a\\u{d}\\u{a}b\\u{9}c\\u{a}d"


def test_squeezed_is_quick_and_short() -> None:
    assert squeezed("  a \n b  ", 60) == "a b"
    assert squeezed("x" * 10_000_000, 60) == "x" * 60 + "..."
    assert squeezed("ab\u0301c", 2) == "a..."
