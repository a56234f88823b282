"""A call of a model that an agent of LangChain makes, from what it would send to what comes back.

The package is not needed for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from rehydrate.context import FORMATS, ContextError, Engine, Projection, Request

from .langchain_log import Line
from .langchain_messages import FORMAT, View, made

T = TypeVar("T")


@dataclass(frozen=True)
class Form(Generic[T]):
    """The framework's messages as an engine is given them, and back."""

    viewed: Callable[[T], View]
    built: Callable[[str, View, Mapping[str, Any]], T]
    """See `langchain_messages.made`."""


class Call(Generic[T]):
    """One call of a model, and nobody else's meanwhile; its methods raise what those of the engine raise."""

    def __init__(
        self,
        engine: Engine,
        line: Line[T],
        form: Form[T],
        messages: Sequence[T],
        state: Mapping[str, Any],
        request: Request,
    ) -> None:
        """`messages`: what the agent would send.  `state`: what its graph has.  `request`: all else that is sent."""
        self._engine, self._line, self._form = engine, line, form
        self._messages, self._state, self._request = messages, state, request
        self._given: list[tuple[View, T]] = []
        """The messages, each with the view that was made of it."""

    def __enter__(self) -> "Call[T]":
        if not self._line.asking.acquire(blocking=False):
            raise ContextError("a model is being asked in this conversation: wait for its answer, or cancel that run")
        return self

    def __exit__(self, *_: object) -> None:
        self._line.asking.release()

    def prepared(self) -> list[T]:
        """What the model is sent."""
        with self._line.lock:
            views = self._line.views.of(self._messages, self._form.viewed)
            self._given = list(zip(views, self._messages, strict=True))
            held, said = {vars(message)["id"] for message in self._state["messages"]}, len(views)
            while held and said and self._is_control(said - 1, held):
                said -= 1
            base = self._state.get("rehydrate_base")
            self._line.follow(self._engine, views[:said], base if isinstance(base, str) else None)
            request = replace(self._request, control=FORMATS[FORMAT].read(views[said:]))
            return self._sent(self._engine.prepare(request))

    def _is_control(self, place: int, held: set[str]) -> bool:
        """Whether other middleware says it, for this call alone."""
        view, message = self._given[place]
        return view["role"] in ("user", "system") and vars(message)["id"] not in held

    def eased(self, error: Exception) -> list[T]:
        """What is sent where the provider has refused that; raises the error where that is none of a refusal, or there
        is nothing else to send.
        """
        with self._line.lock:
            return self._sent(self._engine.overflow(error))

    def _sent(self, projection: Projection) -> list[T]:
        self._line.settle(self._engine)
        return made(map(dict, projection.messages), self._given, self._form.built)

    def observed(self, messages: Sequence[T]) -> None:
        """What came back is in the log when this returns."""
        with self._line.lock:
            for place, message in enumerate(messages):
                view = self._form.viewed(message)
                if place == 0 and view["role"] == "assistant":
                    usage = view["langchain"]["own"].get("usage_metadata") or {}
                    uuid = self._engine.observe(usage, [view], provider="openai-responses")
                else:
                    uuid = self._engine.append(view, format=FORMAT)
                self._line.add(self._engine, uuid, view)
