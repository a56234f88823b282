"""What was found out about the beginning of a conversation is not found out again.

Before every request the same messages are looked at, written and validated; all but the last few are those of the
request before.  Everything here gives what it would give for the whole list.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from operator import is_
from typing import Any

from .assembling import Assembled
from .messages import Message, calls, results
from .meter import Meter
from .results import Replacement
from .validate import check, violations
from .wire import FORMATS

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]+")
"""An id that every format takes as it is."""
_BEFORE: Message = {"role": "user", "content": "-"}
"""Stands for what came before, where the end of a list is validated."""


class _Known:
    """The messages that something was found out about."""

    def __init__(self) -> None:
        self._messages: Sequence[Message] = ()

    def beginning(self, work: Assembled) -> int:
        """So many of the messages are known, and no step goes beyond them."""
        count = work.steady
        known = count <= len(self._messages) and all(map(is_, self._messages[:count], work.messages))
        return count if known else 0

    def learn(self, work: Assembled) -> None:
        """All of them are known now."""
        self._messages = work.messages


class Judged(_Known):
    """Results that are within their share of the window are not looked at again."""

    def over_budget(
        self, work: Assembled, judge: Callable[[Sequence[Message]], list[Replacement]]
    ) -> list[Replacement]:
        """What `judge` finds in all messages, who judges each step by itself, and the same each time."""
        start = self.beginning(work)
        found = [replace(each, message=each.message + start) for each in judge(work.messages[start:])]
        if not found:
            self.learn(work)
        return found


class Held(_Known):
    """How much all results of a list hold."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        self._tokens = [0]
        """Of the first so many messages."""

    def tokens(self, work: Assembled) -> int:
        """By the meter, block for block."""
        start = self.beginning(work)
        del self._tokens[start + 1 :]
        for message in work.messages[start:]:
            self._tokens.append(self._tokens[-1] + sum(map(self._meter.block, results(message))))
        self.learn(work)
        return self._tokens[-1]


class Writer(_Known):
    """Writes messages in a format, and holds them against its rules."""

    def __init__(self) -> None:
        super().__init__()
        self._format = ""
        self._head: list[dict[str, Any]] = []
        self._count = 0
        """So many messages make up the head."""

    def write(
        self, work: Assembled, control: Sequence[Message], *, format: str, source: Sequence[Message] | None
    ) -> list[dict[str, Any]]:
        """In the format, `control` behind them.  Raises InvalidProjection when they break a rule of it; `source`: as
        for `check`.
        """
        form = FORMATS[format]
        rest = [*work.messages, *control]
        start = self.beginning(work) if format == self._format and source is None else 0
        if start < max(1, self._count) or not _is_apart(rest, start):
            self._format, self._head, self._count = format, [], 0
            written = form.write(rest)
            check(written, format=format, source=source)
        else:
            self._head += form.write(rest[self._count : start])
            self._count = start
            tail = form.write(rest[start:])
            written = [*self._head, *tail]
            if violations([*form.write([_BEFORE]), *tail], format=format):
                check(written, format=format)  # which says where
        self.learn(work)
        return written


def _is_apart(messages: Sequence[Message], start: int) -> bool:
    """Whether what is written of the messages from there on does not depend on those before: no format joins them, or
    makes up ids that have to differ.
    """
    if messages[start - 1].get("role") == "assistant" == messages[start].get("role"):
        return False
    ids = [call.get("id") for call in chain.from_iterable(map(calls, messages[start:]))]
    return len(set(ids)) == len(ids) and all(isinstance(each, str) and _PLAIN_ID.fullmatch(each) for each in ids)
