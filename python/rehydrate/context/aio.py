"""An engine from asyncio: the same as `engine`, and the loop goes on meanwhile.

What is cancelled while it is waited for may be done all the same; but a model that is asked for a summary is not waited
for any more, and the compaction is not made.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .checkpoint import Checkpoint
from .engine import Engine
from .projection import Projection, Request
from .waiting import STOP, Stop

T = TypeVar("T")


class AsyncEngine:
    """An `Engine` for asyncio.

        engine = AsyncEngine(await asyncio.to_thread(Engine, log, window=200_000))
        projection = await engine.prepare(request)

    Each method does what that of `Engine` does, and raises the same.  What is not here, `engine` has.
    """

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise TypeError(f"an AsyncEngine is made of an `Engine`, and not of {type(engine).__name__}")
        self.engine = engine
        """The engine that it is made of."""

    async def prepare(self, request: Request) -> Projection:
        """What a model is sent next."""
        return await stoppable(lambda: self.engine.prepare(request))

    async def observe(
        self,
        usage: Mapping[str, Any] | None,
        reply: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        *,
        provider: str | None = None,
    ) -> str | None:
        """What came back."""
        return await asyncio.to_thread(self.engine.observe, usage, reply, provider=provider)

    async def overflow(
        self,
        error: BaseException | Mapping[str, Any] | str,
        *,
        partial: Mapping[str, Any] | Sequence[Any] | None = None,
    ) -> Projection:
        """What to send in the place of what the provider has refused."""
        return await stoppable(lambda: self.engine.overflow(error, partial=partial))

    async def cut_off(
        self,
        usage: Mapping[str, Any] | None,
        reply: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        limit: int,
        highest: int | None = None,
        provider: str | None = None,
    ) -> Projection:
        """What to send next when an answer was cut off."""
        return await stoppable(
            lambda: self.engine.cut_off(usage, reply, limit=limit, highest=highest, provider=provider)
        )

    async def compact(self, reason: str = "manual", focus: str | None = None) -> Checkpoint | None:
        """Compact now."""
        return await stoppable(lambda: self.engine.compact(reason, focus))

    async def append(self, *messages: Mapping[str, Any], format: str | None = None) -> str | None:
        """Append messages in the form of a provider."""
        return await asyncio.to_thread(lambda: self.engine.append(*messages, format=format))

    async def pin(self, uuid: str) -> None:
        """Keep a message word for word."""
        await asyncio.to_thread(self.engine.pin, uuid)

    async def explain(self, request: Request | None = None) -> dict[str, Any]:
        """What the next request would hold."""
        return await asyncio.to_thread(self.engine.explain, request)

    async def put(self, heading: str, payload: str, *, status: str = "open", supersedes: str | None = None) -> str:
        """Add an item to the ledger."""
        ledger = self.engine.ledger
        return await asyncio.to_thread(ledger.put, heading, payload, status=status, supersedes=supersedes)

    async def close(self, item_id: str, *, status: str = "done") -> None:
        """Close an item of the ledger."""
        await asyncio.to_thread(self.engine.ledger.close, item_id, status=status)


async def stoppable(call: Callable[[], T]) -> T:
    """What a call gives or raises, in a thread; when it is cancelled, what it waits for is stopped."""
    stop = Stop()
    token = STOP.set(stop)  # the thread has a copy of this context
    try:
        return await asyncio.to_thread(call)
    except asyncio.CancelledError:
        stop.set()
        raise
    finally:
        STOP.reset(token)
