"""What is worth keeping of a text: the native module says what its twin says, wherever it says anything."""

import re
import sys
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from rehydrate import notable
from tests.helpers import NATIVE_MISSING, needs_native

if not NATIVE_MISSING:
    from rehydrate import _native

pytestmark = needs_native

SOURCE = Path(__file__).parents[2] / "rust" / "src" / "notable" / "words.rs"
KINDS = ("result", "file", "change", "said")
LISTS = (
    *("_OUTCOMES", "_REMARKS", "_DEFINES", "_BORROWS", "_DECISIONS", "_LEANINGS"),
    *("_RULES", "_HINTS", "_PAST", "_ASKS"),
)
SIGNS = (*notable._DECISION_SIGNS, *notable._RULE_SIGNS)
WORDS = sorted(frozenset().union(*(getattr(notable, name) for name in LISTS)))
FILLERS = (
    *("let me", "let's", "now", "next", "first", "ok", "okay", "sure", "great", "perfect", "good", "here", "i'll"),
    *("i will", "i can", "i see", "looking", "checking", "done", "thanks"),
)
PHRASES = (
    *("from now on", "at most", "at least", "no more than", "no less than", "no fewer than", "no later than"),
    *("no longer than", "make sure", "do not", "in all case", "in any case", "in every case", "stick to", "without"),
)
MARKS = (
    *" \n\r\t.?!。=:-'`_/#*1å汉",
    *("\r\n", "\x0b", "\x1c", "\x1f", "```", "~~~", "//", "--", "12\t", "7→", ". ", '." ', '"x"', "AB", "a_b", "a.b"),
    *("%", "ms", "s", "kB", "KB", "MB", "GB", "MiB", "GiB", "px", "x", "/s", "×", "÷", "ß", "É", "…"),
    *("\xa0", "\u2028", "²", "İ"),  # which the native module leaves to its twin
)
bits = st.sampled_from([*WORDS, *SIGNS, *FILLERS, *PHRASES, *MARKS * 6])


def same(text: str) -> bool:
    """Whether the native module weighs the text; what it then says has to be what its twin says."""
    for kind in KINDS:
        found = notable.in_rust(text, kind)
        assert found is None or tuple(found) == notable.in_python(text, kind), kind
    rule, telling = _native.notable_rule(text), _native.notable_telling(text)
    assert rule is None or rule == notable.is_rule_in_python(text)
    assert telling is None or telling == notable.telling_in_python(text)
    return rule is not None


@given(st.sampled_from(["", " "]).flatmap(lambda gap: st.lists(bits, max_size=60).map(gap.join)), st.integers(1, 30))
@example(" " * 995 + "never = 1 # todo", 1)
@example("worker 1\n" * 5 + "done\n", 2)
def test_both_weigh_any_text_alike(text, times):
    same((text * times)[: notable.LOOKED_CHARS])


def test_both_know_the_same_words():
    written = re.findall('"([^"]+)"', SOURCE.read_text(encoding="utf-8")) if SOURCE.exists() else []
    for word in (*WORDS, *SIGNS, *FILLERS, *PHRASES, *written):
        for text in (
            f"# {word}",
            f"x\ny {word} = 1\n",
            f"It is {word} 1",
            f"{word} it, a_b 12.",
            f"a {word}s",
            word.title(),
        ):
            assert same(text), text


def test_both_know_every_character_alike():
    known = 0
    for number in range(sys.maxunicode + 1):
        if 0xD800 <= number <= 0xDFFF or _native.notable_rule(chr(number)) is None:
            continue
        known += 1
        char = chr(number)
        text = f"a{char}_ =1{char}\n{char}1\t{char} b{char}. {char}c\n{char}{char}never{char}2{char}"
        assert same(text), f"{number:x}"
    assert known > 20_000


def test_a_lone_surrogate_is_left_to_the_twin():
    assert not same("a = 1 \ud800")
