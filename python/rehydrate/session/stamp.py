"""What every entry gets beside what the caller gave: who, when, where, and what it follows.

A member that the caller gave is never replaced, and one that is not known is kept.
"""

import os
import struct
import time
from collections.abc import Mapping
from json.encoder import encode_basestring as quoted

from .line import encode, to_bytes, to_text

Entry = Mapping[str, object]

MESSAGES = frozenset({"user", "assistant", "attachment", "system"})
"""Types of entries in the chain; all others say something about the session."""
BEGIN = frozenset({"user", "assistant"})
"""Types with which a session begins to be one."""
OF_ONE_SESSION = frozenset({"context-handoff", "context-continue", "context-refusal"})
"""Types of records of what a model was told, or has refused, in this one session: no copy of it has them."""
FILLED = frozenset(
    {
        *("parentUuid", "isSidechain", "uuid", "timestamp", "cwd", "sessionId", "version", "gitBranch", "agentId"),
        *("seq", "crc"),
    }
)
"""Members that an entry of the chain gets, or that are taken from it."""
_POOL = 64
_UUID = struct.Struct("8s4s4s4s12s")
_VERSION = bytes(byte & 0x0F | 0x40 for byte in range(256))
_VARIANT = bytes(byte & 0x3F | 0x80 for byte in range(256))


class Stamp:
    """Fills in the members of one log's entries, and gives them as `line.encode` does.  For one thread at a time."""

    def __init__(
        self, *, session_id: str, agent_id: str | None, cwd: str, version: str, git_branch: str | None
    ) -> None:
        about = {"cwd": cwd, "sessionId": session_id, "version": version}
        self._owner = {"sessionId": session_id}
        if agent_id is not None:
            self._owner["agentId"] = about["agentId"] = agent_id
        self._about = about
        self._chain: dict[str, object] = {"isSidechain": agent_id is not None}
        self._same: dict[str, object] = {**about, **({} if git_branch is None else {"gitBranch": git_branch})}
        self._texts = to_text(self._chain)[1:-1], to_text(self._same)[1:-1]
        self._second = (-1, "")
        self._ms, self._now = -1, ""
        self._uuids: list[str] = []

    def head(self, number: int) -> bytes:
        """What a file of our own begins with, of that format."""
        return encode({"type": "session", "format": number, **self._about, "timestamp": self.now()})

    def message(self, entry: Entry, *, parent: str | None, uuid: str) -> bytes:
        """An entry of the chain."""
        if FILLED.isdisjoint(entry):
            return self.plain(entry, parent=parent, uuid=uuid)
        filled = {"uuid": uuid, "timestamp": self.now(), **self._same}
        return encode(_filled({"parentUuid": parent, **self._chain, **entry}, filled))

    def plain(self, entry: Entry, *, parent: str | None, uuid: str) -> bytes:
        """As `message`, the same bytes, of an entry that has none of FILLED: put together, in half the time."""
        link = "null" if parent is None else quoted(parent)
        chain, same = self._texts
        return to_bytes(
            f'{{"parentUuid":{link},{chain},{to_text(entry)[1:-1]},'
            f'"uuid":{quoted(uuid)},"timestamp":"{self.now()}",{same}}}'
        )

    def metadata(self, entry: Entry) -> bytes:
        """Anything else."""
        return encode(_filled(dict(entry), {**self._owner, "timestamp": self.now()}))

    def now(self) -> str:
        """The time, in UTC, to the millisecond."""
        now = time.time_ns() // 1_000_000
        if now != self._ms:  # many entries are of the same one
            second = now // 1_000
            if self._second[0] != second:
                self._second = second, time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(second))
            self._ms, self._now = now, f"{self._second[1]}{str(now % 1_000 + 1_000)[1:]}Z"  # `:03d` takes longer
        return self._now

    def new_uuid(self) -> str:
        """A random one (version 4)."""
        if not self._uuids:
            drawn = bytearray(os.urandom(16 * _POOL))  # one call of the system for many of them
            drawn[6::16] = drawn[6::16].translate(_VERSION)
            drawn[8::16] = drawn[8::16].translate(_VARIANT)
            self._uuids = [b"-".join(parts).decode() for parts in _UUID.iter_unpack(drawn.hex().encode())]
        return self._uuids.pop()

    def after_fork(self) -> None:
        """In the child: its uuids are others."""
        self._uuids.clear()


def _filled(record: dict[str, object], more: Mapping[str, object]) -> dict[str, object]:
    """With `more` where it says nothing yet, and less what a line of another file said of itself."""
    record.pop("seq", None)
    record.pop("crc", None)
    for name, value in more.items():
        record.setdefault(name, value)
    return record
