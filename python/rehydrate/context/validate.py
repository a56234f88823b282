"""The last look at messages before they leave: would the provider refuse them, or have they lost something that it
needs?

It sees the messages of the wire, whatever they were made of, and is one pass over them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import InvalidProjection, Violation
from .given import a_list, neutral
from .messages import Message
from .wire import Format, Turn, format_named


def check(messages: Sequence[Mapping[str, Any]], *, format: str, source: Sequence[Message] | None = None) -> None:
    """Raises InvalidProjection where there is any violation; arguments as for `violations`."""
    found = violations(messages, format=format, source=source)
    if found:
        raise InvalidProjection(found)


def violations(
    messages: Sequence[Mapping[str, Any]], *, format: str, source: Sequence[Message] | None = None
) -> list[Violation]:
    """Every way in which messages of the wire break the rules of their format, by place.

    `format`: a name of `FORMATS`, ValueError for another.  `source`: the neutral messages that they were made of, to
    hold the thoughts in them against: an answer has its own, unchanged, or no answer of its loop of tools in the list
    has any.  None: thoughts are taken as they are.  Raises TypeError for what is no list.
    """
    form = format_named(format)
    a_list(messages, "messages")
    if source is not None:
        neutral(source, "what messages were made of")
    turns = form.outline(messages)
    found = [
        Violation(code, turn.place, f"message {turn.place} {what}") for turn in turns for code, what in turn.faults
    ]
    found += _opening(turns, form)
    found += _Pairs(form).violations(turns)
    if source is not None and any(turn.thoughts or turn.tied for turn in turns):  # without any none is changed
        made_of = form.outline(form.write(source))
        found += _thoughts(turns, made_of, form)
        found += _ties(turns, made_of)
    return sorted(found, key=lambda each: each.place)


def _opening(turns: Sequence[Turn], form: Format) -> list[Violation]:
    found = []
    if not form.has_system:
        for turn in turns:
            if turn.side == "system" and not turn.faults:
                text = f"message {turn.place} is one of the system, which the format has not in its list"
                found.append(Violation("system_role", turn.place, text))
    first = next((turn for turn in turns if turn.side != "system"), None)
    if first is None:
        if not turns or not form.has_system:
            found.append(Violation("empty", 0, "there is no message of the user"))
    elif first.side != "user" or not first.said:
        text = f"message {first.place} is the first one, and the user says nothing in it"
        found.append(Violation("first_not_user", first.place, text))
    return found


class _Pairs:
    """Holds each call against its results, which must stand right behind it."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.open: dict[str, int] = {}
        """The calls of the last answer that no result has come for, each with the place of its message."""
        self.left: dict[str, int] = {}
        """The same, of answers that something else has come behind."""
        self.answered: set[str] = set()
        self.found: list[Violation] = []

    def violations(self, turns: Sequence[Turn]) -> list[Violation]:
        """Those of the list."""
        for turn in turns:
            if turn.results:
                self._results(turn)
            if self.open and (self.form.has_batches or not turn.results or turn.said):
                self.left.update(self.open)
                self.open.clear()
            if turn.calls:
                self._calls(turn)
        for name, place in (*self.left.items(), *self.open.items()):
            self._add("unanswered_call", place, f"calls {name}, and no result of that follows")
        return self.found

    def _results(self, turn: Turn) -> None:
        if turn.side != "user":
            self._add("wrong_role", turn.place, "holds results and is not the user's")
        for name in turn.results:
            if self.open.pop(name, None) is not None:
                self.answered.add(name)
            elif self.left.pop(name, None) is not None:
                self.answered.add(name)
                self._add("split_batch", turn.place, f"has the result of {name}, which is not right behind its call")
            elif name in self.answered:
                self._add("duplicate_result", turn.place, f"has another result of {name}")
            else:
                self._add("orphan_result", turn.place, f"has a result of {name}, which was not called")

    def _calls(self, turn: Turn) -> None:
        if turn.side != "assistant":
            self._add("wrong_role", turn.place, "holds calls and is not the assistant's")
        for name in turn.calls:
            if name in self.open or (self.form.has_unique_ids and (name in self.answered or name in self.left)):
                self._add("duplicate_call", turn.place, f"calls {name}, an id that was used before")
            self.open[name] = turn.place

    def _add(self, code: str, place: int, what: str) -> None:
        self.found.append(Violation(code, place, f"message {place} {what}"))


def _thoughts(turns: Sequence[Turn], source: Sequence[Turn], form: Format) -> list[Violation]:
    had = _Had(source, form)
    found: list[Violation] = []
    without: list[Turn] = []  # answers of the loop whose thoughts are gone
    has_thoughts = False  # whether another one of the loop has its own
    for turn in (*turns, Turn(len(turns), "user", said=True)):
        if turn.side == "assistant":
            if turn.thoughts:
                has_thoughts = True
                if not had.has(turn):
                    text = f"message {turn.place} has other thoughts than the answer that it was made of"
                    found.append(Violation("thinking_changed", turn.place, text))
            elif had.had_some(turn):
                without.append(turn)
        elif turn.side == "user" and turn.said:
            if has_thoughts:
                for each in without:
                    text = f"message {each.place} has lost its thoughts, and another one of its loop has them"
                    found.append(Violation("thinking_changed", each.place, text))
            without, has_thoughts = [], False
    return found


class _Had:
    """The thoughts of the answers that a list was made of."""

    def __init__(self, source: Sequence[Turn], form: Format) -> None:
        self.joins_answers = form.joins_answers
        self.by_key: dict[object, set[str]] = {}
        """By what an answer is known by the thoughts, spelt: many may be known by the same."""
        self.each: set[str] = set()
        for turn in source:
            if turn.side == "assistant":
                self.by_key.setdefault(turn.key, set()).add(_spelt(turn))
                if self.joins_answers:
                    self.each.update(map(repr, turn.thoughts))

    def has(self, turn: Turn) -> bool:
        """Whether an answer has the thoughts that it had.  Where answers are joined only some of the messages may be
        left that an answer came from: then they are some that were there.
        """
        return _spelt(turn) in self.by_key.get(turn.key, ()) or (
            self.joins_answers and all(repr(thought) in self.each for thought in turn.thoughts)
        )

    def had_some(self, turn: Turn) -> bool:
        """Whether every answer that it may have been had thoughts."""
        before = self.by_key.get(turn.key)
        return before is not None and "" not in before


def _spelt(turn: Turn) -> str:
    """The thoughts of an answer as a text; empty where it has none."""
    return repr(list(turn.thoughts)) if turn.thoughts else ""


def _ties(turns: Sequence[Turn], source: Sequence[Turn]) -> list[Violation]:
    needed: dict[str, list[object]] = {}  # what it may stand with: an id that was used again may have had several
    for turn in source:
        for name, reasoning in turn.tied.items():
            needed.setdefault(name, []).append(reasoning)
    return [
        Violation("reasoning_missing", turn.place, f"message {turn.place} has {name} without its reasoning")
        for turn in turns
        for name, reasoning in turn.tied.items()
        if name in needed and None not in needed[name] and reasoning not in needed[name]
    ]
