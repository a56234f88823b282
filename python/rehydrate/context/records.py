"""What an engine writes into the log beside checkpoints: records that are no entries of the conversation.

Each names in `after` the entry that it came after (None: none was there yet), so that it holds on the lines of descent
through that entry and on no other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from .errors import Holder
from .meter import Baseline
from .tokens import Ratio

LEDGER = "context-ledger"
"""An item of the ledger that the host put or closed."""
PIN = "context-pin"
"""A message that every compaction keeps word for word."""
USAGE = "context-usage"
"""What the provider has counted."""
ATTEMPT = "compaction-attempt"
"""How a compaction goes: `open`, and then `done`, `failed` or `interrupted`."""
HANDOFF = "context-handoff"
"""The model was told how full its context is."""
CONTINUE = "context-continue"
"""The model was told to go on where its answer was cut off."""
BREAKER = "context-breaker"
"""How often asking a model for a summary has failed."""
REFUSAL = "context-refusal"
"""The provider has refused a request, and something was done about it."""
OMITTED = "context-omitted"
"""Media and thoughts that are no longer sent."""
TYPES = frozenset({LEDGER, PIN, USAGE, ATTEMPT, HANDOFF, CONTINUE, BREAKER, REFUSAL, OMITTED})

HIDDEN = frozenset({HANDOFF, CONTINUE})
"""Of which a model is told something that nobody has said; copies of a session have none of them."""

Record = dict[str, Any]


def put(heading: str, payload: str, *, status: str, supersedes: str | None, after: str | None) -> Record:
    """An item is put into the ledger."""
    item = {"heading": heading, "payload": payload, "status": status, "supersedes": supersedes}
    return {"type": LEDGER, "after": after, "put": item}


def close(item_id: str, *, status: str, after: str | None) -> Record:
    """An item of the ledger is closed."""
    return {"type": LEDGER, "after": after, "close": {"id": item_id, "status": status}}


def pin(uuid: str, *, after: str | None) -> Record:
    """A message is pinned."""
    return {"type": PIN, "after": after, "messageUuid": uuid}


def go_on(*, after: str | None) -> Record:
    """The model is to go on with the answer `after`, which was cut off."""
    return {"type": CONTINUE, "after": after}


def attempt_id(*, after: str | None, reason: str) -> str:
    """The same for the same attempt, so that one that is made again settles the one before."""
    return sha256(f"{after}\n{reason}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A compaction that could not free enough."""

    key: str
    """Under what conditions."""
    tokens: int
    """What is left."""
    holders: tuple[Holder, ...]
    """What holds it."""


def attempt(
    name: str,
    state: str,
    *,
    after: str | None,
    stuck: Stuck | None = None,
    failure: str | None = None,
    error: str | None = None,
    learnt: Mapping[str, Ratio] | None = None,
) -> Record:
    """How an attempt stands; `stuck`: that it could not free enough; `failure`: why no model has written a summary,
    `error`: in whose words; `learnt`: what is known of the vocabularies of models, by records that may be covered now.
    """
    record: Record = {"type": ATTEMPT, "attempt": name, "state": state, "after": after}
    if failure is not None:
        record["failure"] = failure
    if error is not None:
        record["error"] = error
    if learnt:
        record["learnt"] = {model: list(ratio) for model, ratio in learnt.items()}
    if stuck is not None:
        holders = [{"what": each.what, "tokens": each.tokens} for each in stuck.holders]
        record["irreducible"] = {"key": stuck.key, "tokens": stuck.tokens, "holders": holders}
    return record


def refusal(kind: str, *, after: str | None) -> Record:
    """A request was refused behind the message `after`, for that kind of reason, and something was done about it."""
    return {"type": REFUSAL, "after": after, "kind": kind}


def omitted(digests: Sequence[str] = (), *, thoughts: bool = False, after: str | None) -> Record:
    """Media with these digests are no longer sent; `thoughts`: and none of the thoughts until here."""
    said: Record = {"digests": list(digests)} if digests else {}
    return {"type": OMITTED, "after": after, **said, **({"thoughts": True} if thoughts else {})}


def usage(baseline: Baseline | None, *, format: str, after: str | None, sample: Ratio | None = None) -> Record:
    """What the provider has counted; None: it did not say, and what it said before no longer counts.  `format`: of the
    request.  `sample`: what it has counted of the whole request, and what we have, where that is news.
    """
    learnt = {} if sample is None else {"sample": list(sample)}
    return {"type": USAGE, "after": after, "format": format, **({} if baseline is None else asdict(baseline)), **learnt}
