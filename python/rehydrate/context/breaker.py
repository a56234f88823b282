"""When a model is not asked for a summary any more: after `LIMIT` failures in a row, until something has changed.

A model that cannot write a summary today is asked for one again at the next compaction, and each time that costs calls
and the time until they fail.  An open breaker leaves compactions to the plan that needs no model; a new request of the
user, another window or `HALF_OPEN_S` lets one attempt through, and that closes it, or opens it anew.

Pure: what happened stands in a record of the log, and the clock is passed in.  A record tells whose it is: a fork has
the one of its parent among its own, and it does not count there.  What the user stops is no failure, and is not told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal

from .records import BREAKER, Record

LIMIT = 3
"""Failures in a row that open it."""
HALF_OPEN_S = 600.0
"""Ten minutes: most outages of a provider are over, and an agent that works on was slowed down by one attempt."""

Phase = Literal["closed", "half_open", "open"]
"""`closed`: a model may be asked, as often as it takes.  `half_open`: once.  `open`: not at all."""


def breaker_key(*, workspace: str, session: str) -> str:
    """Whose breaker it is: a digest of both.  `workspace`: what stands for the working directory.  `session`: the id of
    the session, with that of the subagent where it is the log of one.
    """
    return sha256(f"{workspace}\n{session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Breaker:
    """How asking a model for summaries has gone in one session."""

    key: str
    """As `breaker_key` makes it."""
    failures: int = 0
    """In a row, until now."""
    opened_s: float | None = None
    """When it opened, in seconds since the epoch; None: it is closed."""
    window: int | None = None
    """Of the model then, in tokens; None: nobody knew it."""
    asked: str = ""
    """The user's last request then, by uuid; empty: the conversation had none any more."""

    @classmethod
    def of(cls, record: Mapping[str, Any] | None, *, key: str) -> "Breaker":
        """The one that a record tells of; a closed one where there is none, or it is another's or none that was written
        here.
        """
        if record is None or record.get("key") != key:
            return cls(key)
        failures, opened_s = record.get("failures"), record.get("opened_s")
        window, asked = record.get("window"), record.get("asked")
        if type(failures) is not int or failures < 0 or not isinstance(asked, str):
            return cls(key)
        if opened_s is not None and type(opened_s) not in (int, float):
            return cls(key)
        return cls(key, failures, opened_s, window if type(window) is int else None, asked)

    def phase(self, *, window: int | None, asked: str, now_s: float) -> Phase:
        """Whether a model may be asked now.

        `window`: of the model.  `asked`: the user's last request, by uuid; empty where the conversation holds none, as
        a compaction may have covered it: that is nothing new.
        """
        if self.opened_s is None:
            return "closed"
        is_new = asked not in ("", self.asked) or window != self.window
        return "half_open" if is_new or not 0 <= now_s - self.opened_s < HALF_OPEN_S else "open"

    def failed(self, *, window: int | None, asked: str, now_s: float) -> "Breaker":
        """After another failure: of the last attempt of a compaction, not of each call."""
        failures = self.failures + 1
        if failures < LIMIT:
            return replace(self, failures=failures)
        return Breaker(self.key, failures, now_s, window, asked or self.asked)

    def succeeded(self) -> "Breaker":
        """After a summary of a model that was committed."""
        return Breaker(self.key)

    def record(self, *, after: str | None) -> Record:
        """What the log is told.  A compaction leaves behind what was recorded before it, so one that does not close the
        breaker has to be followed by this anew.
        """
        told = {"failures": self.failures, "opened_s": self.opened_s, "window": self.window, "asked": self.asked}
        return {"type": BREAKER, "after": after, "key": self.key, **told}
