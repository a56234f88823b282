"""pydantic-ai: an engine as a capability of an agent.

    memory = Rehydrate(Engine(log, window=200_000))
    agent = Agent("openai:...", capabilities=[memory])
    result = await agent.run("What is in this folder?")

A request is in the engine's log before the model is asked, a call before its tool runs.  A model is sent the engine's
projection; the history of the run stays as it is.  A run that is given no history goes on with the log.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rehydrate.context import Engine, Request
from rehydrate.context.messages import Message
from rehydrate.context.state import read
from rehydrate.context.view import Said

try:
    from pydantic_ai import RetryModelRequest, RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

    from .pydantic_ai_messages import made
    from .pydantic_ai_views import MARK, View, viewed
except ImportError as error:
    raise ImportError("this needs pydantic-ai: pip install 'rehydrate[pydantic-ai]'") from error

FORMAT = "anthropic"


@dataclass(init=False)
class Rehydrate(AbstractCapability[Any]):
    """The memory of an agent; a run raises what `Engine.prepare`, `Engine.observe` and `Engine.append` raise."""

    def __init__(self, engine: Engine) -> None:
        """`engine`: of the one conversation of this agent; another conversation needs another one."""
        self.engine = engine
        """The engine that it is made of."""
        self._known: dict[str, tuple[ModelMessage, list[dict[str, Any]]]] = {}
        """Key of a part -> the message that it was given in, and all blocks of that."""
        self._views: dict[int, tuple[ModelMessage, View]] = {}

    def history(self) -> list[ModelMessage]:
        """What was said since the newest compaction, with what that has left: for `message_history`, where a run has to
        be given one, as with the results of tools that were deferred.
        """
        said, inherited = self._said()
        return made([*inherited, *(each.message for each in said if each.uuid)])

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Called before each attempt at a request: takes in what is new, and gives what the model is sent."""
        request_context.messages = await asyncio.to_thread(self._prepared, request_context)
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Called with what came back, which is in the log when this returns."""
        await asyncio.to_thread(self._observed, response)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Called when the model has refused a request: what `Engine.overflow` leaves of it is sent, or it is raised."""
        await asyncio.to_thread(self.engine.overflow, error)
        raise RetryModelRequest

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Called at the end of a run, which may have said something that no model was sent."""
        await asyncio.to_thread(self._follow, result.all_messages())
        return result

    def _prepared(self, context: ModelRequestContext) -> list[ModelMessage]:
        given = context.messages
        self._follow(given)
        parameters = context.model_request_parameters
        prompts = [part for message in given for part in message.parts if isinstance(part, SystemPromptPart)]
        said = [part.content for part in (*prompts, *(parameters.instruction_parts or ()))]
        tools = [
            {"name": tool.name, "description": tool.description or "", "input_schema": tool.parameters_json_schema}
            for tool in (*parameters.function_tools, *parameters.output_tools)
        ]
        request = Request(model=context.model.model_name, format=FORMAT, system="\n\n".join(said), tools=tools)
        sent = [self._sent(message) for message in self.engine.prepare(request).messages]
        there = {id(part) for message in sent for part in message.parts}
        lacking = [part for part in prompts if id(part) not in there]
        if lacking and isinstance(sent[0], ModelRequest):
            sent[0] = replace(sent[0], parts=[*lacking, *sent[0].parts])
        return sent

    def _sent(self, message: Message) -> ModelMessage:
        """The very message that was given, where nothing of it has changed."""
        found = _bare(message["content"])
        known = next((self._known.get(mark["key"]) for mark in found[1]), None)
        return known[0] if known is not None and _bare(known[1]) == found else made([message])[0]

    def _observed(self, response: ModelResponse) -> None:
        view = viewed(response)
        usage = {"prompt_tokens": response.usage.input_tokens, "completion_tokens": response.usage.output_tokens}
        self.engine.observe(
            usage if any(usage.values()) else None, [view.message()] if view.blocks else None, provider="openai-chat"
        )

    def _follow(self, given: Sequence[ModelMessage]) -> None:
        """Append what the log lacks, behind the last that it has; what it has behind that was given up."""
        views = self._looked_at(given)
        said, inherited = self._said()
        has = [_keys(each.message) for each in said]
        known = set().union(*has, *map(_keys, inherited))
        given_keys = {key for view in views for key in view.keys}
        last = max((at for at, view in enumerate(views) if view.keys and known.issuperset(view.keys)), default=-1)
        if known & given_keys:
            last_said = max((at for at, keys in enumerate(has) if keys & given_keys), default=-1)
            for each, keys in zip(reversed(said[last_said + 1 :]), reversed(has[last_said + 1 :]), strict=True):
                if keys:
                    self.engine.log.retract(each.uuid, reason="another history was given")
        fresh = [view.message(known) for view in views[last + 1 :]]
        self.engine.append(*(message for message in fresh if message["content"]), format=FORMAT)

    def _looked_at(self, given: Sequence[ModelMessage]) -> list[View]:
        """The messages as the engine has them, each of which is looked at once in a run."""
        views = {id(message): self._views.get(id(message)) or (message, viewed(message)) for message in given}
        self._views = views
        self._known = {key: (message, view.blocks) for message, view in views.values() for key in view.keys}
        return [view for _, view in views.values()]

    def _said(self) -> tuple[Sequence[Said], Sequence[Message]]:
        log = self.engine.log
        log.flush()
        state = read(log.path, tip=log.tip)
        return state.said, state.inherited


def _keys(message: Message) -> set[str]:
    return {mark["key"] for mark in _bare(message["content"])[1]}


def _bare(content: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Blocks without their marks, and these without what they say of the whole message: a run adds to that."""
    blocks = [block for block in content if MARK in block] if isinstance(content, list) else []
    ours = [{name: value for name, value in block[MARK].items() if name != "message"} for block in blocks]
    return [{**block, MARK: None} for block in (blocks if len(blocks) == len(content) else ())], ours
