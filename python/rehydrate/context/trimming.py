"""Messages of the wire within a budget, without a log: `trim`.

What comes out is valid in its format and counts at most the budget by the meter.  The last message of the user stays
whole, and is cut only when it cannot fit.  Nothing is remembered between calls: an earlier summary is known by its
text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ContextExhausted, InvalidProjection
from .given import a_count, a_list
from .ledger import Ledger
from .messages import Block, Message, calls, has_thoughts, is_request, kind_of, marked, results, text
from .meter import MESSAGE, Meter
from .plan import Plan, plan_surveyed
from .repair import repair
from .summary import read_summary
from .survey import Survey
from .units import answer_id
from .validate import violations
from .wire import Format, format_named


def trim(
    messages: Sequence[Mapping[str, Any]],
    *,
    budget: int,
    format: str = "openai-chat",
    meter: Meter | None = None,
) -> list[dict[str, Any]]:
    """The messages where they fit, else fewer of them that do; put in order and repaired where that is needed (see
    `rehydrate.context.repair`).

    `budget`: tokens of all messages, with those of the system that the list begins with; these stay.  `format`: a name
    of `FORMATS`.  `meter`: None for the usual one.  Calls at the very end that wait for their results stay open.

    Raises ContextExhausted where not even the active request, cut, fits with what must stay; ValueError for what is
    no message of the format, and no such format, or nothing that JSON can hold; InvalidProjection where a message
    that stays breaks the format's rules in a way that no repair is known for; TypeError for what is no list, number or
    meter.
    """
    form = format_named(format)
    a_list(messages, "messages")
    a_count(budget, "a budget")
    meter = Meter() if meter is None else meter
    if not isinstance(meter, Meter):
        raise TypeError(f"a meter is a `Meter(counter)`, and no {type(meter).__name__}")
    read = form.read(messages)
    pending = _pending(read)
    source = repair(read, pending=pending).messages
    survey = Survey(
        _with_summary(source),
        meter=_AsSent(meter, form),
        ledger=Ledger(),
        open_from=_last_answer(source) if pending else len(source),
    )
    limit = budget
    while True:
        plan = plan_surveyed(survey, target=limit, window=None, tail_max=limit)
        if plan.outcome == "irreducible":
            held = ", ".join(f"{holder.what} {holder.tokens:,}" for holder in plan.holders)
            raise ContextExhausted(
                f"{budget:,} tokens are too few for what cannot be left out ({held}): give a larger budget",
                holders=plan.holders,
            )
        written = form.write(plan.applied(survey.messages))
        excess = _counted(written, messages, read, form=form, meter=meter) - budget
        if excess <= 0:
            break
        limit = min(limit, plan.tokens) - excess
    if not written:
        return []
    wrong = violations(written, format=format, source=_origin(plan, survey))
    wrong = [each for each in wrong if not (pending and each.code == "unanswered_call")]
    if wrong:
        raise InvalidProjection(wrong)
    return written


def _counted(
    written: Sequence[Mapping[str, Any]],
    given: Sequence[Mapping[str, Any]],
    read: Sequence[Message],
    *,
    form: Format,
    meter: Meter,
) -> int:
    """Tokens of what leaves: `read` is what was read of `given`, and a message that leaves as it came, as far from the
    end, is not read once more.
    """
    if not form.reads_each:
        return meter.messages(form.read(written))
    tokens = 0
    new: list[Mapping[str, Any]] = []
    for at, message in enumerate(reversed(written), start=1):
        if at <= len(given) and message == given[-at]:
            tokens += meter.message(read[-at])
        else:
            new.append(message)
    return tokens + meter.messages(form.read(new[::-1]))


class _AsSent(Meter):
    """Counts the messages that the format makes of one: where it has no batches, each result is one."""

    def __init__(self, meter: Meter, form: Format) -> None:
        super().__init__(meter.counter)
        self._meter = meter
        self._has_batches = form.has_batches

    def block(self, block: Block) -> int:
        """Tokens of one block."""
        return self._meter.block(block)

    def message(self, message: Message) -> int:
        """Tokens of a message, and of those that it becomes."""
        tokens = self._meter.message(message)
        if self._has_batches or message.get("role") != "user":
            return tokens
        content = message.get("content")
        if isinstance(content, str) or (isinstance(content, list) and len(content) < 2):
            return tokens
        return tokens + MESSAGE * max(0, sum(1 for _ in results(message)) - 1)


def _origin(plan: Plan, survey: Survey) -> Sequence[Message] | None:
    """What the answers that stay were before, where it matters: to hold their thoughts against."""
    shortened = sum(kind_of(message) == "shortened" for message in plan.replacement)
    kept = survey.messages[plan.covered - shortened :]
    return kept if any(has_thoughts(message) for message in kept) else None


def _pending(messages: Sequence[Message]) -> set[str]:
    """The ids of the calls in the last answer that have no result, where the user has said nothing since."""
    last = _last_answer(messages)
    if last is None or any(is_request(message) for message in messages[last + 1 :]):
        return set()
    name = answer_id(messages[last])
    called = {str(call.get("id")) for call in calls(messages[last])}
    for message in reversed(messages[:last]):
        if is_request(message) or (message.get("role") == "assistant" and (not name or answer_id(message) != name)):
            break
        called.update(str(call.get("id")) for call in calls(message))
    waiting = called - _answered(messages[last + 1 :])
    if waiting:
        waiting -= _answered(messages)  # a result may stand anywhere
        used = Counter(str(call.get("id")) for message in messages for call in calls(message))
        waiting = {name for name in waiting if used[name] == 1}
    return waiting


def _answered(messages: Sequence[Message]) -> set[str]:
    return {str(each.get("tool_use_id")) for message in messages for each in results(message)}


def _last_answer(messages: Sequence[Message]) -> int | None:
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "assistant"), None)


def _with_summary(messages: list[Message]) -> list[Message]:
    """The summary of an earlier call marked, where the list begins with one."""
    at = next((at for at, message in enumerate(messages) if message.get("role") != "system"), None)
    if at is None or at == len(messages) - 1:
        return messages
    first = messages[at]
    if first.get("role") != "user" or read_summary(text(first.get("content"))) is None:
        return messages
    return [*messages[:at], marked(first, "summary"), *messages[at + 1 :]]
