"""LangChain: an engine as the middleware of an agent, and `trim` for a chain.

    engine = Engine(log, window=200_000)
    agent = create_agent(model, tools, middleware=[RehydrateMiddleware(engine)])
    agent.invoke({"messages": "What is in this folder?"})

The graph's state stays as it is, whole; what a model is sent of it is the engine's projection.  With a checkpointer the
state is the conversation, and the log follows it; without one the log is, and each run goes on with it.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from rehydrate.context import Engine, Meter, Projection, Request
from rehydrate.context import trim as trim_views
from rehydrate.context.wire import FORMATS

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
    )
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        MessageLikeRepresentation,
        SystemMessage,
        convert_to_messages,
    )
    from langchain_core.prompt_values import PromptValue
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.runtime import Runtime

    from .langchain_log import Line
    from .langchain_messages import FORMAT, View, made, viewed
except ImportError as error:
    raise ImportError("this needs LangChain: pip install 'rehydrate[langchain]'") from error


class _State(AgentState[Any], total=False):
    rehydrate_base: Annotated[str, PrivateStateAttr]
    """What the first message of the state follows in the log; see `Line.base`."""


class RehydrateMiddleware(AgentMiddleware[_State, Any, Any]):
    """Sends a model what its engine decides, and keeps the conversation in the engine's log.

    A model call raises what `prepare`, `observe`, `overflow` and `append` of the engine raise.  Put it last in the list
    of middleware: then it sees what the others make of a request, and of an answer what the model gave.
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
        return await asyncio.to_thread(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Called by the agent."""
        call = _Call(request, *self._of(request.runtime))
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
        call = _Call(request, *self._of(request.runtime))
        prepared = await asyncio.to_thread(call.prepared)
        try:
            response = await handler(prepared)
        except Exception as error:
            response = await handler(await asyncio.to_thread(call.eased, error))
        return await asyncio.to_thread(call.observed, response)

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


class _Call:
    """One call of a model."""

    def __init__(self, request: ModelRequest[Any], engine: Engine, line: Line) -> None:
        self.request, self.engine, self.line = request, engine, line
        self.given: list[tuple[View, BaseMessage]] = []
        """The messages of the request, each with the view that was made of it."""

    def prepared(self) -> ModelRequest[Any]:
        """The request with what the model is sent."""
        said, control = list(self.request.messages), list[BaseMessage]()
        held = {message.id for message in self.request.state["messages"]}
        while held and said and isinstance(said[-1], (HumanMessage, SystemMessage)) and said[-1].id not in held:
            control.insert(0, said.pop())  # other middleware says it, for this call alone
        self.given = [(viewed(message), message) for message in [*said, *control]]
        views = [view for view, _ in self.given]
        with self.line.lock:
            base = self.request.state.get("rehydrate_base")
            self.line.follow(self.engine, views[: len(said)], base if isinstance(base, str) else None)
            projection = self.engine.prepare(_request(self.request, views[len(said) :]))
            return self._sending(projection)

    def eased(self, error: Exception) -> ModelRequest[Any]:
        """What is sent where the provider has refused that; raises the error where that is none of a refusal, or there
        is nothing else to send.
        """
        with self.line.lock:
            return self._sending(self.engine.overflow(error))

    def _sending(self, projection: Projection) -> ModelRequest[Any]:
        self.line.settle(self.engine)
        messages: list[Any] = made(map(dict, projection.messages), self.given)
        return self.request.override(messages=messages)

    def observed(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """What came back, when it is in the log."""
        with self.line.lock:
            for place, message in enumerate(response.result):
                view = viewed(message)
                if place == 0 and isinstance(message, AIMessage):
                    usage = message.usage_metadata
                    uuid = self.engine.observe(dict(usage or {}), [view], provider="openai-responses")
                else:
                    uuid = self.engine.append(view, format=FORMAT)
                self.line.add(self.engine, uuid, view)
        return response


def _request(request: ModelRequest[Any], control: Sequence[View]) -> Request:
    """What the engine has to know of it.  A schema of the answer counts as a tool, which it is for most models."""
    model, answer = request.model, request.response_format
    specs = getattr(answer, "schema_specs", None) or [getattr(answer, "schema_spec", None)]
    schemas = [each.json_schema for each in specs if each is not None] or [getattr(answer, "schema", None)]
    return Request(
        model=str(getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type),
        format=FORMAT,
        system=request.system_message and request.system_message.content,
        tools=[convert_to_openai_tool(each) for each in [*request.tools, *schemas] if each is not None],
        control=FORMATS[FORMAT].read(control),
    )


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
