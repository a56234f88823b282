"""A transcript as entries that name their parents, as everything that reads Claude-style files knows them.

Every record becomes an entry (a compaction becomes two), in the order of the steps and each as its last line has it.
What a record held beyond that is kept in the entry's member `antigravity`, so nothing is lost.  The same transcript
gives the same entries: their uuids are digests of the conversation and the step.
"""

import hashlib
import os
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

from rehydrate import scan

from . import layout, preceding, records, transcript

Record = dict[str, Any]

_STEP_MIN, _STEP_MAX = -(1 << 63), (1 << 63) - 1


def entries(place: layout.Place) -> Iterator[Record]:
    """The entries of a conversation, oldest first; of its own transcript only, not of its ancestors'.

    They have no `sessionId` and no `cwd`.  Records without a step stand behind the record that they follow in the file.
    Raises OSError when the transcript cannot be read.
    """
    with layout.readable(place) as place:
        compactions = {each.offset for each in transcript.boundaries(place) if each.counts}
        making = _Making(place.session, lossy=os.path.basename(place.path) == layout.CUT)
        with layout.open_file(place.path) as file:
            for name, offset, length in _in_order(place.path):
                record = _record(file, offset, length)
                yield from making.of(record, name, is_compaction=offset in compactions)


def _in_order(path: str) -> Iterator[tuple[str, int, int]]:
    """What names each record, and its place in the file: by step, of each the last line."""
    found: dict[tuple[int, int], tuple[str, int, int]] = {}
    step_before, unnumbered = _STEP_MIN, 0
    for step, offset, length in scan.iter_records(path, ("step_index",)):
        if type(step) is int and _STEP_MIN <= step <= _STEP_MAX:
            step_before = step
            found[step, 0] = str(step), offset, length
        else:
            unnumbered += 1
            found[step_before, unnumbered] = f"record {unnumbered}", offset, length
    for key in sorted(found):
        yield found[key]


def _record(file: BinaryIO, offset: int, length: int) -> Record:
    """The record at a place; empty where it is nested too deeply to be read, or was rewritten meanwhile."""
    raw = b"".join(preceding.pieces(file, offset, length=length))
    try:
        found = scan.Step(None, None, None, None, None, offset, length, raw).json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class _Making:
    """The entries made so far, as far as the next ones depend on them."""

    def __init__(self, session: str, *, lossy: bool) -> None:
        self._session = session
        self._lossy = lossy
        self._last: str | None = None
        self._open: list[tuple[str, str]] = []  # calls that no result came for yet: id and tool

    def of(self, record: Record, name: str, *, is_compaction: bool) -> Iterator[Record]:
        """The entries of one record."""
        kind, source, content = (record.get(key) for key in ("type", "source", "content"))
        text = content if isinstance(content, str) else ""
        if is_compaction:
            yield from self._compaction(record, name, text)
        elif kind == "USER_INPUT":
            self._open = []
            asked = records.request_of(content)
            yield self._user(record, name, asked or text, is_meta=not asked or source == "SYSTEM_SDK")
        elif kind == "PLANNER_RESPONSE":
            yield self._answer(record, name, text)
        elif kind == "SYSTEM_MESSAGE" and source != "MODEL":
            yield self._user(record, name, text, is_meta=True)
        elif source == "MODEL" and self._open:
            yield self._result(record, name, text)
        else:
            yield self._entry(record, name, {"type": "system", "subtype": "informational", "content": text})

    def _user(self, record: Record, name: str, text: str, *, is_meta: bool) -> Record:
        members: Record = {"type": "user", "message": {"role": "user", "content": text}}
        return self._entry(record, name, {**members, "isMeta": True} if is_meta else members)

    def _answer(self, record: Record, name: str, text: str) -> Record:
        blocks: list[Record] = [{"type": "text", "text": text}] if text.strip() else []
        self._open = []
        calls = record.get("tool_calls")
        for at, call in enumerate(calls if isinstance(calls, list) else ()):
            tool = call.get("name") if isinstance(call, dict) else None
            if isinstance(tool, str) and tool:
                call_id = f"call_{self._uuid(f'{name} {at}').replace('-', '')}"
                self._open.append((call_id, tool))
                arguments = records.arguments(call.get("args"), lossy=self._lossy)
                blocks.append({"type": "tool_use", "id": call_id, "name": tool, "input": arguments})
        message = {"id": f"step_{name.replace(' ', '_')}", "type": "message", "role": "assistant", "content": blocks}
        return self._entry(record, name, {"type": "assistant", "message": {**message, "usage": _usage(record)}})

    def _result(self, record: Record, name: str, text: str) -> Record:
        """Of the first open call of the tool that the record is of; of the first open call where none is its own."""
        kind = record.get("type")
        own = [at for at, (_, tool) in enumerate(self._open) if isinstance(kind, str) and tool.upper() == kind]
        call_id, _ = self._open.pop(own[0] if own else 0)
        block: Record = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        if record.get("status") != "DONE":
            block["is_error"] = True
        return self._entry(record, name, {"type": "user", "message": {"role": "user", "content": [block]}})

    def _compaction(self, record: Record, name: str, text: str) -> Iterator[Record]:
        before = self._last
        self._last = None
        tokens = record.get("input_tokens")
        told: Record = {"trigger": "auto"}
        if isinstance(tokens, int):
            told["preTokens"] = tokens
        boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
        linked = self._entry(record, name, {"logicalParentUuid": before, **boundary, "compactMetadata": told})
        yield linked
        summary = {"type": "user", "message": {"role": "user", "content": text}, "isCompactSummary": True}
        entry = self._entry(record, f"{name} summary", summary)
        del entry["antigravity"]  # the boundary has it
        yield entry

    def _entry(self, record: Record, name: str, members: Record) -> Record:
        own = self._uuid(name)
        entry = {"parentUuid": self._last, "isSidechain": False, **members, "uuid": own}
        created_at = record.get("created_at")
        if isinstance(created_at, str) and created_at:
            entry["timestamp"] = created_at
        self._last = own
        return {**entry, "antigravity": record}

    def _uuid(self, name: str) -> str:
        digest = hashlib.sha256(os.fsencode(self._session) + b"\0" + name.encode())
        return str(uuid.UUID(bytes=digest.digest()[:16], version=5))


def _usage(record: Record) -> dict[str, int]:
    names = {
        "input_tokens": "input_tokens",
        "cache_read_input_tokens": "cache_read_tokens",
        "output_tokens": "output_tokens",
    }
    return {own: value for own, theirs in names.items() if type(value := record.get(theirs)) is int}
