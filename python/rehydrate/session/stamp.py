"""What every entry gets beside what the caller gave: who, when, where, and what it follows.

A member that the caller gave is never replaced, and one that is not known is kept.
"""

import os
import time
from collections.abc import Mapping

Entry = Mapping[str, object]

MESSAGES = frozenset({"user", "assistant", "attachment", "system"})
"""Types of entries in the chain; all others say something about the session."""
_FILLED = frozenset({"uuid", "timestamp", "cwd", "sessionId", "version", "gitBranch", "agentId", "seq", "crc"})


class Stamp:
    """Fills in the members of one log's entries."""

    def __init__(
        self, *, session_id: str, agent_id: str | None, cwd: str, version: str, git_branch: str | None
    ) -> None:
        self._session_id = session_id
        self._is_agents = agent_id is not None
        self._same: dict[str, object] = {"cwd": cwd, "sessionId": session_id, "version": version}
        if git_branch is not None:
            self._same["gitBranch"] = git_branch
        self._agent: dict[str, object] = {"agentId": agent_id} if self._is_agents else {}
        self._same |= self._agent
        self._second = (-1, "")

    def head(self, number: int) -> dict[str, object]:
        """What a file of our own begins with, of that format."""
        said = {name: value for name, value in self._same.items() if name != "gitBranch"}
        return {"type": "session", "format": number, **said, "timestamp": self.now()}

    def message(self, entry: Entry, *, parent: str | None, uuid: str) -> dict[str, object]:
        """An entry of the chain."""
        record: dict[str, object] = {"parentUuid": parent, "isSidechain": self._is_agents, **entry}
        if entry.keys().isdisjoint(_FILLED):
            record["uuid"] = uuid
            record["timestamp"] = self.now()
            record.update(self._same)
            return record
        return _filled(record, {"uuid": uuid, "timestamp": self.now(), **self._same})

    def metadata(self, entry: Entry) -> dict[str, object]:
        """Anything else."""
        return _filled(dict(entry), {"sessionId": self._session_id, **self._agent, "timestamp": self.now()})

    def now(self) -> str:
        """The time, in UTC, to the millisecond."""
        second, ms = divmod(time.time_ns() // 1_000_000, 1_000)
        if self._second[0] != second:
            self._second = second, time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
        return f"{self._second[1]}{ms:03d}Z"


def new_uuid() -> str:
    """A random one (version 4)."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _filled(record: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    """With `more` where it says nothing yet, and less what a line of another file said of itself."""
    record.pop("seq", None)
    record.pop("crc", None)
    for name, value in more.items():
        record.setdefault(name, value)
    return record
