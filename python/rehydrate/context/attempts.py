"""A summary asked of a model, again where that may help, and never more often than it may be asked.

Nothing here waits, and nothing knows the time: that is for whoever runs the calls.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutine
from typing import Any, Literal

from ..redact import mask
from .answers import Lack, NoSummary, text_of
from .errors import words_of
from .prose import TEXT_CHARS
from .refusals import Refusal, classify
from .summariser import MAX_TOKENS, SYSTEM, Material, Summariser, SummaryRequest, is_stop

ATTEMPTS = 3
"""Calls of a summariser in one compaction, whatever the reasons."""
OVERFLOW_PERCENT = 50
"""Of a request that was too large: so much is sent the next time, where the provider does not say how much it takes."""
SURE_PERCENT = 95
"""Of what the provider says it takes: its count is not ours."""
SAID_CHARS, ERROR_CHARS = 20_000, 300
"""Of an error: so many are looked at for secrets, and so many told."""

FailureCode = Literal[
    "circuit_open",
    "context_exhausted",
    "deterministic",
    "empty_exhausted",
    "insufficient_reduction",
    "transient_exhausted",
]
"""Why there is no summary of a model: it was not to be asked; its own request would not fit; an error that comes again
each time; empty, refusing or shapeless answers; too long ones; errors that pass, which did not."""

_LASTING = frozenset({"auth", "media", "malformed"})
"""Kinds of refusals that come again each time: the request holds one text, and nothing of it would change."""
_WRONG = (
    *(AssertionError, AttributeError, ImportError, LookupError, MemoryError, NameError, NotImplementedError),
    *(RecursionError, SyntaxError, TypeError),
)
"""Errors of a program, which it will have the next time, too."""
_REMARKS: Mapping[Lack, str] = {
    "empty": "Your answer before this was empty. Write the notes.",
    "refusal": "Your answer before this declined. You are asked for nothing but notes on what is quoted above.",
    "tool_calls": "Your answer before this called a tool. There are none: write the notes as text.",
    "not_text": "Your answer before this had none of the seven headings. Begin with the first of them.",
    "cut_off": "Your answer before this was cut off before its end. Write half as much.",
}


@dataclass(frozen=True, slots=True)
class Told:
    """What a model has written."""

    text: str
    attempts: int
    """So often it was asked."""


@dataclass(frozen=True, slots=True)
class Failed:
    """It has written nothing that can be used."""

    code: FailureCode
    error: str
    """What was wrong the last time, in a sentence or as the provider has it; secrets masked."""
    attempts: int


def ask(
    summariser: Summariser,
    material: Material,
    *,
    format: str,
    judge: Callable[[str], bool],
    run: Callable[[Callable[[], Any], float], Any],
    attempts: int = ATTEMPTS,
    max_tokens: int = MAX_TOKENS,
) -> Told | Failed:
    """The text of a summary, or why there is none.

    `material`: not empty.  `format`: of a response that the summariser gives whole.  `judge`: whether what is made of
    a text is small enough; what it raises comes out of here.  `run`: calls what it is given and gives what that gives,
    or raises TimeoutError after so many seconds.  `max_tokens`: of an answer.  `Aborted` and what is no `Exception`
    come out of here as they are.
    """
    remark, handled = "", sys.exc_info()[1]
    failed = Failed("empty_exhausted", "there is nothing to summarise", 0)
    for attempt in range(1, attempts + 1):
        request = SummaryRequest(SYSTEM, material.prompt(remark), max_tokens=max_tokens, attempt=attempt)
        try:
            text = _text(run(partial(summariser, request), request.timeout_s), format)
        except NoSummary as error:
            remark = _REMARKS[error.lack]
            code: FailureCode = "insufficient_reduction" if error.lack == "cut_off" else "empty_exhausted"
            failed = Failed(code, str(error), attempt)
            continue
        except Exception as error:
            if is_stop(error):
                raise
            _part(error, handled)
            found = classify(error.body if isinstance(error, _Refused) else error)
            failed = Failed(_code(error, found), _told(error), attempt)
            if failed.code == "context_exhausted":
                if found.limit is not None:
                    max_tokens = max(1, min(max_tokens, found.limit // 2))
                less = _less(material, found, answer=max_tokens)
                if less is None:
                    return failed
                material = less
            elif failed.code == "deterministic":
                return failed
            continue
        if len(text) <= TEXT_CHARS and judge(text):
            return Told(text, attempt)
        remark = f"Your answer before this was too long, with {len(text):,} characters. Write half as many at most."
        failed = Failed("insufficient_reduction", "what the model has written takes more room than there is", attempt)
    return failed


def _part(error: BaseException, handled: BaseException | None) -> None:
    """Free an error of the one that was being handled when the model was asked, as of the refusal of a request that is
    compacted for it: Python links them, and what that one says this one does not.
    """
    if handled is None:
        return
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        if link.__context__ is handled:
            link.__context__ = None
        link = link.__context__


class _Refused(Exception):
    """A response that is the report of an error, given where it should have been raised."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("error")))
        self.body = body


def _text(reply: Any, format: str) -> str:
    if isinstance(reply, Mapping) and reply.get("error"):
        raise _Refused(reply)
    if iscoroutine(reply):
        reply.close()  # it would be warned of as never awaited
    return text_of(reply, format=format)


def _code(error: Exception, refusal: Refusal) -> FailureCode:
    if refusal.kind == "context":
        return "context_exhausted"
    status = getattr(error, "status_code", None)
    is_wrong = isinstance(error, _WRONG) or (isinstance(status, int) and 400 <= status < 500)
    if refusal.kind in _LASTING or (refusal.kind == "other" and is_wrong):
        return "deterministic"
    return "transient_exhausted"


def _less(material: Material, refusal: Refusal, *, answer: int) -> Material | None:
    """What to send where so much was too much: what the provider says that it takes, or half, or less at any rate; None
    where nothing more can go.  `answer`: the tokens that are kept for that.
    """
    most = material.tokens * OVERFLOW_PERCENT // 100
    if refusal.limit is not None:
        most = (refusal.limit - answer) * SURE_PERCENT // 100
        most = most * material.tokens // refusal.tokens if refusal.tokens else most
    less = material.smaller()
    return less and (less.within(most) or less)


def _told(error: Exception) -> str:
    said = " ".join(words_of(error)[:SAID_CHARS].split())
    return mask(f"{type(error).__name__}: {said}" if said else type(error).__name__)[:ERROR_CHARS]
