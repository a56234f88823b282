"""A call of a model that an agent of LangChain makes, from its request to what comes back."""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from rehydrate.context import ContextError, Engine, Projection, Request
from rehydrate.context.wire import FORMATS

from .langchain_log import Line
from .langchain_messages import FORMAT, View, made, viewed


class Call:
    """One call of a model, and nobody else's meanwhile; its methods raise what those of the engine raise."""

    def __init__(self, request: ModelRequest[Any], engine: Engine, line: Line) -> None:
        self.request, self.engine, self.line = request, engine, line
        self.given: list[tuple[View, BaseMessage]] = []
        """The messages of the request, each with the view that was made of it."""

    def __enter__(self) -> "Call":
        if not self.line.asking.acquire(blocking=False):
            raise ContextError("a model is being asked in this conversation: wait for its answer, or cancel that run")
        return self

    def __exit__(self, *_: object) -> None:
        self.line.asking.release()

    def prepared(self) -> ModelRequest[Any]:
        """The request with what the model is sent."""
        said, control = list(self.request.messages), list[BaseMessage]()
        held = {message.id for message in self.request.state["messages"]}
        while held and said and isinstance(said[-1], (HumanMessage, SystemMessage)) and said[-1].id not in held:
            control.insert(0, said.pop())  # other middleware says it, for this call alone
        with self.line.lock:
            views = self.line.views.of([*said, *control])
            self.given = list(zip(views, [*said, *control], strict=True))
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
