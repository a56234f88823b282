"""What of a log a model is sent: a token budget, pruning, compaction, and checkpoints that survive a crash.

    from rehydrate.context import Engine, Policy, Request
    from rehydrate.session import Sessions

    with Sessions("sessions").new(cwd) as log:
        engine = Engine(log, window=200_000, policy=Policy(tools={"read_file": "read"}))
        request = Request(model="...", format="anthropic", system="...", tools=schemas)
        engine.append({"role": "user", "content": "What is in this folder?"})
        projection = engine.prepare(request)  # compacted where that is due, and durably so
        response = call_the_model(**projection.body())
        engine.observe(response["usage"], response)  # durably where it calls tools

An `Engine` belongs to one log.  `trim(messages, budget=100_000)` does without one: nothing is remembered between two
calls.  The submodules are loaded when a name of theirs is first asked for.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import AsyncEngine
    from .checkpoint import Checkpoint
    from .engine import Engine
    from .errors import (
        BadCheckpoint,
        CommitFailed,
        CompactionBlocked,
        ContextError,
        ContextExhausted,
        Holder,
        InvalidProjection,
        OutputCapped,
        Refused,
        Superseded,
        Violation,
        WindowFull,
    )
    from .hooks import Compacting, Prepared
    from .hostledger import HostLedger
    from .ledger import HEADINGS, Item, Ledger
    from .messages import Block, Message
    from .meter import Meter, Snapshot
    from .policy import Policy
    from .projection import Projection, Request
    from .refusals import Refusal, classify
    from .results import Replacement
    from .summariser import Aborted, Summariser, SummaryRequest
    from .tokens import Estimate, Exact, Learnt, TokenCounter, default_counter
    from .trimming import trim
    from .usage import Usage, usage_of
    from .validate import check, violations
    from .verifying import Finding, Verified, verify
    from .wire import FORMATS, Format

__all__ = [
    "FORMATS",
    "HEADINGS",
    "Aborted",
    "AsyncEngine",
    "BadCheckpoint",
    "Block",
    "Checkpoint",
    "CommitFailed",
    "Compacting",
    "CompactionBlocked",
    "ContextError",
    "ContextExhausted",
    "Engine",
    "Estimate",
    "Exact",
    "Finding",
    "Format",
    "Holder",
    "HostLedger",
    "InvalidProjection",
    "Item",
    "Learnt",
    "Ledger",
    "Message",
    "Meter",
    "OutputCapped",
    "Policy",
    "Prepared",
    "Projection",
    "Refusal",
    "Refused",
    "Replacement",
    "Request",
    "Snapshot",
    "Summariser",
    "SummaryRequest",
    "Superseded",
    "TokenCounter",
    "Usage",
    "Verified",
    "Violation",
    "WindowFull",
    "check",
    "classify",
    "default_counter",
    "trim",
    "usage_of",
    "verify",
    "violations",
]

_MODULES = {
    **dict.fromkeys(("BadCheckpoint", "CommitFailed", "ContextError", "ContextExhausted", "Holder"), "errors"),
    **dict.fromkeys(("CompactionBlocked", "InvalidProjection", "OutputCapped", "Refused"), "errors"),
    **dict.fromkeys(("Superseded", "Violation", "WindowFull"), "errors"),
    **dict.fromkeys(("Compacting", "Prepared"), "hooks"),
    **dict.fromkeys(("HEADINGS", "Item", "Ledger"), "ledger"),
    **dict.fromkeys(("Block", "Message"), "messages"),
    **dict.fromkeys(("Meter", "Snapshot"), "meter"),
    **dict.fromkeys(("Projection", "Request"), "projection"),
    **dict.fromkeys(("Refusal", "classify"), "refusals"),
    **dict.fromkeys(("Aborted", "Summariser", "SummaryRequest"), "summariser"),
    **dict.fromkeys(("Estimate", "Exact", "Learnt", "TokenCounter", "default_counter"), "tokens"),
    **dict.fromkeys(("Usage", "usage_of"), "usage"),
    **dict.fromkeys(("check", "violations"), "validate"),
    **dict.fromkeys(("Finding", "Verified", "verify"), "verifying"),
    **dict.fromkeys(("FORMATS", "Format"), "wire"),
    "AsyncEngine": "aio",
    "Checkpoint": "checkpoint",
    "Engine": "engine",
    "HostLedger": "hostledger",
    "Policy": "policy",
    "Replacement": "results",
    "trim": "trimming",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
