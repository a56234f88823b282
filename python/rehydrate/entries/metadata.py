"""What a file says about its conversation: title, mode, tag and the like, and what it has put in the place of results.

Such records are no entries.  They stand anywhere, before a compaction too, and of most kinds the last one holds.  Large
kinds that say nothing about the conversation are never decoded.
"""

from collections.abc import Iterable
from typing import Any

from . import messages
from .log import Record, member, text_member
from .scope import Scope

LASTING = frozenset(
    {
        *("custom-title", "ai-title", "last-prompt", "summary", "tag", "mode", "permission-mode", "agent-name"),
        *("agent-setting", "pr-link", "worktree-state", "relocated", "task-summary", "continued-in"),
        *("fork-context-ref", "history-suppression"),
    }
)
"""Types of which the last record holds."""

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "last-prompt": "lastPrompt", "summary": "summary"}


def metadata(scope: Scope) -> dict[str, Record]:
    """The last record of each lasting type, by type."""
    return {kind: scope.log.record(index) for kind, index in last_of_each(scope).items() if kind in LASTING}


def last_of_each(scope: Scope) -> dict[str, int]:
    """The last record of each type, by type, those of the conversation included: some writers give the others a uuid,
    too.
    """
    types = scope.log.types
    return {kind: index for kind, index in zip(types, range(scope.end), strict=False) if kind is not None}


def title(scope: Scope, entries: Iterable[int]) -> str:
    """What the conversation is called: as its user or the client named it, else what was last or first asked for.
    Empty when nothing was.
    """
    said = metadata(scope)
    for kind, name in _TITLES.items():
        record = said.get(kind, {})
        found = text_member(record, name).strip()
        if found and kind == "last-prompt":
            found = messages.request_of({"type": "user", "message": {"content": found}})
        if found and kind == "summary" and record.get("leafUuid") and scope.at(record["leafUuid"]) is None:
            continue  # of another conversation
        if found:
            return found
    return next((text for index in entries if (text := messages.request_of(scope.log.record(index)))), "")


def replacements(scope: Scope, *, agent_id: str | None = None) -> dict[tuple[str, str], Record]:
    """What stands in the place of results that the client moved out: by the uuid of the entry and the id of the call.

    `agent_id`: of the subagent whose file it is; None for a conversation's own.
    """
    found: dict[tuple[str, str], Record] = {}
    for index in scope.log.of_type("content-replacement", end=scope.end):
        record = scope.log.record(index)
        if (record.get("agentId") or None) != agent_id:
            continue
        rows = record.get("replacements")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and isinstance(row.get("toolUseId"), str):
                found[text_member(row, "messageUuid"), row["toolUseId"]] = row
    return found


def replaced(record: Record, known: dict[tuple[str, str], Record], *, folder: str) -> Record:
    """The record with the substitutes in it; itself when nothing of it was replaced.

    `folder`: where results that were moved out lie; named where no substitute was stored.
    """
    content = member(record, "message").get("content")
    if not known or not isinstance(content, list):
        return record
    uuid = text_member(record, "uuid")
    blocks: list[Any] = []
    for block in content:
        name = block.get("tool_use_id") if isinstance(block, dict) else None
        row = (known.get((uuid, name)) or known.get(("", name))) if isinstance(name, str) else None
        blocks.append({**block, "content": substitute(row, folder)} if row is not None else block)
    return {**record, "message": {**record["message"], "content": blocks}}


def substitute(row: Record, folder: str) -> object:
    for name in ("replacement", "content"):
        stored = row.get(name)
        if isinstance(stored, str) or (isinstance(stored, list) and stored):
            return stored
    return f"[This result was moved out of the transcript. It is kept in {folder}/{row['toolUseId']}.txt]"


def collapses(scope: Scope, *, boundary: int | None) -> tuple[list[Record], Record | None]:
    """The folds that the client has made in its view, in order, and the last snapshot of them.  They are told, and
    never applied; what stands before the boundary is void.
    """
    start = -1 if boundary is None else boundary
    log = scope.log
    commits = [log.record(i) for i in log.of_type("context-collapse-commit", end=scope.end) if i > start]
    last = next((i for i in log.of_type("context-collapse-snapshot", end=scope.end, backwards=True) if i > start), None)
    return commits, None if last is None else log.record(last)
