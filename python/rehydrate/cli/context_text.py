"""What `rehydrate context` tells people."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from rehydrate.cli import output
from rehydrate.cli.session_text import damage_in_words, listed, said, short_id

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rehydrate.context.messages import Message
    from rehydrate.context.verifying import Finding

Row = tuple[str, "RenderableType"]

LABELS = {
    "provider": "as the provider has counted",
    "provider_plus_estimate": "as the provider has counted, and what came since",
    "local_estimate": "counted here",
}
PHASES = {
    "below_handoff": "below the line for a hand-over",
    "handoff_band": "between the line for a hand-over and a compaction",
    "compaction_due": "a compaction is due",
}
HANDOFFS = {
    "given": "the model was told, and asked to write down what must survive",
    "suppressed": "the model is not told before the next compaction, for the log has two records of it or one unsound",
}
NOTES = {
    "handoff": "that a compaction is near",
    "continue": "to go on where an answer was cut off",
}
FAILURES = {
    "circuit_open": "it was not to be asked",
    "context_exhausted": "what it was to read does not fit its window",
    "deterministic": "an error that comes again each time",
    "empty_exhausted": "it answered with nothing that is a summary",
    "insufficient_reduction": "what it wrote was too long",
    "transient_exhausted": "errors that pass, which did not",
}
LINES = {
    "handoff": "the line for a hand-over",
    "compaction": "a compaction",
    "full": "all that is available",
}


# -- explain ----------------------------------------------------------------------------------------------------------


def explained_for_people(document: Mapping[str, Any]) -> Iterator["RenderableType"]:
    """For `output.emit`: how full it is, then what holds the space."""
    yield output.facts(_explained(document))
    holders = document["holders"]
    if holders:
        total = sum(holders.values())
        made = output.table("held by", "tokens", "share", numbers=("tokens", "share"))
        for what, tokens in holders.items():
            made.add_row(output.one_line(what), f"{tokens:,}", f"{tokens * 100 // total} %")
        yield ""
        yield made


def _explained(document: Mapping[str, Any]) -> Iterator[Row]:
    counter = document["counter"]
    yield "session", output.one_line(document["session"])
    yield "file", output.short(document["path"], os.environ)
    model = document["model"]
    yield "for", output.one_line(model or "a model that is not known") + f", in the format {document['format']}"
    much = output.counted(document["tokens"], "token")
    yield "it holds", f"{much} ({LABELS[document['label']]}), in {output.counted(document['messages'], 'message')}"
    exact = "" if counter["exact"] else "; pip install 'rehydrate[tokens]' counts exactly"
    yield "counted by", output.one_line(counter["name"]) + exact
    yield "window", _window(document)
    yield "next", _next(document)
    phase = [PHASES.get(document["phase"]), HANDOFFS.get(document["handoff"])]
    if any(phase):
        yield "phase", "; ".join(filter(None, phase))
    yield from _checkpoint(document["checkpoint"], document["entries"], "entry", "entries")
    for name, thing in (("ledger", "open item"), ("pinned", "message")):
        if document[name]:
            yield name, output.counted(document[name], thing)
    if document["replaced"]:
        kinds = [f"{number:,} by {output.one_line(kind)}" for kind, number in document["replaced"].items()]
        yield "results", f"replaced: {listed(kinds)}"
    yield from _left_out(document["omitted"])
    if document["hidden"]:
        notes = [f"{NOTES[kind]} ({number:,}x)" for kind, number in document["hidden"].items()]
        yield "notes", f"hidden ones tell the model {listed(notes)}"
    yield from _summaries(document["failure"], document["error"], document["breaker"])
    yield from _repaired(document)
    if document["violations"]:
        yield "refused", listed([output.one_line(each["text"]) for each in document["violations"]])


def _window(document: Mapping[str, Any]) -> str:
    window = document["window"]
    if window is None:
        return "not known; name it with --window"
    if document["available"] is None:
        return f"{window:,} tokens, of which nothing is left for input"
    return f"{window:,} tokens, of which {document['reserve']:,} are kept for the answer"


def _next(document: Mapping[str, Any]) -> str:
    upcoming = document["next"]
    if upcoming is None:
        return "not known without a window" if document["available"] is None else "nothing: it does not fit any more"
    due = "a compaction is due; then " if document["phase"] == "compaction_due" else ""
    return f"{due}{LINES[upcoming['line']]} at {upcoming['at']:,} tokens, {upcoming['left']:,} more"


def _checkpoint(checkpoint: Mapping[str, Any] | None, entries: int, thing: str, things: str) -> Iterator[Row]:
    since = f"{entries:,} {thing if entries == 1 else things}"
    if checkpoint is None:
        yield "checkpoint", f"none; {since}"
        return
    figures = checkpoint["figures"]
    sizes = [f"{figures[name]:,}" for name in ("before", "after") if name in figures]
    made = f", {sizes[0]} tokens became {sizes[1]}" if len(sizes) == 2 else ""
    reason = output.one_line(checkpoint["reason"])
    yield "checkpoint", f"{short_id(checkpoint['id'])} ({reason}){made}; {since} after it"


def _left_out(omitted: Mapping[str, int]) -> Iterator[Row]:
    found = []
    if omitted["media"]:
        found.append(output.counted(omitted["media"], "image or document"))
    if omitted["thoughts"]:
        found.append(f"the thoughts of {output.counted(omitted['thoughts'], 'message')}")
    if found:
        yield "left out", f"{listed(found)}, which the provider did not take"


def _summaries(failure: object, error: object, breaker: Mapping[str, Any]) -> Iterator[Row]:
    if failure is not None:
        why = FAILURES.get(str(failure), output.one_line(str(failure)))
        why += f" ({output.one_line(str(error))})" if error is not None else ""
        yield "summary", f"no model has written the last one: {why}"
    if breaker["opened_s"] is not None:
        yield "breaker", f"open since {_time(breaker['opened_s'])}, after {breaker['failures']:,} failures in a row"
    elif breaker["failures"]:
        yield "breaker", f"{output.counted(breaker['failures'], 'failure')} in a row; at 3 no model is asked any more"


def _time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(sep=" ", timespec="minutes")[:16] + " UTC"
    except (OverflowError, OSError, ValueError):  # whatever a log says
        return "a time that is none"


def _repaired(document: Mapping[str, Any]) -> Iterator[Row]:
    if document["repaired"]:
        yield "repaired", listed([output.one_line(each["text"]) for each in document["repaired"]])


# -- verify -----------------------------------------------------------------------------------------------------------


def found_for_people(
    findings: "Sequence[tuple[str, Finding]]", counts: Mapping[str, int], unproven: Sequence[tuple[str, str]]
) -> Iterator["RenderableType"]:
    """For `output.emit`: what is wrong, line by line, then what was looked at."""
    for path, finding in findings:
        if finding.line is not None:
            yield damage_in_words(finding.line)
        else:
            yield output.homely(f"{path}: {finding.text}", os.environ)
    for path, uuid in unproven:
        told = f"{path}: the compaction {uuid[:8]} was copied without all that it covers, and cannot be proven here"
        yield output.homely(told, os.environ)
    looked = f"{output.counted(counts['records'], 'record')} in {output.counted(counts['files'], 'file')}"
    looked += f", {output.counted(counts['checkpoints'], 'checkpoint')}"
    looked += f", {output.counted(counts['projections'], 'projection')}"
    wrong = output.counted(len(findings), "fault") if findings else "nothing is wrong"
    yield output.heading(f"{looked}: {wrong}")


# -- restore ----------------------------------------------------------------------------------------------------------


def restored_for_people(document: Mapping[str, Any], messages: "Sequence[Message]") -> Iterator["RenderableType"]:
    """For `output.emit`: where it comes from, then the messages."""
    yield output.facts(_restored(document, len(messages)))
    for message in messages:
        yield from _message(message)


def _restored(document: Mapping[str, Any], messages: int) -> Iterator[Row]:
    yield "session", output.one_line(document["session"])
    yield "file", output.short(document["path"], os.environ)
    yield from _checkpoint(document["checkpoint"], document["entries"], "entry", "entries")
    if document["checkpoint"] is None and document["boundary"] is not None:
        yield "begins with", f"the compaction {short_id(document['boundary'])}, which has no checkpoint"
    yield "it goes on", "from nothing" if document["tip"] is None else f"from {short_id(document['tip'])}"
    yield "messages", f"{messages:,}"
    yield from _repaired(document)
    if document["bad"]:
        words = [f"that of {short_id(each['boundary'])}: {output.one_line(each['what'])}" for each in document["bad"]]
        yield "does not count", listed(words)
    if document["damage"]:
        words = [f"{output.homely(each['what'], os.environ)}" for each in document["damage"]]
        yield "damage", listed(words)


# -- diff -------------------------------------------------------------------------------------------------------------


def diff_for_people(document: Mapping[str, Any]) -> Iterator["RenderableType"]:
    """For `output.emit`: the two, then what only one of them has."""
    yield output.facts(_sides(document))
    for name in ("a", "b"):
        only = document[f"only_{name}"]
        if only:
            yield ""
            yield output.heading(f"only in {name.upper()}: {output.counted(len(only), 'message')}")
            for each in only:
                yield from _message(each["message"], place=each["place"])


def _sides(document: Mapping[str, Any]) -> Iterator[Row]:
    for name in ("a", "b"):
        side = document[name]
        end = "nothing" if side["tip"] is None else short_id(side["tip"])
        size = f"{output.counted(side['messages'], 'message')}, {output.counted(side['tokens'], 'token')}"
        made = "" if side["checkpoint"] is None else f", with the checkpoint {short_id(side['checkpoint'])}"
        yield name.upper(), f"{output.short(side['path'], os.environ)}, up to {end}{made}: {size}"
    yield "common", output.counted(document["common"], "message")
    if document["same"]:
        yield "difference", "none"
    elif not document["only_a"] and not document["only_b"]:
        yield "difference", "the order"


def _message(message: "Message", *, place: int | None = None) -> Iterator["RenderableType"]:
    yield ""
    role = output.one_line(str(message.get("role")))
    yield output.heading(role if place is None else f"{place}  {role}")
    for part in said(message):
        yield output.indented(output.visible(part.strip()))
