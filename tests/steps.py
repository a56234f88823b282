"""Steps that a backtracking matcher takes: counted by one that goes through a pattern as `re` does, but naively.

What is found is still found by `re`; the count beside it grows with the characters that are looked at, so that a
pattern which is quadratic anywhere shows it in a count, whatever the machine.
"""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_parse as parser

SMALL = 1_000
"""Characters of the text that is doubled: more than most of the runs that the shapes allow."""
SLACK = 1.25
"""What growth may have over doubling: a text does not end where its unit does."""
LIMIT = 10_000_000


class Counted:
    """The patterns of one test and the steps of all of them."""

    def __init__(self) -> None:
        self.steps = 0

    def pattern(self, pattern: "re.Pattern[str]") -> "Pattern":
        return Pattern(pattern, self)

    def growth(self, work: Callable[[int], object]) -> bool:
        """Whether twice the text takes twice the steps at most."""
        taken = []
        for size in (SMALL, 2 * SMALL):
            self.steps = 0
            work(size)
            taken.append(self.steps)
        return taken[1] <= 2 * SLACK * taken[0] + 5_000


class Pattern:
    """A pattern of `re` that counts."""

    def __init__(self, pattern: "re.Pattern[str]", count: Counted) -> None:
        self._pattern = pattern
        self._count = count
        self._tree = list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))

    def match(self, text: str, at: int = 0) -> "re.Match[str] | None":
        self._walk(text, at)
        return self._pattern.match(text, at)

    def fullmatch(self, text: str) -> "re.Match[str] | None":
        self._walk(text, 0)
        return self._pattern.fullmatch(text)

    def search(self, text: str, at: int = 0) -> "re.Match[str] | None":
        found = self._pattern.search(text, at)
        for start in range(at, (found.start() if found else len(text)) + 1):
            self._walk(text, start)
        return found

    def finditer(self, text: str) -> "Iterator[re.Match[str]]":
        at = 0
        while found := self.search(text, at):
            yield found
            at = max(found.end(), at + 1)

    def sub(self, by: Any, text: str) -> str:
        for _ in self.finditer(text):
            pass
        return self._pattern.sub(by, text)

    def _walk(self, text: str, at: int) -> None:
        next(self._ends(self._tree, text, at), None)

    def _step(self) -> None:
        self._count.steps += 1
        assert self._count.steps < LIMIT, "it does not end"

    def _ends(self, tree: list[Any], text: str, at: int) -> Iterator[int]:
        """Where a match of the tree can end, in the order in which `re` tries."""
        if not tree:
            yield at
            return
        (op, given), rest = tree[0], tree[1:]
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = given
            ends = self._runs(list(body), text, at, low, int(high))
        elif name == "SUBPATTERN":
            ends = self._ends(list(given[-1]), text, at)
        elif name == "BRANCH":
            ends = (end for branch in given[1] for end in self._ends(list(branch), text, at))
        elif name in ("ASSERT", "ASSERT_NOT"):
            ends = iter([at] if self._asserted(name, *given, text, at) else [])
        elif name in ("AT", "GROUPREF"):
            ends = iter([at])  # a group that was met is as good as any here: more steps, not fewer
        else:
            self._step()
            ends = iter([at + 1] if self._is_one(op, given, text, at) else [])
        for end in ends:
            yield from self._ends(rest, text, end)

    def _runs(self, body: list[Any], text: str, at: int, low: int, high: int) -> Iterator[int]:
        """Longest first, each once: a run of single characters is gone through once and then given up step by step."""
        if len(body) > 1 or str(body[0][0]) not in ("IN", "LITERAL", "NOT_LITERAL", "ANY"):
            if high > 0:
                for end in self._ends(body, text, at):
                    if end > at:
                        yield from self._runs(body, text, end, max(low - 1, 0), high - 1)
            if low == 0:
                yield at
            return
        end = at
        while end - at < high:
            self._step()
            if not self._is_one(*body[0], text, end):
                break
            end += 1
        while end - at >= low:
            self._step()
            yield end
            end -= 1

    def _asserted(self, name: str, direction: int, body: Any, text: str, at: int) -> bool:
        width = body.getwidth()[0] if direction < 0 else 0
        held = at >= width and next(self._ends(list(body), text, at - width), None) is not None
        return held == (name == "ASSERT")

    def _is_one(self, op: Any, given: Any, text: str, at: int) -> bool:
        """Whether the character is one of the set."""
        key = (str(op), str(given), self._pattern.flags)
        one = _ONES.get(key)
        if one is None:
            one = _ONES[key] = re.compile(_written(str(op), given), self._pattern.flags & re.IGNORECASE)
        return at < len(text) and one.fullmatch(text[at]) is not None


_ONES: dict[tuple[str, str, int], "re.Pattern[str]"] = {}


def _written(op: str, given: Any) -> str:
    """A set of characters as a pattern of its own, written anew from its tree."""
    if op == "LITERAL":
        return re.escape(chr(given))
    if op == "NOT_LITERAL":
        return f"[^{_in_class(chr(given))}]"
    if op == "ANY":
        return "."
    parts = []
    for kind, value in given:
        if str(kind) == "NEGATE":
            parts.append("^")
        elif str(kind) == "LITERAL":
            parts.append(_in_class(chr(value)))
        elif str(kind) == "RANGE":
            parts.append(f"{_in_class(chr(value[0]))}-{_in_class(chr(value[1]))}")
        else:
            parts.append({"CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w",
                          "CATEGORY_DIGIT": r"\d"}[str(value)])  # fmt: skip
    return f"[{''.join(parts)}]"


def _in_class(character: str) -> str:
    return f"\\{character}" if character in "\\]^-[" else character
