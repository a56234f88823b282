"""pydantic-ai: an engine as a capability of an agent.

    memory = Rehydrate(Engine(log, window=200_000))
    agent = Agent("openai:...", capabilities=[memory])
    result = await agent.run("What is in this folder?")

A request is in the engine's log before the model is asked, a call before its tool runs.  A model is sent the engine's
projection; the history of the run stays as it is.  A run that is given no history goes on with the log.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rehydrate.context import ContextError, Engine, Request
from rehydrate.context.messages import Message

from .followed import Followed
from .pydantic_ai_log import FORMAT, follow
from .pydantic_ai_messages import dumps_of, tools_of
from .pydantic_ai_views import View, bare, view_of

try:
    from pydantic_ai import RetryModelRequest, RunContext
    from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
except ImportError as error:
    raise ImportError("this needs pydantic-ai: pip install 'rehydrate[pydantic-ai]'") from error


def viewed(message: ModelMessage) -> View:
    """A message as an engine is given it."""
    (dump,) = ModelMessagesTypeAdapter.dump_python([message], mode="json")
    return view_of(dump)


def made(messages: Sequence[Message], tools: Mapping[str, str] | None = None) -> list[ModelMessage]:
    """Messages of an engine as those of pydantic-ai.  `tools`: see `tools_of`; None: of these messages."""
    return ModelMessagesTypeAdapter.validate_python(dumps_of(messages, tools))


@dataclass(init=False)
class Rehydrate(AbstractCapability[Any]):
    """The memory of an agent; a run raises what `Engine.prepare`, `Engine.observe` and `Engine.append` raise, and
    ContextError where another one of the conversation is under way.
    """

    def __init__(self, engine: Engine) -> None:
        """`engine`: of the one conversation of this agent; another conversation needs another one."""
        self.engine = engine
        """The engine that it is made of."""
        self._running = threading.Lock()
        self._log = Followed(engine)
        self._known: dict[str, tuple[ModelMessage, list[dict[str, Any]]]] = {}
        """Key of a part -> the message that it was given in, and all blocks of that."""
        self._views: dict[int, tuple[ModelMessage, View]] = {}

    def history(self) -> list[ModelMessage]:
        """What was said since the newest compaction, with what that has left: for `message_history`, where a run has to
        be given one, as with the results of tools that were deferred.
        """
        with self._log.lock:
            return made(self._log.messages())

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Called around a run."""
        if not self._running.acquire(blocking=False):
            raise ContextError("another run of this conversation is under way: wait for its end")
        try:
            return await handler()
        finally:
            self._running.release()

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Called before each attempt at a request: takes in what is new, and gives what the model is sent."""
        request_context.messages = await self._log.alone(self._prepared, request_context)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Called with what came back, which is in the log when this returns."""
        await self._log.alone(self._observed, response)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Called when the model has refused a request: what `Engine.overflow` leaves of it is sent, or it is raised."""
        await self._log.alone(self.engine.overflow, error)
        raise RetryModelRequest

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Called at the end of a run, which may have said something that no model was sent."""
        await self._log.alone(self._take_in, result.all_messages())
        return result

    def _prepared(self, context: ModelRequestContext) -> list[ModelMessage]:
        given = context.messages
        self._take_in(given)
        parameters = context.model_request_parameters
        prompts = [part for message in given for part in message.parts if isinstance(part, SystemPromptPart)]
        said = [part.content for part in (*prompts, *(parameters.instruction_parts or ()))]
        tools = [
            {"name": tool.name, "description": tool.description or "", "input_schema": tool.parameters_json_schema}
            for tool in (*parameters.function_tools, *parameters.output_tools)
        ]
        request = Request(model=context.model.model_name, format=FORMAT, system="\n\n".join(said), tools=tools)
        projected = self.engine.prepare(request).messages
        names = tools_of(projected)
        sent = [self._sent(message, names) for message in projected]
        there = {id(part) for message in sent for part in message.parts}
        lacking = [part for part in prompts if id(part) not in there]
        if lacking and isinstance(sent[0], ModelRequest):
            sent[0] = replace(sent[0], parts=[*lacking, *sent[0].parts])
        return sent

    def _sent(self, message: Message, tools: dict[str, str]) -> ModelMessage:
        """The very message that was given, where nothing of it has changed."""
        found = bare(message["content"])
        known = next((self._known.get(mark["key"]) for mark in found[1]), None)
        return known[0] if known is not None and bare(known[1]) == found else made([message], tools)[0]

    def _observed(self, response: ModelResponse) -> None:
        view = viewed(response)
        usage = {"prompt_tokens": response.usage.input_tokens, "completion_tokens": response.usage.output_tokens}
        self.engine.observe(
            usage if any(usage.values()) else None, [view.message()] if view.blocks else None, provider="openai-chat"
        )

    def _take_in(self, given: Sequence[ModelMessage]) -> None:
        """Bring the log up to a history, each message of which is looked at once in a run."""
        views = {id(message): self._views.get(id(message)) or (message, viewed(message)) for message in given}
        self._views = views
        self._known = {key: (message, view.blocks) for message, view in views.values() for key in view.keys}
        follow(self.engine, self._log.state(), [view for _, view in views.values()])
