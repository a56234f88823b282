"""What `session show` tells: how a session stands, and one of its views, as JSON and for people."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rehydrate import session as library
from rehydrate.cli import output
from rehydrate.cli.sessions import title_of
from rehydrate.entries import messages

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rehydrate.session import DamagedLine, Holder, Interruption, Session, View

_RESULT_CHARS = 400
"""Of a tool's result, for people: it may be a whole file."""
_INPUT_CHARS = 200
"""Of what a tool was called with."""
_LISTED = 8
"""So many of the same kind are told one by one."""


@dataclass(frozen=True, slots=True)
class State:
    """How a session stands."""

    path: str
    session_id: str
    agent_id: str | None
    cwd: str | None
    title: str
    entries: int
    leaf: str | None
    leaves: tuple[str, ...]
    agents: tuple[str, ...]
    interruption: "Interruption | None"
    damaged: int
    """Lines that are no record."""
    damage: tuple["DamagedLine", ...]
    live: tuple["Holder", ...]

    @classmethod
    def of(cls, opened: "Session") -> "State":
        """Of one that is open, with the damage of what was read of it so far."""
        live: tuple[Holder, ...] = ()
        agents: tuple[str, ...] = ()
        if opened.agent_id is None:
            place = place_of(opened.path)
            if place is not None:
                live, agents = tuple(library.live(place)), tuple(library.agents_of(place))
        return cls(
            path=opened.path,
            session_id=opened.id,
            agent_id=opened.agent_id,
            cwd=opened.cwd,
            title=opened.title,
            entries=len(opened.messages),
            leaf=opened.leaf,
            leaves=opened.leaves,
            agents=agents,
            interruption=library.interruption_of(opened),
            damaged=opened.damaged,
            damage=opened.damage,
            live=live,
        )


def place_of(path: str) -> "library.Place | None":
    """The place of a session's file; None where no session's file can have that path."""
    try:
        return library.Place.of(path)
    except ValueError:
        return None


def as_document(state: State, view: "View", *, at: str | None) -> dict[str, Any]:
    """For `output.print_json`."""
    interruption = state.interruption
    return {
        "version": output.VERSION,
        "session": state.session_id,
        "agent": state.agent_id,
        "path": state.path,
        "cwd": state.cwd,
        "title": state.title,
        "entries": state.entries,
        "leaf": state.leaf,
        "leaves": list(state.leaves),
        "agents": list(state.agents),
        "interruption": interruption
        and {"was": interruption.was, "calls": [{"id": call.id, "name": call.name} for call in interruption.calls]},
        "damaged": state.damaged,
        "damage": damage_as_rows(state.damage),
        "live": [asdict(holder) for holder in state.live],
        "view": {
            "kind": view.kind,
            "at": at,
            "boundary": view.boundary,
            "preserved": list(view.preserved),
            "gaps": [asdict(gap) for gap in view.gaps],
            "left_out": [{"uuid": uuid, "why": why} for uuid, why in view.left_out],
            "records": list(view),
        },
    }


def damage_as_rows(damage: "tuple[DamagedLine, ...] | list[DamagedLine]") -> list[dict[str, Any]]:
    """As every command tells damaged lines in JSON."""
    return [{"path": each.path, "line": each.line, "offset": each.offset, "what": str(each)} for each in damage]


# -- for people -------------------------------------------------------------------------------------------------------


def for_people(state: State, view: "View") -> Iterator["RenderableType"]:
    """For `output.emit`: how it stands, then what the view holds."""
    if state.title:
        yield output.heading(output.one_line(title_of(state.title)))
    yield output.facts(_facts(state, view))
    for record in view:
        yield ""
        yield output.heading(_who(record))
        if view.kind == "raw":
            continue
        for part in said(record):
            yield output.indented(output.visible(part.strip()))


def _facts(state: State, view: "View") -> Iterator[tuple[str, "RenderableType"]]:
    agent = "" if state.agent_id is None else f", agent {output.one_line(state.agent_id)}"
    yield "session", output.one_line(state.session_id) + agent
    yield "file", output.short(state.path, os.environ)
    if state.cwd is not None:
        yield "folder", output.short(state.cwd, os.environ)
    yield "entries", f"{state.entries:,}"
    if len(state.leaves) > 1:
        yield "branches", listed([short_id(each, mark=state.leaf) for each in state.leaves])
    if state.agents:
        yield "agents", listed([output.one_line(each) for each in state.agents])
    if state.interruption is not None:
        yield "interrupted", _interruption(state.interruption)
    if state.live:
        yield "open in", listed([f"process {each.pid} ({output.one_line(each.kind)})" for each in state.live])
    if state.damage:
        yield "damage", listed([damage_in_words(each) for each in state.damage])
    yield "view", f"{view.kind}, {output.counted(len(view), 'message' if view.kind == 'wire' else 'record')}"
    if view.boundary is not None:
        yield "begins with", f"the compaction {short_id(view.boundary)}"
    if view.gaps:
        yield "gaps", listed([f"before {short_id(each.uuid)}: {each.why}" for each in view.gaps])
    if view.left_out:
        yield "left out", listed([f"{short_id(uuid)}: {output.one_line(why)}" for uuid, why in view.left_out])


def _interruption(found: "Interruption") -> str:
    what = "a request has no answer" if found.was == "prompt" else "an answer was not finished"
    if not found.calls:
        return what
    return f"{what}; without a result: {listed([output.one_line(call.name or call.id) for call in found.calls])}"


def damage_in_words(line: "DamagedLine") -> str:
    """What is wrong with a line, and where."""
    return f"{output.homely(str(line), os.environ)} (at byte {line.offset})"


def listed(words: list[str]) -> str:
    """The first of several, and how many more there are."""
    more = len(words) - _LISTED
    return "; ".join(words[:_LISTED]) + (f"; and {more:,} more" if more > 0 else "")


def short_id(uuid: str, *, mark: str | None = None) -> str:
    """The beginning of a uuid; `mark`: that of the entry which the conversation ends with."""
    return output.one_line(uuid[:8]) + (" (the conversation)" if uuid == mark else "")


def _who(record: Mapping[str, Any]) -> str:
    """The role or the type of a record, when, and its uuid in short."""
    subtype = record.get("subtype")
    kind = record.get("role") or record.get("type") or "-"
    words = [kind, *([subtype] if kind == "system" and subtype else []), record.get("timestamp"), record.get("uuid")]
    return "  ".join(output.one_line(word) for word in words if isinstance(word, str) and word)


def said(record: Mapping[str, Any]) -> Iterator[str]:
    """What stands in it, part by part; a call on one line, and of a result the beginning."""
    spoken = record if "message" in record else {"message": record}
    for block in messages.blocks(dict(spoken)):
        kind = block.get("type")
        if kind == "text":
            yield str(block.get("text", ""))
        elif kind == "tool_use":
            yield f"{block.get('name')}({_cut(json.dumps(block.get('input'), ensure_ascii=False), _INPUT_CHARS)})"
        elif kind == "tool_result":
            (found,) = messages.results({"message": {"content": [block]}}) or (None,)
            text = "" if found is None else found.text
            mark = "error: " if block.get("is_error") is True else ""
            yield f"result of {block.get('tool_use_id')}: {mark}{_cut(text, _RESULT_CHARS)}"
        elif kind == "thinking":
            yield f"(thinking) {block.get('thinking', '')}"
        else:
            yield f"({kind})"


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]}... ({len(text):,} characters)"
