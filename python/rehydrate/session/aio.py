"""A session that is written and read from asyncio: the same as `log` and `reading`, and the loop goes on meanwhile.

What is cancelled while it is waited for may be appended all the same.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence

from .compacting import Seen
from .errors import DamagedLine
from .log import SessionLog
from .reading import Session
from .stamp import Entry
from .views import Kind, View


class AsyncSessionLog:
    """A `SessionLog` for asyncio; `close` it, or use it as an asynchronous context manager.

        async with AsyncSessionLog(sessions.new(cwd)) as log:
            await log.append_durable(user("hello"))

    Each method does what that of `SessionLog` does, and raises the same.  What gives a log otherwise is called in a
    thread: `AsyncSessionLog(await asyncio.to_thread(fork, session))`.
    """

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        """The log that it is made of, for what is not here."""
        self.path = log.path
        """The file, which need not be there yet."""
        self.session_id = log.session_id
        """Its id."""
        self.agent_id = log.agent_id
        """Of the subagent whose log it is; None for the session's own."""

    async def __aenter__(self) -> "AsyncSessionLog":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def tip(self) -> str | None:
        """Uuid of the entry that the next one follows; None before the first."""
        return await asyncio.to_thread(lambda: self.log.tip)

    async def append(self, entries: Entry | Iterable[Entry]) -> str | None:
        """Append one entry or several, to be written soon."""
        return await asyncio.to_thread(self.log.append, entries)

    async def append_durable(self, entries: Entry | Iterable[Entry]) -> str | None:
        """Append, and wait until it is on disk."""
        return await asyncio.to_thread(self.log.append_durable, entries)

    async def flush(self) -> None:
        """Write everything that waits."""
        await asyncio.to_thread(self.log.flush)

    async def retract(self, uuid: str, *, reason: str = "") -> None:
        """Give an entry up."""
        await asyncio.to_thread(self.log.retract, uuid, reason=reason)

    async def abort(self, reason: str, *, request: Entry | None = None) -> str:
        """End a turn that was interrupted."""
        return await asyncio.to_thread(self.log.abort, reason, request=request)

    async def compact(
        self,
        summary: str,
        *,
        trigger: str,
        pre_tokens: int | None = None,
        post_tokens: int | None = None,
        messages_summarized: int | None = None,
        user_context: str | None = None,
        preserve: Sequence[str] = (),
        checkpoint: Mapping[str, object] | None = None,
        seen: Seen | None = None,
    ) -> str:
        """Mark a compaction."""
        return await asyncio.to_thread(
            self.log.compact,
            summary,
            trigger=trigger,
            pre_tokens=pre_tokens,
            post_tokens=post_tokens,
            messages_summarized=messages_summarized,
            user_context=user_context,
            preserve=preserve,
            checkpoint=checkpoint,
            seen=seen,
        )

    async def snip(self, uuids: Iterable[str], *, note: str = "") -> str:
        """Take entries out of what a model is sent."""
        return await asyncio.to_thread(self.log.snip, uuids, note=note)

    async def sidechain(
        self, agent_id: str, *, type: str, description: str = "", worktree: str | None = None, inherits: bool = False
    ) -> "AsyncSessionLog":
        """The log of a new subagent."""
        made = await asyncio.to_thread(
            self.log.sidechain, agent_id, type=type, description=description, worktree=worktree, inherits=inherits
        )
        return AsyncSessionLog(made)

    async def replace_content(self, replacements: Iterable[Mapping[str, object]]) -> None:
        """Put something in the place of results."""
        await asyncio.to_thread(self.log.replace_content, replacements)

    async def close(self) -> None:
        """Flush, and let go of the session."""
        await asyncio.to_thread(self.log.close)


class AsyncSession:
    """A `Session` for asyncio; `close` it, or use it as an asynchronous context manager.

        async with await AsyncSession.open(path) as session:
            view = await session.view("wire")

    Each method does what that of `Session` does, and raises the same.  What is not here, `session` has.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        """The session that it is made of."""

    @classmethod
    async def open(cls, path: str | os.PathLike[str]) -> "AsyncSession":
        """Reads the index of a file."""
        return cls(await asyncio.to_thread(Session.open, path))

    async def __aenter__(self) -> "AsyncSession":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def view(self, kind: Kind, *, at: str | None = None) -> View:
        """The session as one sees it, with all of its records decoded."""
        return await asyncio.to_thread(lambda: self.session.view(kind, at=at).load())

    async def verify(self) -> list[DamagedLine]:
        """Every damaged line of the file, in order."""
        return await asyncio.to_thread(lambda: list(self.session.verify()))

    async def close(self) -> None:
        """Lets go of the file."""
        await asyncio.to_thread(self.session.close)
