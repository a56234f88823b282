"""What is known of a list of messages before a compaction of it is planned."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from .errors import Holder
from .ledger import Ledger
from .messages import FOREIGN, Message, calls, kind_of, mark_of, squeezed, text
from .meter import Meter
from .statements import Statement, statements, unstated
from .summary import FileText, Summary, read_summary, summarise
from .units import open_calls, units

_UNBOUNDED = 1 << 40
FIRST_CHARS = 600
"""Of what was asked for first."""
NOTE_CHARS = 120
"""Of a line about what is left out."""


def first_open(messages: Sequence[Message]) -> int:
    """The message with the first call that no result has come for; behind all of them where there is none."""
    waiting = open_calls(messages)
    return waiting[0][0] if waiting else len(messages)


class Survey:
    """What is known of a list of messages before anything is decided."""

    def __init__(
        self,
        messages: Sequence[Message],
        *,
        meter: Meter,
        ledger: Ledger,
        pinned: Collection[int] = frozenset(),
        files: Sequence[FileText] = (),
        open_from: int | None = None,
    ) -> None:
        """Arguments as for `plan`."""
        self.messages = messages
        self.meter = meter
        self.files = files
        self.units = units(messages)
        for unit in self.units:
            unit.tokens = sum(meter.message(message) for message in messages[unit.start : unit.stop])
        self.total = sum(unit.tokens for unit in self.units)
        self.given = ledger
        self._known: tuple[Ledger, list[Statement]] | None = None
        self._earlier: list[Summary] | None = None
        self._stated: dict[int, frozenset[str]] = {}
        kinds = [kind_of(messages[unit.start]) for unit in self.units]
        self.lead = next((at for at, unit in enumerate(self.units) if unit.kind != "system"), len(self.units))
        """Units of the system that everything begins with."""
        self.first = max((at + 1 for at, kind in enumerate(kinds) if kind == "summary"), default=self.lead)
        """The first unit that may stay: what an earlier summary speaks of goes with it."""
        self.pinned = frozenset(
            at
            for at, unit in enumerate(self.units)
            if kinds[at] == "pinned" or any(index in pinned for index in range(unit.start, unit.stop))
        )
        told = ("summary", FOREIGN)
        self._requests = [at for at, unit in enumerate(self.units) if unit.kind == "request" and kinds[at] not in told]
        self.request = self._requests[-1] if self._requests else None
        """The unit of the active request."""
        if open_from is None:
            open_from = first_open(messages)
        self.forced = next((at for at, unit in enumerate(self.units) if unit.stop > open_from), len(self.units))
        """The first unit from which on nothing is covered."""

    def known(self) -> tuple[Ledger, list[Statement]]:
        """The ledger with what the messages add, and what the user has said that holds."""
        if self._known is None:
            earlier = [statement for each in self.earlier() for statement in each.statements]
            self._known = self.given.absorb(self.messages), statements(self.messages, earlier=earlier)
        return self._known

    def earlier(self) -> list[Summary]:
        """The summaries among the messages."""
        if self._earlier is None:
            found = (read_summary(text(each.get("content"))) for each in self.messages if kind_of(each) == "summary")
            self._earlier = [each for each in found if each is not None]
        return self._earlier

    def first_asked(self) -> tuple[int | None, str | None]:
        """What was asked for first, one line, and the unit that it stands in; no unit: an earlier summary has it."""
        for each in self.earlier():
            if each.first:
                return None, each.first
        at = self._requests[0] if self._requests else None
        return at, None if at is None else self.asked(at, FIRST_CHARS)

    def asked(self, at: int, chars: int) -> str:
        """What a request asks for, in one line of about so many characters.  What it states is not in it: that may no
        longer hold, and is in the summary where it does.
        """
        said = text(self.of(at)[0].get("content"))[: chars * 2]
        return squeezed(unstated(said) if self.stated(at) else said, chars)

    def lines_about(self, at: int) -> Iterator[str]:
        """What to say of a unit that is left out, its last line first."""
        unit, messages = self.units[at], self.of(at)
        if unit.kind == "request" and (asked := self.asked(at, NOTE_CHARS)):
            yield f"asked: {asked}"
        if unit.kind == "answer" and (said := squeezed(text(messages[0].get("content")), NOTE_CHARS)):
            yield f"answered: {said}"
        for call in reversed(list(calls(messages[0]))):
            given = call.get("input")
            told = next((v for v in given.values() if isinstance(v, str)), "") if isinstance(given, dict) else ""
            told = squeezed(told, NOTE_CHARS)
            yield f"called {call.get('name')}{': ' if told else ''}{told}"

    def stated(self, at: int) -> Collection[str]:
        """The texts of what the user states in a unit."""
        if self.units[at].kind != "request":
            return ()
        if at not in self._stated:
            self._stated[at] = frozenset(statement.text for statement in statements(self.of(at)))
        return self._stated[at]

    def of(self, at: int) -> Sequence[Message]:
        """The messages of a unit."""
        return self.messages[self.units[at].start : self.units[at].stop]

    def tokens(self, ats: Collection[int]) -> int:
        """Of the units with these numbers."""
        return sum(self.units[at].tokens for at in ats)

    def tokens_from(self, index: int) -> int:
        """Of the messages from this one on, with which a unit begins."""
        return sum(unit.tokens for unit in self.units if unit.start >= index)

    def settled(self, *, target: int, window: int | None) -> object:
        """The outcome of an earlier plan for the same, whose messages these are; None: they are others."""
        for message in self.messages:
            done = mark_of(message).get("plan")
            if isinstance(done, Mapping) and done.get("tokens") == self.total:
                return done.get("outcome") if (done.get("target"), done.get("window")) == (target, window) else None
        return None

    def holders(self) -> tuple[Holder, ...]:
        """What nothing can free, the largest first."""
        before = range(self.forced)
        parts = {
            "system": self.tokens(range(self.lead)),
            "pinned": self.tokens([at for at in before if at in self.pinned]),
            "ledger": self.ledger_tokens(),
            "open calls": self.tokens(range(self.forced, len(self.units))),
            "request": 0
            if self.request is None or self.request in self.pinned or self.request >= self.forced
            else self.units[self.request].tokens,
        }
        found = [Holder(what, tokens) for what, tokens in parts.items() if tokens]
        return tuple(sorted(found, key=lambda holder: -holder.tokens))

    def ledger_tokens(self) -> int:
        """Of a summary that holds the items that give way to nothing, and nothing else; 0 where there are none."""
        ledger, _ = self.known()
        if not ledger.exact:
            return 0
        made = summarise(ledger=Ledger(ledger.exact), statements=(), budget=_UNBOUNDED, meter=self.meter.counter)
        return self.meter.message({"role": "user", "content": made.text})
