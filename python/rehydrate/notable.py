"""What of a long text is worth keeping when there is room for a few lines only.

Promises: every answer is verbatim from the text (whole lines or sentences, cut at their end where too long, after more
than is shown: see `redact.MARGIN`), but for private keys, of which no line is kept; best first, never more than a few;
any text is fine, and of a long one only the two ends are looked at, so that keeping the notes of a large log costs
little memory; nothing is weighed before somebody asks for it, for of most texts nobody does.  Nothing here knows a
client.

The native module weighs what it knows every character of, and gives the same answers as what is written here.

A line that is like many others of its text says little, and one with a number, a value or an outcome says much.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from rehydrate.redact import MARGIN, mask_key_blocks

try:
    from rehydrate import _native
except ImportError:
    _native = None  # type: ignore[assignment]

IS_NATIVE = _native is not None and os.environ.get("REHYDRATE_PURE") != "1"

LINES = 4
"""Lines that are kept of one result or file."""
LINE_CHARS = 200
"""Of a line so many characters are shown."""
SENTENCES = 3
"""Sentences that are kept of one answer."""
SENTENCE_CHARS = 320
"""Of a sentence so many characters are shown."""
_END_CHARS = 10_000
"""Of each end of a text; what lies between is not looked at."""
LOOKED_CHARS = 2 * _END_CHARS
"""Of a text at most so much is looked at."""
_COMMON = 3
"""A line whose shape comes up more often is one of a series."""

_STYLE = re.compile("\x1b\\[[0-9;]*m")
_NUMBERED = re.compile(r"^\s*\d+(?:\t|→)")
"""How a reading tool writes a file's line."""
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w")
_VALUE = re.compile(r"[=:]\s*[\"'\d\[{(-]|\d\s?(?:%|ms|s|kB|KB|MB|GB|MiB|GiB|px|x|/s)(?!\w)")
_TOKEN = re.compile(r"[a-zà-ÿ]+(?:'[a-z]+)?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OUTCOMES = _set(
    "error errors fail failed failing failure failures exception panic warning warnings denied refused timeout timed "
    "missing mismatch assertion traceback exit code pass passed passing success succeeded total result results summary "
    "average mean median coverage score version found done built created expected got max min rate latency throughput"
)
_REMARKS = _set("todo fixme xxx hack note warning important must never always")
_DEFINES = _set(
    "def class fn func function const let var type struct enum interface trait impl module create alter CREATE ALTER"
)
_BORROWS = _set("import from use using require #include package")
_DECISIONS = _set(
    "decide decided decides decision decisions deciding chose chosen choose choosing instead rather because opt opted "
    "settle settled agree agreed cause turns reason conclude concluded conclusion tradeoff reject rejected since "
    "entschieden statt weil décidé parce decidido porque"
)
_LEANINGS = _set("plan planned fix fixed must never always not so will use uses keep keeps go approach design")
"""Words that decisions have, and much else."""
_DECISION_SIGNS = ("决定", "因为", "选择", "采用", "決めた", "ため")
_RULES = _set(
    "please never always must mustn don't doesn't not avoid ensure forbid forbidden remember important require "
    "required requires allowed niemals immer muss kein keine jamais toujours nunca siempre"
)
_PAST = _set("was were been had ago took seemed looked")
"""Words of what is told rather than asked for."""
_RULE_PHRASES = re.compile(
    r"from now on|at (?:most|least)|no (?:more|less|fewer|later|longer) than|make sure|do not"
    r"|in (?:all|any|every) case|stick to|without",
    re.IGNORECASE,
)
_HINTS = _set(
    "should shouldn't only keep keeps prefer preferred most least than sure no stick every all any constraint "
    "constraints rule rules standing limit limits stay stays nur"
)
"""Words that orders have, and much else."""
_RULE_SIGNS = ("必须", "不要", "不得", "禁止", "总是", "絶対", "必ず")
_ASKS = _set(
    "please add answer build call change check cite create do fix give go implement keep make move name never only put "
    "read refactor remove rename run show start stay stop tell test treat update use write don't i'd can could"
)
"""How a sentence that asks for something begins."""
_NAMES = re.compile(r"`[^`\n]+`|\w[/\\.]\w|\w_\w|\b[A-Z]{2,}\b")
_FILLER = re.compile(
    r"^(?:let me|let's|now|next|first|ok(?:ay)?|sure|great|perfect|good|here|i(?:'ll| will| can| see)|looking)\b"
    r"|^(?:checking|done|thanks)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?][\"')\]]?\s+|[。！？]")
_FENCE = re.compile(r"^\s*(?:```|~~~)")


class Noted(Sequence[str]):
    """What is worth keeping of a text, best first; looked for when it is first asked for."""

    __slots__ = ("_found", "_kind", "_text")

    def __init__(self, text: str, kind: str) -> None:
        """`kind`: `result`, `file` or `change` for lines, `said` for sentences."""
        self._text = text
        self._kind = kind
        self._found: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        if self._found is None and self._kind == "said" and not IS_NATIVE:
            return any(True for _ in _scored(self._text))  # more is asked of few answers, and one sentence tells
        return len(self) > 0

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        return self._all()[at]

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, Noted) else other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def _all(self) -> tuple[str, ...]:
        if self._found is None:
            found = in_rust(self._text, self._kind) if IS_NATIVE else None
            self._found = in_python(self._text, self._kind) if found is None else tuple(found)
            self._text = ""
        return self._found


def in_rust(text: str, kind: str) -> list[str] | None:
    """What is worth keeping; None for a text with characters that only Python knows."""
    return _native.notable_sentences(text) if kind == "said" else _native.notable_lines(text, kind)


def in_python(text: str, kind: str) -> tuple[str, ...]:
    """The same of any text."""
    if kind == "said":
        return tuple(sentence[: SENTENCE_CHARS + MARGIN] for _, _, sentence in sorted(_scored(text))[:SENTENCES])
    lines = text.splitlines()
    if kind == "file" and lines and _NUMBERED.match(lines[0]):
        lines = [_NUMBERED.sub("", line) for line in lines]
    return _best(lines, _result_scores if kind == "result" else _file_scores)


def result_lines(text: str) -> Noted:
    """Of what a tool answered."""
    return Noted(_ends(_STYLE.sub("", text)), "result")


def file_lines(text: str) -> Noted:
    """Of a file's content, as it is or as a reading tool numbers its lines."""
    return Noted(_ends(text), "file")


def changed_lines(old: str, new: str) -> Noted:
    """Of what an edit puts in the place of something else: lines that were not there before."""
    before = {line.strip() for line in mask_key_blocks(old).splitlines()}
    return Noted("\n".join(line for line in _ends(new).splitlines() if line.strip() not in before), "change")


def sentences(text: str) -> Noted:
    """Of what an assistant said: what it decided, found, or gave as a reason."""
    return Noted(_ends(text), "said")


def is_rule(text: str) -> bool:
    """Whether a request that says this sets something that is to hold; of a long one only the start is looked at."""
    text = text[:2_000]
    found = _native.notable_rule(text) if IS_NATIVE else None
    return is_rule_in_python(text) if found is None else found


def is_rule_in_python(text: str) -> bool:
    """The twin."""
    return _count(text, _RULES, _RULE_SIGNS) > 0 or _RULE_PHRASES.search(text) is not None


def telling_spans(text: str) -> list[tuple[int, int]]:
    """Of a request the sentences that say most, best first, as starts and ends: what is to hold, then what is asked
    for, and what has numbers and names; those that say nothing of the kind are left out.
    """
    found = _native.notable_telling(text) if IS_NATIVE and len(text) <= LOOKED_CHARS else None
    return telling_in_python(text) if found is None else found


def telling_in_python(text: str) -> list[tuple[int, int]]:
    """The twin."""
    scored = []
    for start, end in _spans_at_ends(text):
        sentence = text[start : min(end, start + 1_000)]
        score = 2.0 * min(_count(sentence, _RULES, _RULE_SIGNS) + len(_RULE_PHRASES.findall(sentence)), 2)
        score += 0.75 * min(_count(sentence, _HINTS), 2) + 0.5 * bool(_NAMES.search(sentence))
        score -= 1.0 * bool(_count(sentence, _PAST))
        score += 0.75 * bool(_DIGITS.search(sentence)) + 1.25 * bool(
            _count(sentence[:12], _ASKS) or sentence[-1] == "?"
        )
        if score > 0:
            scored.append((-score, start, end))
    return [(start, end) for _, start, end in sorted(scored)]


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, a line being at least one; what stands in code fences is left out."""
    at = 0
    fenced = False
    for line in text.splitlines(keepends=True):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            start = 0
            for end in [*(match.end() for match in _SENTENCE_END.finditer(line)), len(line)]:
                sentence = line[start:end]
                if _WORD.search(sentence):
                    lead = len(sentence) - len(sentence.lstrip())
                    yield at + start + lead, at + start + len(sentence.rstrip())
                start = end
        at += len(line)


def _spans_at_ends(text: str) -> Iterator[tuple[int, int]]:
    """As `spans`; of a text that is beyond measure, those of its start and its end."""
    if len(text) <= LOOKED_CHARS:
        yield from spans(text)
        return
    end = len(text) - _END_CHARS
    yield from spans(text[:_END_CHARS])
    for start, stop in spans(text[end:]):
        yield start + end, stop + end


def _ends(text: str) -> str:
    """The text; of a long one its ends, without the lines that this would cut: half of one may hide a secret's half."""
    text = mask_key_blocks(text)
    if len(text) <= LOOKED_CHARS:
        return text
    start, end = text[:_END_CHARS].rpartition("\n"), text[-_END_CHARS:].partition("\n")
    return (start[0] or start[2]) + "\n" + end[2]


def _best(lines: list[str], scores: Callable[[list[str]], list[float]]) -> tuple[str, ...]:
    """The lines that say most; of those that are alike the first."""
    kept = [line.rstrip() for line in lines if _WORD.search(line)]
    if not kept:
        return ()
    # What lines of a series have in common; found of all at once, as no digits go on behind a line's end.
    shapes = _DIGITS.sub("0", "\n".join([line[:100].strip() for line in kept])).split("\n")
    often = Counter(shapes)
    last = len(kept) - 1
    scored = []
    for place, (score, shape) in enumerate(zip(scores([line[:1_000] for line in kept]), shapes, strict=True)):
        count = often[shape]
        if count > _COMMON and LINES < place < last and len(often) > LINES:
            continue  # one of a series
        worth = score + (1.0 if count == 1 else -0.5 if count <= _COMMON else -3.0)
        scored.append((-(worth + (0.75 if place == last else 0.25 if place == 0 else 0.0)), place))
    scored.sort()
    taken: dict[str, str] = {}
    for _, place in scored:
        taken.setdefault(kept[place][:LINE_CHARS], kept[place][: LINE_CHARS + MARGIN])
        if len(taken) == LINES:
            break
    return tuple(taken.values())


def _scored(text: str) -> Iterator[tuple[float, int, str]]:
    """The sentences that say enough, each behind what it is sorted by; the last one counts more."""
    before = -1, ""
    for place, (start, end) in enumerate(spans(text)):
        if place and (score := _decision_score(before[1])) >= 1.5:
            yield -score, *before
        before = place, text[start:end]
    if before[1] and (score := _decision_score(before[1]) + 0.5) >= 1.5:
        yield -score, *before


def _count(text: str, words: frozenset[str], signs: tuple[str, ...] = ()) -> int:
    """How many of the words a text has, each as often as it comes up; of scripts without spaces, how many signs."""
    return _among(_TOKEN.findall(text.lower()), words) + (0 if text.isascii() else sum(sign in text for sign in signs))


def _among(tokens: list[str], words: frozenset[str]) -> int:
    return 0 if words.isdisjoint(tokens) else sum(token in words for token in tokens)


def _said(lines: list[str], words: frozenset[str]) -> frozenset[str]:
    """Those of the words that any of the lines has."""
    return words.intersection(_TOKEN.findall("\n".join(lines).lower()))


def _has(line: str, words: frozenset[str]) -> bool:
    folded = line.lower()
    return any(word in folded for word in words) and not words.isdisjoint(_TOKEN.findall(folded))


def _result_scores(lines: list[str]) -> list[float]:
    outcomes = _said(lines, _OUTCOMES)
    scores = []
    for line in lines:
        score = (1.5 + (1.0 if _VALUE.search(line) else 0.0)) if _DIGITS.search(line) else 0.0
        score += 1.5 if outcomes and _has(line, outcomes) else 0.0
        scores.append(score - (1.0 if len(line) > 2 * LINE_CHARS else 0.0))
    return scores


def _file_scores(lines: list[str]) -> list[float]:
    scores = []
    for line in lines:
        score = 1.0 if (has_digit := _DIGITS.search(line)) else 0.0
        score += 2.0 if (has_digit or "=" in line or ":" in line) and _VALUE.search(line) else 0.0
        words = line.split(None, 3)[:3]  # none where what is looked at is all blank
        score -= 1.5 if words and words[0] in _BORROWS else 0.0
        score += 1.0 if not _DEFINES.isdisjoint(words) else 0.0
        if "#" in line or "//" in line or "--" in line or "*" in line:
            score += 1.5 if _has(line, _REMARKS) else 0.0
        scores.append(score - (1.0 if len(line) > 2 * LINE_CHARS else 0.0))
    return scores


def _decision_score(sentence: str) -> float:
    sentence = sentence[:1_000]
    tokens = _TOKEN.findall(sentence.lower())
    decided = _among(tokens, _DECISIONS)
    decided += 0 if sentence.isascii() else sum(sign in sentence for sign in _DECISION_SIGNS)
    score = 1.75 * min(decided, 2) + 0.75 * min(_among(tokens, _LEANINGS), 2)
    score += 0.75 if _DIGITS.search(sentence) else 0.0
    if not score:  # a name alone says too little
        return 0.0
    score += 0.75 if _NAMES.search(sentence) else 0.0
    return score - (1.5 if _FILLER.match(sentence.lstrip("#*-> ")) else 0.0) - (1.0 if sentence.endswith("?") else 0.0)
