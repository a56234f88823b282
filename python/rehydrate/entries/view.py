"""The views of a transcript: everything on its line of descent, and what the model is sent of it.

*Full*: from the first entry to the last, past every compaction.  *Model*: from the newest compaction on, with what it
kept behind its summary, and less what cannot be sent: calls without an answer, answers that hold nothing but thoughts
or nothing at all, reports of failed requests.  What is left out is listed with the reason, never just gone.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from rehydrate.dataclass import dataclass, replace

from . import messages
from .chain import Chain, Gap, descent, walk
from .compaction import Preserved, preserved
from .ends import leaf
from .log import Log, Record, member
from .metadata import metadata, replaced, replacements
from .scope import Scope, boundaries, own_summary, summary_in
from .tools import with_siblings

THOUGHTS = ("thinking", "redacted_thinking")
"""Types of the blocks of an answer that are not said."""


@dataclass(frozen=True, slots=True)
class View:
    """Entries of one scope in the order in which they were said."""

    entries: tuple[int, ...] = ()
    boundary: int | None = None
    """The compaction that it begins with; None: it begins with the conversation."""
    summary: int | None = None
    """What that compaction left of what came before; the boundary where that holds it itself."""
    preserved: tuple[int, ...] = ()
    """What it kept word for word, in the order of the view."""
    gaps: tuple[Gap, ...] = ()
    """Where the line of descent is broken."""
    compactions: tuple[int, ...] = ()
    """The boundaries in it, oldest first."""
    left_out: tuple[tuple[int, str], ...] = ()
    """Entries of the line of descent that it does not hold, and why."""


def full_view(scope: Scope, *, tip: int | None = None) -> View:
    """Everything said up to `tip` (None: the end of the conversation), whatever was compacted since."""
    tip = leaf(scope) if tip is None else tip
    if tip is None:
        return View()
    chain = descent(scope, tip)
    return _whole(scope, chain, _removed(scope, chain))


def scrollback(scope: Scope, *, tip: int | None = None) -> View:
    """As the full view, with what was taken out of its middle: a person has seen that."""
    tip = leaf(scope) if tip is None else tip
    return View() if tip is None else _whole(scope, descent(scope, tip), [])


def active_view(scope: Scope, *, tip: int | None = None, void: Collection[int] = ()) -> View:
    """What the conversation goes on from at `tip` (None: its end): since the newest compaction, with what that kept.

    `void`: compactions that do not count, as what they say is damaged; they are passed like any entry.
    """
    tip = leaf(scope) if tip is None else tip
    if tip is None:
        return View()
    chain, boundary, kept = _since_boundary(scope, tip, void)
    entries, left_out = _kept(scope, chain, _removed(scope, chain), after=-1 if boundary is None else boundary)
    log = scope.log
    summary = None
    if boundary is not None:
        told = (i for i in entries if log.types[i] == "user" and messages.is_summary(log.record(i)))
        summary = next(told, None)
        if summary_in(scope, boundary) or (summary is None and _tells_itself(scope, boundary)):
            summary = boundary  # the line may go on from the boundary itself, beside the entry with the summary
    in_view = frozenset(entries)
    return View(
        tuple(entries),
        boundary,
        summary,
        tuple(index for index in kept.entries if index in in_view),
        chain.gaps,
        () if boundary is None else (boundary,),
        tuple(left_out.items()),
    )


def model_view(scope: Scope) -> View:
    """What the model is sent when the conversation goes on."""
    return sendable(scope.log, active_view(scope))


def sendable(log: Log, view: View) -> View:
    """An active view without what a model cannot be sent."""
    left_out = dict(view.left_out)
    entries = _without(view.entries, unsendable(log, view.entries), left_out)
    return _holding(view, entries, left_out)


def until(view: View, tip: int) -> View:
    """A view that ends with an entry: without the results and blocks that stand beside the line of descent behind it.
    What a compaction kept behind its summary belongs to that.  As it is when it does not hold the entry.
    """
    if tip not in view.entries:
        return view
    end = view.entries.index(tip) + 1
    if tip not in view.preserved:
        while end < len(view.entries) and view.entries[end] in view.preserved:
            end += 1
    return _holding(view, view.entries[:end], dict(view.left_out))


def given(scope: Scope, parent: Scope) -> View:
    """What a subagent was given of its parent's conversation; nothing when its file does not say that it was."""
    said = metadata(scope).get("fork-context-ref", {})
    named = [at for value in said.values() if (at := parent.at(value)) is not None]
    return full_view(parent, tip=max(named)) if named else View()


def sent(scope: Scope, view: View, *, folder: str, agent_id: str | None = None) -> Iterator[Record]:
    """What of a model's view the user, the assistant and the tools have said, record by record: with what the client
    put in the place of results.  Calls and results that have lost their other half are among them.

    `folder`: where results that were moved out lie.  `agent_id`: of the subagent whose file it is.
    """
    log = scope.log
    known = replacements(scope, agent_id=agent_id)
    for index in view.entries:
        record = _spoken(log, index) or _attached(log, index)
        if index == view.summary == view.boundary:
            text = own_summary(log, index)
            record = {**log.record(index), "type": "user", "message": {"role": "user", "content": text}}
        if record:
            yield replaced(record, known, folder=folder)


def account(scope: Scope, view: View) -> Counter[str]:
    """How many records of the scope are in the view, and why the others are not; together all of them."""
    log = scope.log
    in_view = frozenset(view.entries)
    left_out = dict(view.left_out)
    found: Counter[str] = Counter()
    for index in range(scope.end):
        if index in in_view:
            found["in view"] += 1
        elif index in left_out:
            found[left_out[index]] += 1
        elif log.entries[index].uuid is None:
            found["metadata"] += 1
        elif not log.is_entry(index):
            found["written twice"] += 1
        elif view.boundary is not None and index < view.boundary:
            found["before the compaction"] += 1
        else:
            found["another branch"] += 1
    return found


def unsendable(log: Log, entries: Sequence[int]) -> dict[int, str]:
    """The entries that a model cannot be sent, each with the reason."""
    answered: set[str] = set()
    said: Counter[str] = Counter()
    for index in entries:
        record = _spoken(log, index)
        if log.types[index] == "user":
            answered.update(result.id for result in messages.results(record))
        elif log.types[index] == "assistant" and _said(record):
            said[messages.message_id(record) or ""] += 1
    found = {}
    for index in entries:
        if log.types[index] == "assistant":
            why = _why_unsendable(_spoken(log, index), answered, said)
            if why:
                found[index] = why
    return found


def _why_unsendable(record: Record, answered: set[str], said: Counter[str]) -> str:
    if messages.is_api_error(record):
        return "failed request"
    blocks = messages.blocks(record)
    calls = messages.calls(record)
    blank = [each.get("type") == "text" and not messages.texts({"message": [each]}) for each in blocks]
    if all(blank):
        return "empty"
    thoughts = [each.get("type") in THOUGHTS for each in blocks]
    nothing_else = all(
        no or of or each.get("type") == "tool_use" for no, of, each in zip(blank, thoughts, blocks, strict=True)
    )
    if calls and nothing_else and all(call.id not in answered for call in calls):
        return "call without a result"
    if all(thoughts) and not said[messages.message_id(record) or ""]:
        return "only thoughts"
    return ""


def _said(record: Record) -> list[Record]:
    """The blocks that are no thoughts."""
    return [each for each in messages.blocks(record) if each.get("type") not in THOUGHTS]


def _spoken(log: Log, index: int) -> Record:
    return log.record(index) if log.types[index] in ("user", "assistant") else {}


def _attached(log: Log, index: int) -> Record:
    """What stands beside the user's words as a message of its own, or was asked while a turn was going on, in the
    user's name; empty for anything else.
    """
    if log.types[index] != "attachment":
        return {}
    record = log.record(index)
    message = member(record, "message")
    attached = member(record, "attachment")
    if not message and attached.get("type") == "queued_command":
        message = {"role": "user", "content": attached.get("prompt")}
    return {**record, "type": "user", "message": message} if message.get("content") else {}


def _since_boundary(scope: Scope, tip: int, void: Collection[int]) -> tuple[Chain, int | None, Preserved]:
    """The line of descent from the newest compaction that is on it."""
    marks = boundaries(scope)
    if not marks:
        return descent(scope, tip), None, Preserved()  # which is known when it was asked for
    chain = walk(scope, tip, boundaries=marks, past=lambda index: index in void)
    boundary = chain.entries[0]
    if boundary not in marks or boundary in void:
        return chain, None, Preserved()
    kept = preserved(scope, boundary)
    return _arranged(scope, chain, kept), boundary, kept


def _arranged(scope: Scope, chain: Chain, kept: Preserved) -> Chain:
    """The line of descent from a compaction on, with what that kept behind its summary: all of it, or what of it leads
    to where the conversation went on.
    """
    if kept.anchor is None:
        return chain
    places = {index: place for place, index in enumerate(kept.entries)}
    last = max((at for at, index in enumerate(chain.entries) if index in places), default=-1)
    if last >= 0:  # copied behind the summary
        head, rest = _from_boundary(scope, chain.entries[0], kept.anchor), chain.entries[last + 1 :]
        end = places[chain.entries[last]]
    elif kept.anchor in chain.entries:
        at = chain.entries.index(kept.anchor) + 1
        head, rest = chain.entries[:at], chain.entries[at:]
        end = len(places) - 1 if chain.resumed is None else places[chain.resumed]
    elif _tells_itself(scope, chain.entries[0]):  # it went on from the boundary, which holds the summary itself
        head, rest, end = chain.entries[:1], chain.entries[1:], len(places) - 1
    else:
        return chain  # it went on from before the summary
    own = {*head, *rest}
    entries = (*head, *kept.entries[: end + 1], *rest)
    return Chain(entries, tuple(gap for gap in chain.gaps if gap.at in own))


def _tells_itself(scope: Scope, boundary: int) -> bool:
    """Whether a boundary tells its summary to a line without the entry that does; not where that was taken back."""
    log, gone = scope.log, scope.retracted
    return bool(own_summary(log, boundary)) and not any(
        at in gone and log.types[at] == "user" and messages.is_summary(log.record(at)) for at in log.children(boundary)
    )


def _from_boundary(scope: Scope, boundary: int, anchor: int) -> tuple[int, ...]:
    """From a boundary to the summary that comes from it."""
    way = [anchor]
    while way[-1] != boundary and (parent := scope.parent(way[-1])) is not None:
        way.append(parent)
    return tuple(reversed(way))


def _whole(scope: Scope, chain: Chain, removed: list[int]) -> View:
    """The view of a line of descent that goes past every compaction."""
    entries, left_out = _kept(scope, chain, removed, after=-1)
    passed = frozenset(boundaries(scope))
    return View(
        tuple(entries),
        gaps=chain.gaps,
        compactions=tuple(index for index in chain.entries if index in passed),
        left_out=tuple(left_out.items()),
    )


def _holding(view: View, entries: Sequence[int], left_out: dict[int, str]) -> View:
    """The view with fewer entries."""
    held = frozenset(entries)
    kept = tuple(index for index in view.preserved if index in held)
    summary = view.summary if view.summary in held else None
    return replace(view, entries=tuple(entries), summary=summary, preserved=kept, left_out=tuple(left_out.items()))


def _kept(scope: Scope, chain: Chain, removed: list[int], *, after: int) -> tuple[Sequence[int], dict[int, str]]:
    """The entries of a line of descent with their siblings, less what was taken back, and out of it."""
    left_out: dict[int, str] = {}
    entries = _without(chain.entries, dict.fromkeys(_progress(scope.log, chain), "progress"), left_out)
    if scope.retracted:
        entries = _without(entries, dict.fromkeys(scope.retracted, "taken back"), left_out)
    gone = dict.fromkeys(removed, "taken out")
    entries = with_siblings(scope, _without(entries, gone, left_out), after=after)
    return _without(entries, gone, left_out), left_out  # nor may they come back beside what is left


def _progress(log: Log, chain: Chain) -> list[int]:
    return [index for index in chain.entries if log.types[index] == "progress"]


def _removed(scope: Scope, chain: Chain) -> list[int]:
    """The entries that the client took out of the middle of the conversation."""
    log = scope.log
    found = []
    for index in chain.entries:
        if log.types[index] != "system" or index in scope.retracted or not log.holds(index, word=b"removedUuids"):
            continue
        record = log.record(index)
        for said in (record, *(value for value in record.values() if isinstance(value, dict))):
            uuids = said.get("removedUuids")
            if isinstance(uuids, list):
                found += [at for uuid in uuids if (at := scope.at(uuid)) is not None]
    return found


def _without(entries: Sequence[int], dropped: dict[int, str], left_out: dict[int, str]) -> Sequence[int]:
    if not dropped:
        return entries  # as there may be very many
    kept = []
    for index in entries:
        if index in dropped:
            left_out[index] = dropped[index]
        else:
            kept.append(index)
    return kept
