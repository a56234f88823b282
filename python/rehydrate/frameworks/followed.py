"""The log of an engine, as an adapter looks at it between the calls of a model."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rehydrate.context import Engine
from rehydrate.context.aio import stoppable
from rehydrate.context.messages import Message, is_hidden
from rehydrate.context.state import State, follow

T = TypeVar("T")


class Followed:
    """What the log of one engine holds; of what it held at the last look only what is new is read.

    Methods but `alone` are for whoever has the `lock`.
    """

    def __init__(self, engine: Engine) -> None:
        self.lock = threading.Lock()
        self._log = engine.log
        self._state: State | None = None

    async def alone(self, call: Callable[..., T], *given: Any) -> T:
        """What a call gives or raises, in a thread and with the lock: what was cancelled may go on for a while."""

        def work() -> T:
            with self.lock:
                return call(*given)

        return await stoppable(work)

    def state(self) -> State:
        """What there is now.  Raises what `SessionLog.flush` raises."""
        self._state = follow(self._log, self._state)
        return self._state

    def messages(self) -> list[Message]:
        """What the newest compaction has left, and what was said since, without an engine's own notes."""
        state = self.state()
        return [*state.inherited, *(each.message for each in state.said if not is_hidden(each.message))]
