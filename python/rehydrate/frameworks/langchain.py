"""LangChain: an engine as the middleware of an agent, and `trim` for a chain.

    engine = Engine(log, window=200_000)
    agent = create_agent(model, tools, middleware=[RehydrateMiddleware(engine)])
    agent.invoke({"messages": "What is in this folder?"})

The graph's state stays as it is, whole; what a model is sent of it is the engine's projection.  With a checkpointer the
state is the conversation, and the log follows it; without one the log is, and each run goes on with it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from rehydrate.context import Engine, Meter, Request
from rehydrate.context import trim as trim_views
from rehydrate.context.aio import stoppable

from .langchain_call import Call, Form
from .langchain_log import Lines
from .langchain_messages import FORMAT, View, made, view_of

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import PrivateStateAttr
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        MessageLikeRepresentation,
        SystemMessage,
        ToolMessage,
        convert_to_messages,
    )
    from langchain_core.messages.tool import default_tool_parser
    from langchain_core.prompt_values import PromptValue
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.runtime import Runtime
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise ImportError("this needs LangChain: pip install 'rehydrate[langchain]'") from error

_CLASSES = {"assistant": AIMessage, "tool": ToolMessage, "system": SystemMessage, "user": HumanMessage}


def viewed(message: BaseMessage) -> View:
    """A message as an engine is given it.  Bytes become base64, and what JSON cannot hold its text."""
    held = {**message.__dict__, **(message.__pydantic_extra__ or {}), "artifact": None}
    return view_of(to_jsonable_python(held, bytes_mode="base64", fallback=str))


def _built(role: str, members: View, own: Mapping[str, Any]) -> BaseMessage:
    """A message of that role with these members; `own`: what is LangChain's own."""
    if role == "assistant":
        parsed = default_tool_parser(members.pop("tool_calls", []))
        members["tool_calls"], members["invalid_tool_calls"] = parsed
    message: BaseMessage = _CLASSES[role](**members)
    return message.model_copy(update=own)


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
        self._lines = Lines[Any](engine)

    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Called by the agent, which keeps what it gives with its state."""
        if state.get("rehydrate_base"):
            return None
        engine, line = self._lines.of(runtime)
        with line.lock:
            return {"rehydrate_base": line.base(engine, [viewed(message) for message in state["messages"]])}

    async def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Called by the agent; the log is read in a thread."""
        return await stoppable(lambda: self.before_agent(state, runtime))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Called by the agent."""
        with self._call(request) as call:
            messages = call.prepared()
            try:
                response = handler(request.override(messages=messages))
            except Exception as error:
                response = handler(request.override(messages=call.eased(error)))
            call.observed(response.result)
            return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Called by the agent; the engine works in a thread.  What is cancelled meanwhile may be done all the same."""
        with self._call(request) as call:
            messages = await stoppable(call.prepared)
            try:
                response = await handler(request.override(messages=messages))
            except Exception as error:
                response = await handler(request.override(messages=await stoppable(partial(call.eased, error))))
            await stoppable(partial(call.observed, response.result))
            return response

    def _call(self, request: ModelRequest[Any]) -> Call[Any]:
        form = Form[Any](viewed, _built)
        return Call(*self._lines.of(request.runtime), form, request.messages, request.state, _asked(request))


def _asked(request: ModelRequest[Any]) -> Request:
    """What the engine has to know of it.  A schema of the answer counts as a tool, which it is for most models."""
    model, answer = request.model, request.response_format
    specs = getattr(answer, "schema_specs", None) or [getattr(answer, "schema_spec", None)]
    schemas = [each.json_schema for each in specs if each is not None] or [getattr(answer, "schema", None)]
    return Request(
        model=str(getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type),
        format=FORMAT,
        system=request.system_message and request.system_message.content,
        tools=[convert_to_openai_tool(each) for each in [*request.tools, *schemas] if each is not None],
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
    return made(trim_views([view for view, _ in given], budget=max_tokens, format=FORMAT, meter=meter), given, _built)
