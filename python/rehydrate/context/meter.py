"""What the next request will hold, in tokens, and what that means: the one measure that every decision is made with.

`Meter` counts messages here.  Nothing is kept between two counts but the counter's memory of texts.  Of what is no text
the bytes are never counted: an image, a recording and a document have a flat cost.  No block is free.

`measure` starts from what the provider itself has counted for the last call, where that still holds, and counts here
only what has come since.  It gives a `Snapshot`, one for each request, which never changes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rehydrate.context.messages import Block, Message, blocks
from rehydrate.context.tokens import Learnt, Ratio, TokenCounter, default_counter, raised
from rehydrate.context.usage import Usage
from rehydrate.digest import sha256

MESSAGE = 4
"""What a message costs beside its blocks, for its role and its ends."""
CALL = 4
"""What a call costs beside its name and its input."""
SCHEMA = 8
"""What the schema of a tool costs beside its text."""

FLAT = {"image": 1_600, "audio": 2_000, "video": 8_000, "document": 3_000}
"""What something other than text costs, by the type of its block.

An image of the size that Anthropic scales large ones down to is about 1,600 tokens (width x height / 750), more than
most of OpenAI's and Gemini's; a minute of sound is 1,920 of Gemini's, half a minute of its video 7,900; a page of a
document is up to 3,000 of Anthropic's.  A provider's own count corrects it after the next call.
"""


LEAST_RESERVE, MOST_RESERVE = 8_192, 32_768
"""Between these a tenth of the window is kept for the answer, where nobody has said how much."""

TOKENS_MOST = 1 << 53
"""No count in a log is larger: it is the largest that every reader of JSON can hold."""

HANDOFF_PERCENT = 70
COMPACTION_PERCENT = 80
"""Of the window less its reserve."""

Label = Literal["provider", "provider_plus_estimate", "local_estimate"]
Phase = Literal["unknown", "below_handoff", "handoff_band", "compaction_due"]


def as_json(value: object) -> str:
    """A value as the text that is counted for it; what JSON cannot hold is written as Python would print it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


class Meter:
    """Counts messages in the neutral form; see `rehydrate.context.messages`."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        """`counter`: None for `default_counter()`.  Raises TypeError for what is no counter."""
        self.counter = default_counter() if counter is None else counter
        if not callable(getattr(self.counter, "count", None)) or not hasattr(self.counter, "is_exact"):
            raise TypeError(f"a counter is a `TokenCounter`, and no {type(counter).__name__}")

    def block(self, block: Block) -> int:
        """Tokens of one block, at least 1."""
        tokens = self._block(block)
        return tokens if tokens > 1 else 1

    def _block(self, block: Block) -> int:
        kind = block.get("type")
        count = self.counter.count
        if kind == "text" and isinstance(text := block.get("text"), str):
            return count(text)
        if kind == "tool_use":
            wire = block.get("wire")
            sent = None  # the arguments as the model wrote them, blanks too
            if wire is not None and isinstance(wire, (dict, Mapping)):
                sent = wire.get("arguments")
            given = sent if isinstance(sent, str) else as_json(block.get("input"))
            return CALL + count(str(block.get("name", ""))) + count(given)
        if kind == "tool_result":
            content = block.get("content")
            return count(content) if isinstance(content, str) else self.blocks(blocks(block))
        if kind == "thinking" and isinstance(text := block.get("thinking"), str):
            return count(text)
        if kind == "redacted_thinking" and isinstance(data := block.get("data"), str):
            return -(-len(data) * 3 // 16)  # base64 of bytes that hide a text, about four of its bytes a token
        if kind == "document" and isinstance(source := block.get("source"), Mapping):
            if source.get("type") == "text":
                return count(str(source.get("data")))
            if source.get("type") == "content":
                return self.blocks(blocks(source))
        if isinstance(kind, str) and kind in FLAT:
            return FLAT[kind]
        return count(as_json(block))

    def blocks(self, these: Iterable[Block]) -> int:
        """Tokens of all of these blocks."""
        return sum(map(self.block, these))

    def message(self, message: Message) -> int:
        """Tokens of a message, at least `MESSAGE`."""
        content = message.get("content")
        if isinstance(content, str):
            return MESSAGE + self.counter.count(content)
        if len(given := blocks(message)) == 1:  # as most results have it
            return MESSAGE + self.block(given[0])
        return MESSAGE + self.blocks(given)

    def messages(self, messages: Iterable[Message]) -> int:
        """Tokens of a list of messages."""
        return sum(map(self.message, messages))

    def fixed(self, *, system: object, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of what stands before the messages in every request: `system`, a text, blocks or None, and the
        schemas of the tools in whatever form the provider takes them.
        """
        schemas = sum(SCHEMA + self.counter.count(as_json(tool)) for tool in tools or ())
        if isinstance(system, str):
            return schemas + self.counter.count(system)
        return schemas + self.blocks(blocks({"content": system}))


class Raised(Meter):
    """A meter whose counts are raised to those of a provider."""

    def __init__(self, meter: Meter, ratio: Ratio) -> None:
        super().__init__(Learnt(meter.counter, ratio))
        self._meter = meter
        self.ratio = ratio

    def block(self, block: Block) -> int:
        """Tokens of one block."""
        return raised(self._meter.block(block), self.ratio)

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        return raised(self._meter.message(message), self.ratio)

    def fixed(self, *, system: object, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of what stands before the messages."""
        return raised(self._meter.fixed(system=system, tools=tools), self.ratio)


def reserve_of(window: int, explicit: int | None = None) -> int:
    """Tokens of the window that are kept for the answer: `explicit` where the request caps its answer, else a tenth of
    the window between `LEAST_RESERVE` and `MOST_RESERVE`; never more than half the window.

    An explicit reserve as large as the window or larger comes back as it is: with it there is no room to speak of, and
    a snapshot's phase is `unknown`.
    """
    if explicit is None:
        explicit = max(LEAST_RESERVE, min(MOST_RESERVE, window // 10))
    elif explicit >= window:
        return explicit
    return max(0, min(explicit, window // 2))


def fingerprint(*, model: str, system: object, tools: Sequence[Mapping[str, Any]] | None) -> str:
    """SHA-256, in hexadecimal, of what stands before the messages in a request; the order of members is nothing."""
    fixed = [model, system or None, list(tools or ())]
    text = json.dumps(fixed, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the next request holds, and where that stands between the lines.  All numbers are tokens."""

    tokens: int
    """All of the request."""
    label: Label
    """Where `tokens` is from: the provider alone, the provider for the most part, or a count made here."""
    fixed: int
    """Of them the system and the tools, by a count made here."""
    messages: int
    """The rest of them."""
    window: int | None
    """None where nobody knows it."""
    reserve: int
    """What of the window is kept for the answer; 0 without a window."""
    available: int | None
    """The window less the reserve; None where there is no window, or nothing of it is left."""
    handoff_line: int | None
    """The first number of tokens in the hand-off band; None where `available` is."""
    compaction_line: int | None
    """The first number of tokens at which a compaction is due; None where `available` is, or the policy has no line."""
    phase: Phase
    fingerprint: str
    """Of the request: see `fingerprint`."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the provider has counted for the last call, and for what.  One that no longer holds is dropped, not kept:
    every replacement that is committed drops it.
    """

    floor: int
    """Tokens of the request and its reply."""
    sent: int
    """How many messages the request had, control messages not counted."""
    model: str
    revision: str
    """Of the history that was sent: another one for every rewriting of it."""
    fixed: int
    """Tokens of the system and the tools that were sent, by a count made here; raised by nothing."""
    fingerprint: str

    @classmethod
    def after(
        cls, usage: Usage, *, snapshot: Snapshot, fixed: int, messages: Sequence[Message], model: str, revision: str
    ) -> "Baseline | None":
        """The baseline after a call: `snapshot` and `messages` (without control messages) are those of its request, and
        `fixed` its fixed part as a meter counts that is not raised.  None where the usage does not say enough.
        """
        if usage.floor is None:
            return None
        return cls(usage.floor, len(messages), model, revision, fixed, snapshot.fingerprint)


def measure(
    messages: Sequence[Message],
    *,
    meter: Meter,
    model: str,
    system: object,
    tools: Sequence[Mapping[str, Any]] | None,
    window: int | None,
    reserve: int | None = None,
    control: Sequence[Message] = (),
    baseline: Baseline | None = None,
    replied: int = 1,
    revision: str = "",
    handoff_percent: int = HANDOFF_PERCENT,
    compaction_percent: int | None = COMPACTION_PERCENT,
) -> Snapshot:
    """The snapshot of a request that sends `messages` and after them `control`, which the log does not hold.

    `reserve`: the request's cap of its answer, None for the usual one.  `replied`: so many messages are the reply that
    `baseline` has counted, if there is one.  `revision`: of the history that `messages` are
    of.  `compaction_percent`: None for no line.

    The baseline holds while model and revision are its own and what follows the messages that it counted begins with
    the reply that it counted too; else everything is counted here.
    """
    fixed = meter.fixed(system=system, tools=tools)
    mark = fingerprint(model=model, system=system, tools=tools)
    label: Label = "local_estimate"
    if baseline and (baseline.model, baseline.revision) == (model, revision) and _replied(messages, baseline.sent):
        since = meter.messages(messages[baseline.sent + replied :]) + meter.messages(control)
        before = raised(baseline.fixed, meter.ratio) if isinstance(meter, Raised) else baseline.fixed
        tokens = baseline.floor + since + max(0, fixed - before)
        label = "provider_plus_estimate" if since or mark != baseline.fingerprint else "provider"
    else:
        tokens = fixed + meter.messages(messages) + meter.messages(control)
    kept = 0 if window is None else reserve_of(window, reserve)
    available = None if window is None or kept >= window else window - kept
    handoff = line_at(available, handoff_percent)
    compaction = line_at(available, compaction_percent)
    return Snapshot(
        tokens=tokens,
        label=label,
        fixed=fixed,
        messages=max(0, tokens - fixed),
        window=window,
        reserve=kept,
        available=available,
        handoff_line=handoff,
        compaction_line=compaction,
        phase=_phase(tokens, handoff, compaction),
        fingerprint=mark,
    )


def _replied(messages: Sequence[Message], sent: int) -> bool:
    """Whether behind the messages that were sent there is an answer."""
    return sent < len(messages) and messages[sent].get("role") == "assistant"


def line_at(available: int | None, percent: int | None) -> int | None:
    """The least whole number that is at least so many percent of what is available."""
    return None if available is None or percent is None else -(-available * percent // 100)


def _phase(tokens: int, handoff: int | None, compaction: int | None) -> Phase:
    if handoff is None:
        return "unknown"
    if compaction is not None and tokens >= compaction:
        return "compaction_due"
    return "handoff_band" if tokens >= handoff else "below_handoff"
