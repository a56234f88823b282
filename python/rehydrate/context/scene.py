"""What a decision is made from: what the log holds, as the messages that the next request would have, and one measure
of them.

Between two requests nearly all of that stays the same.  A `Stage` remembers what each message counts and the digest of
each beginning of the list, by the message itself; what it gives is what it would give without.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from hashlib import sha256
from typing import Any

from . import records
from .assembling import Assembled, Assembler, assemble
from .errors import Holder
from .messages import Block, Message, blocks, is_hidden, results
from .meter import FLAT, TOKENS_MOST, Baseline, Meter, Raised, Snapshot, measure
from .policy import Policy
from .projection import Request
from .results import media_of
from .state import State
from .tokens import SAME, Ratio, taught
from .usage import Usage, usage_of

REMEMBERED = 8_192
"""So many messages are remembered at most; then they are counted anew."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment of a conversation, before a request."""

    state: State
    work: Assembled
    request: Request
    snapshot: Snapshot
    """The one measure that everything is decided from."""
    revision: str
    """Digest of the messages that are in the log."""

    @property
    def messages(self) -> Sequence[Message]:
        """What is sent, in the neutral form: that of the log, and last what is for this call alone."""
        control = self.request.control
        return [*self.work.messages, *control] if control else self.work.messages

    def spoken(self) -> "Scene":
        """The same without what nobody has said: what a compaction is made of.  The measure stays that of all."""
        said = [each for each in self.state.said if not is_hidden(each.message)]
        if len(said) == len(self.state.said):
            return self
        return replace(self, work=assemble(self.state.inherited, said))

    @property
    def altered(self) -> int:
        """So many of the messages, from the first on, are not all as their entries say: something is left out."""
        work, known = self.work, self.state.altered
        if not known:
            return 0
        is_changed = (any(work.said[each].uuid in known for each in places) for places in work.sources)
        return max((at for at, changed in enumerate(is_changed, 1) if changed), default=0)

    def decided(self, kind: str | None = None) -> Callable[[Block], bool]:
        """Which results are left as they are: something was put in their place (of that `kind`; None: of any), they are
        pinned, or in the checkpoint, where nothing is put in the place of anything.

        Ids are not asked alone: some models use one again in every answer.
        """
        work, known, pins = self.work, self.state.replaced, self.state.pins
        found: set[int] = set()
        for said in work.said[: work.inherited]:
            found.update(id(block) for block in results(said.message))
        if known or pins:
            for said in work.said[work.inherited :]:
                for block in results(said.message):
                    replaced_as = known.get((said.uuid, str(block.get("tool_use_id"))))
                    if said.uuid in pins or (replaced_as is not None and kind in (None, replaced_as)):
                        found.add(id(block))
        return lambda block: id(block) in found

    def held(self, holders: Sequence[Holder]) -> tuple[Holder, ...]:
        """What a plan says that holds the space, with the fixed part; the largest first."""
        fixed = [Holder("system and tools", self.snapshot.fixed)] if self.snapshot.fixed else []
        return tuple(sorted([*fixed, *holders], key=lambda each: -each.tokens))


class Stage:
    """Looks at a conversation for one engine; for one thread at a time.

    Raises ValueError for a window that is none, TypeError for what is no meter or policy.
    """

    def __init__(self, *, window: int | None, meter: Meter, policy: Policy) -> None:
        if window is not None and (type(window) is not int or window <= 0):
            raise ValueError(
                f"a window is a number of tokens above 0, or None where nobody knows it; not {window!r:.80}"
            )
        if not isinstance(meter, Meter):
            raise TypeError(f"a meter is a `Meter(counter)`, and no {type(meter).__name__}")
        if not isinstance(policy, Policy):
            raise TypeError(f"a policy is a `Policy(...)`, and no {type(policy).__name__}")
        self.window = window
        self.plain = Remembering(meter)
        """The host's meter: what it counts of a message never changes."""
        self.meter: Meter = self.plain
        """The same, raised to what the provider of the last scene's model has counted."""
        self.policy = policy
        self._assembler = Assembler()
        self._chain = _Chain()

    def scene(self, state: State, request: Request) -> Scene:
        """What the next request would be made of."""
        work = self._assembler.assemble(state.inherited, state.said)
        digests = self._chain.digests(work.messages)
        self.meter = self._raised(state.learnt.get(request.model, SAME))
        baseline = _baseline(state.usage, digests)
        snapshot = measure(
            work.messages,
            meter=self.meter,
            model=request.model,
            system=request.system,
            tools=request.tools,
            window=self.window,
            reserve=self.policy.reserve,
            control=request.control,
            baseline=baseline,
            replied=1 if baseline is None or state.usage is None else _replied(work, baseline.sent, state.usage),
            revision="" if baseline is None else baseline.revision,
            handoff_percent=self.policy.handoff_percent,
            compaction_percent=self.policy.compaction_percent,
        )
        return Scene(state, work, request, snapshot, digests[-1].hex() if digests else "")

    def _raised(self, ratio: Ratio) -> Meter:
        if ratio[0] == ratio[1]:
            return self.plain
        known = isinstance(self.meter, Raised) and self.meter.ratio == ratio
        return self.meter if known else Raised(self.plain, ratio)

    def counted(
        self, scene: Scene, usage: Mapping[str, Any] | None, *, provider: str | None
    ) -> Callable[..., records.Record]:
        """What makes the record of a provider's count of a scene, for an entry `after`.

        `provider`: None: that of the format of the request.  Raises TypeError for what is no usage, ValueError for one
        that cannot be read.
        """
        request = scene.request
        counted = usage_of({} if usage is None else usage, provider=provider or request.format)
        baseline = Baseline.after(
            counted,
            snapshot=scene.snapshot,
            fixed=self.fixed(request),
            messages=scene.work.messages,
            model=request.model,
            revision=scene.revision,
        )
        return partial(records.usage, baseline, sample=self.sample(scene, counted), format=request.format)

    def sample(self, scene: Scene, usage: Usage) -> Ratio | None:
        """What the count of a provider teaches of its vocabulary; None for nothing that is not known."""
        if usage.prompt is None:
            return None
        known = scene.state.learnt.get(scene.request.model, SAME)
        ours = self.fixed(scene.request) + self.plain.messages(scene.messages)
        if taught(known, ours=ours, theirs=usage.prompt) == known or any(map(_shows, scene.messages)):
            return None  # what is seen and heard has a flat cost here
        return usage.prompt, ours

    def fixed(self, request: Request) -> int:
        """Tokens of the system and the tools, raised by nothing."""
        return self.plain.fixed(system=request.system, tools=request.tools)


def _shows(message: Message) -> bool:
    return any(
        block.get("type") in FLAT or (block.get("type") == "tool_result" and media_of(block.get("content")))
        for block in blocks(message)
    )


def _baseline(said: Mapping[str, Any] | None, digests: Sequence[bytes]) -> Baseline | None:
    """What the provider has counted, where what it has counted is what the messages still begin with."""
    if said is None or said.get("floor") is None:
        return None
    members: dict[str, Any] = {each.name: said.get(each.name) for each in fields(Baseline)}
    found = Baseline(**members)
    if not all(type(each) is int and 0 <= each <= TOKENS_MOST for each in (found.floor, found.sent, found.fixed)):
        return None  # no engine has written that
    holds = 0 < found.sent <= len(digests) and digests[found.sent - 1].hex() == found.revision
    return found if holds else None


def _replied(work: Assembled, sent: int, usage: Mapping[str, Any]) -> int:
    """How many messages behind those that were sent are the answer: an answer that came as several messages without an
    id is not one message, and the record of its count names its last entry.
    """
    stop = sent + 1
    last: int | None = None
    while stop < len(work.messages) and work.messages[stop].get("role") == "assistant":
        if last is None:  # nearly never is there a second one
            places = range(len(work.said) - 1, -1, -1)
            last = next((at for at in places if work.said[at].uuid == usage.get("after")), -1)
        if min(work.sources[stop], default=len(work.said)) > last:
            break
        stop += 1
    return stop - sent


class Remembering(Meter):
    """A meter that knows a message again."""

    def __init__(self, meter: Meter) -> None:
        super().__init__(meter.counter)
        self._meter = meter
        self._known: dict[int, tuple[Message, int]] = {}

    def message(self, message: Message) -> int:
        """As the meter counts."""
        known = self._known.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        tokens = self._meter.message(message)
        self._known[id(message)] = message, tokens
        return tokens

    def block(self, block: Block) -> int:
        """As the meter counts."""
        return self._meter.block(block)

    def fixed(self, *, system: object, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """As the meter counts."""
        return self._meter.fixed(system=system, tools=tools)


class _Chain:
    """Digests of the beginnings of a list that grows at its end."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._digests: list[bytes] = []

    def digests(self, messages: Sequence[Message]) -> list[bytes]:
        """For each message the digest of the list up to it and with it."""
        same = 0
        for known, message in zip(self._messages, messages, strict=False):
            if known is not message:
                break
            same += 1
        del self._messages[same:], self._digests[same:]
        last = self._digests[-1] if self._digests else b""
        for message in messages[same:]:
            last = sha256(last + _canonical(message)).digest()
            self._messages.append(message)
            self._digests.append(last)
        return self._digests


def _canonical(message: Message) -> bytes:
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()
