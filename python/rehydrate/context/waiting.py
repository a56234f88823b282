"""Waiting for what a host has given, with the lock of an engine free meanwhile.

One thread at a time has its turn, from the first look at the log until a decision is on disk; the lock it gives up
where it waits, so that other threads append and observe.  Who waits can be stopped from another thread.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import ContextError

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


class Stop:
    """Stops what one caller waits for, now or as soon as it does."""

    def __init__(self) -> None:
        self._is_set = False
        self._awaited: Future[Any] | None = None

    def set(self) -> None:
        """From any thread."""
        self._is_set = True
        self._end()

    def watch(self, awaited: "Future[Any]") -> None:
        """What is waited for next."""
        self._awaited = awaited
        self._end()

    def _end(self) -> None:
        if self._is_set and self._awaited is not None:
            from .summariser import Aborted

            with suppress(Exception):  # it has ended by itself
                self._awaited.set_exception(Aborted("the wait for a summary was stopped"))


STOP: ContextVar[Stop | None] = ContextVar("rehydrate_stop", default=None)
"""What stops the wait of whoever runs in this context; None: nothing does."""
_TURN: ContextVar[object] = ContextVar("rehydrate_turn", default=None)
"""The turn that whoever runs in this context is part of, or was; None: of none."""


class Waiting:
    """The turns of the threads that share an engine."""

    def __init__(self, lock: "threading.RLock") -> None:
        """`lock`: of the engine."""
        self._lock = lock
        self._ended = threading.Condition(lock)
        self._turn: object = None
        """The one that is under way; None: none is."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """With the lock held, and nobody else in a turn.  Raises ContextError for what is called in one, and waited
        for.
        """
        with self._lock:
            if self._turn is not None and _TURN.get() is self._turn:
                raise ContextError("a hook or a summariser cannot prepare or compact: the engine waits for it")
            while self._turn is not None:
                self._ended.wait()
            self._turn = object()
            before = _TURN.set(self._turn)
            try:
                yield
            finally:
                _TURN.reset(before)
                self._turn = None
                self._ended.notify_all()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """In a turn, with the lock free."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()

    def run(self, call: Callable[[], T], timeout_s: float) -> T:
        """In a turn, what a call gives or raises; it runs in a thread of its own, with the lock free.

        Raises TimeoutError where that takes longer, and Aborted where somebody stops the wait; the thread is left then,
        and what it comes to is of no interest any more.
        """
        from concurrent.futures import Future  # few need it
        from concurrent.futures import TimeoutError as TooLate

        future: Future[T] = Future()

        def work() -> None:
            try:
                result = call()
            except BaseException as error:  # whatever it is, it is for the one who waits
                with suppress(Exception):  # who may not wait any more
                    future.set_exception(error)
            else:
                with suppress(Exception):
                    future.set_result(result)

        stop = STOP.get()
        if stop is not None:
            stop.watch(future)
        with self.apart():
            threading.Thread(target=copy_context().run, args=(work,), daemon=True, name="rehydrate-summary").start()
            try:
                return future.result(timeout_s)
            except TooLate:
                if future.done():  # it is what the call itself has raised, or came just now
                    return future.result()
                raise TimeoutError(f"no answer within {timeout_s:g} seconds") from None
