"""LangChain: an engine as the middleware of an agent, and `trim` for a chain.

    engine = Engine(log, window=200_000)
    agent = create_agent(model, tools, middleware=[RehydrateMiddleware(engine)])
    agent.invoke({"messages": "What is in this folder?"})

The graph's state stays as it is, whole; what a model is sent of it is the engine's projection.  With a checkpointer the
state is the conversation, and the log follows it; without one the log is, and each run goes on with it.
"""

import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from rehydrate.context import Engine, Meter
from rehydrate.context import trim as trim_views
from rehydrate.context.aio import stoppable

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
    )
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import BaseMessage, MessageLikeRepresentation, convert_to_messages
    from langchain_core.prompt_values import PromptValue
    from langgraph.runtime import Runtime

    from .langchain_call import Call
    from .langchain_log import Line
    from .langchain_messages import FORMAT, made, viewed
except ImportError as error:
    raise ImportError("this needs LangChain: pip install 'rehydrate[langchain]'") from error


class _State(AgentState[Any], total=False):
    rehydrate_base: Annotated[str, PrivateStateAttr]
    """What the first message of the state follows in the log; see `Line.base`."""


class RehydrateMiddleware(AgentMiddleware[_State, Any, Any]):
    """Sends a model what its engine decides, and keeps the conversation in the engine's log.

    A model call raises what `prepare`, `observe`, `overflow` and `append` of the engine raise, and ContextError while
    another one of the conversation is under way.  Put it last in the list of middleware: then it sees what the others
    make of a request, and of an answer what the model gave.
    """

    state_schema = _State

    def __init__(self, engine: Engine | Callable[[Runtime[Any]], Engine]) -> None:
        """`engine`: of the one conversation of this agent; for an agent that has several (threads, users) a function
        that gives the engine of the conversation that runs, the same one each time.
        """
        super().__init__()
        self._engine = engine
        self._thread: str | None = None
        """Whose conversation the one engine has."""
        self._lines: WeakKeyDictionary[Engine, Line] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Called by the agent, which keeps what it gives with its state."""
        if state.get("rehydrate_base"):
            return None
        engine, line = self._of(runtime)
        with line.lock:
            return {"rehydrate_base": line.base(engine, [viewed(message) for message in state["messages"]])}

    async def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Called by the agent; the log is read in a thread."""
        return await stoppable(lambda: self.before_agent(state, runtime))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Called by the agent."""
        with Call(request, *self._of(request.runtime)) as call:
            prepared = call.prepared()
            try:
                response = handler(prepared)
            except Exception as error:
                response = handler(call.eased(error))
            return call.observed(response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Called by the agent; the engine works in a thread.  What is cancelled meanwhile may be done all the same."""
        with Call(request, *self._of(request.runtime)) as call:
            prepared = await stoppable(call.prepared)
            try:
                response = await handler(prepared)
            except Exception as error:
                response = await handler(await stoppable(partial(call.eased, error)))
            return await stoppable(partial(call.observed, response))

    def _of(self, runtime: Runtime[Any]) -> tuple[Engine, Line]:
        thread = getattr(runtime.execution_info, "thread_id", None)
        with self._lock:
            if not isinstance(self._engine, Engine):
                engine = self._engine(runtime)
            else:
                engine, self._thread = self._engine, self._thread or thread
                if thread != self._thread:
                    raise ValueError(
                        f"the engine has the conversation of the thread {self._thread}, and this is {thread}: give "
                        "`RehydrateMiddleware` a function that gives an engine for each"
                    )
            return engine, self._lines.setdefault(engine, Line())


def trim(
    messages: PromptValue | Sequence[MessageLikeRepresentation], *, max_tokens: int, meter: Meter | None = None
) -> list[BaseMessage]:
    """The messages where they count at most `max_tokens`, else fewer that do, as `rehydrate.context.trim` has it: pairs
    of calls and results whole, those of the system and the last one of the user, too, and a summary of what is gone.
    Messages that are not changed are the objects that they were.

    In a chain: `prompt | partial(trim, max_tokens=8_000) | model`.  `meter`: None for the usual one.
    """
    given = [(viewed(message), message) for message in convert_to_messages(messages)]
    return made(trim_views([view for view, _ in given], budget=max_tokens, format=FORMAT, meter=meter), given)
