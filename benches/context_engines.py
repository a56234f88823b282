"""What other people's libraries make of messages that have to fit a budget, each used as its documentation says.

An engine takes messages in OpenAI's chat form.  `load` and `chat` turn them into its own form and back, and are not
timed; `cut` is.  Where an engine asks a model for a summary, one that always says the same answers at once.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, ClassVar

Wire = list[dict[str, Any]]
Size = Callable[[Sequence[dict[str, Any]]], int]
"""Tokens of a list in OpenAI's chat form."""
Count = Callable[[str], int]

SUMMARY = "The user and the assistant worked on the parser. " * 8
"""What the model says that an engine asks; no summary is within a budget that is less."""


class Engine:
    """One way to use one library; a subclass says which."""

    name: ClassVar[str]
    package: ClassVar[str]
    asks_model: ClassVar[bool] = False

    def __init__(self, count: Count, size: Size) -> None:
        """`count`: tokens of a text; `size`: of a list of messages, every engine and the judge with the same one."""
        self.count, self.size = count, size

    def load(self, messages: Wire) -> Any:
        return deepcopy(messages)

    def cut(self, messages: Any, budget: int) -> Any:
        raise NotImplementedError

    def chat(self, messages: Any) -> Wire:
        return list(messages)


class Ours(Engine):
    """The function without state, which is what the others can be held against."""

    name, package = "rehydrate", "rehydrate"

    def __init__(self, count: Count, size: Size) -> None:
        super().__init__(count, size)
        from rehydrate.context.meter import Meter

        self.meter = Meter(SimpleNamespace(count=count, name="shared", is_exact=True))

    def cut(self, messages: Any, budget: int) -> Any:
        from rehydrate.context.trimming import trim

        return trim(messages, budget=budget, format="openai-chat", meter=self.meter)


class LangChain(Engine):
    """`trim_messages` with what its documentation recommends for a chat history."""

    name, package = "LangChain `trim_messages`", "langchain-core"

    def load(self, messages: Wire) -> Any:
        from langchain_core.messages import convert_to_messages

        loaded = convert_to_messages(messages)
        for number, message in enumerate(loaded):
            message.id = f"m{number}"
        return loaded

    def cut(self, messages: Any, budget: int) -> Any:
        from langchain_core.messages import trim_messages

        return trim_messages(
            messages,
            max_tokens=budget,
            token_counter=lambda some: self.size(self.chat(some)),
            strategy="last",
            start_on="human",
            end_on=("human", "tool"),
            include_system=True,
            allow_partial=False,
        )

    def chat(self, messages: Any) -> Wire:
        from langchain_core.messages import convert_to_openai_messages

        made: Wire = convert_to_openai_messages(messages)
        return made


class LangMem(LangChain):
    """`summarize_messages`, the summary within the share of the budget that is its default, or less."""

    name, package, asks_model = "langmem `summarize_messages`", "langmem", True

    def cut(self, messages: Any, budget: int) -> Any:
        from langchain_core.language_models import FakeListChatModel
        from langmem.short_term import summarize_messages

        return summarize_messages(
            messages,
            running_summary=None,
            model=FakeListChatModel(responses=[SUMMARY]),
            max_tokens=budget,
            max_summary_tokens=min(256, budget // 2),
            token_counter=lambda some: self.size(self.chat(some)),
        ).messages


class Strands(Engine):
    """A conversation manager, asked to reduce as the agent's loop asks it after each refusal of the model, until the
    list fits, or it gives up, or has made no difference three times.
    """

    package = "strands-agents"

    def manager(self) -> Any:
        raise NotImplementedError

    def load(self, messages: Wire) -> Any:
        return messages[0], converse(messages[1:])

    def cut(self, messages: Any, budget: int) -> Any:
        from strands.types.exceptions import ContextWindowOverflowException

        system, kept = messages
        agent = SimpleNamespace(messages=kept, model=None, aux_model=_strands_model())
        manager = self.manager()
        sizes: list[int] = []
        while (size := self.size([system, *from_converse(agent.messages)])) > budget and sizes[-3:] != [size] * 3:
            manager.reduce_context(agent, e=ContextWindowOverflowException("too long"))
            sizes.append(size)
        return system, agent.messages

    def chat(self, messages: Any) -> Wire:
        system, kept = messages
        return [system, *from_converse(kept)]


class StrandsWindow(Strands):
    name = "strands `SlidingWindowConversationManager`"

    def manager(self) -> Any:
        from strands.agent.conversation_manager import SlidingWindowConversationManager

        return SlidingWindowConversationManager()


class StrandsSummary(Strands):
    name, asks_model = "strands `SummarizingConversationManager`", True

    def manager(self) -> Any:
        from strands.agent.conversation_manager import SummarizingConversationManager

        return SummarizingConversationManager()


class AgentFramework(Engine):
    """`apply_compaction` with a strategy; it counts what it serialises of a message, with the same counter."""

    package = "agent-framework-core"

    def strategy(self, budget: int, tokenizer: Any) -> Any:
        raise NotImplementedError

    def load(self, messages: Wire) -> Any:
        return [_framework(message) for message in messages]

    def cut(self, messages: Any, budget: int) -> Any:
        from agent_framework import apply_compaction

        tokenizer = SimpleNamespace(count_tokens=self.count)
        strategy = self.strategy(budget, tokenizer)
        return asyncio.run(apply_compaction(messages, strategy=strategy, tokenizer=tokenizer))

    def chat(self, messages: Any) -> Wire:
        return [each for message in messages for each in _from_framework(message)]


class FrameworkBudget(AgentFramework):
    name = "agent-framework `TokenBudgetComposedStrategy`"

    def strategy(self, budget: int, tokenizer: Any) -> Any:
        from agent_framework import SlidingWindowStrategy, TokenBudgetComposedStrategy, ToolResultCompactionStrategy

        steps = [ToolResultCompactionStrategy(), SlidingWindowStrategy(keep_last_groups=20)]
        return TokenBudgetComposedStrategy(token_budget=budget, tokenizer=tokenizer, strategies=steps)


class FrameworkWindow(AgentFramework):
    name = "agent-framework `ContextWindowCompactionStrategy`"

    def strategy(self, budget: int, tokenizer: Any) -> Any:
        from agent_framework import ContextWindowCompactionStrategy

        return ContextWindowCompactionStrategy(
            max_context_window_tokens=budget, max_output_tokens=0, tokenizer=tokenizer
        )


ENGINES = (Ours, LangChain, LangMem, StrandsWindow, StrandsSummary, FrameworkBudget, FrameworkWindow)


def converse(messages: Wire) -> Wire:
    """From OpenAI's chat form to that of Bedrock's Converse, which strands keeps."""
    made: Wire = []
    for message in messages:
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content or []
        blocks = [
            {"text": part["text"]} if "text" in part else {"image": {"format": "png", "source": part["image_url"]}}
            for part in parts
        ]
        if message["role"] == "tool":
            block = {"toolResult": {"toolUseId": message["tool_call_id"], "status": "success", "content": blocks}}
            if made and made[-1]["role"] == "user" and "toolResult" in made[-1]["content"][0]:
                made[-1]["content"].append(block)
            else:
                made.append({"role": "user", "content": [block]})
            continue
        for call in message.get("tool_calls") or ():
            use = {
                "toolUseId": call["id"],
                "name": call["function"]["name"],
                "input": json.loads(call["function"]["arguments"]),
            }
            blocks.append({"toolUse": use})
        made.append({"role": message["role"], "content": blocks})
    return made


def from_converse(messages: Wire) -> Wire:
    """And back; results come before what a message says beside them."""
    made: Wire = []
    for message in messages:
        parts: Wire = []
        calls: Wire = []
        for block in message["content"]:
            if "toolResult" in block:
                result = block["toolResult"]
                text = "\n".join(each["text"] for each in result["content"] if "text" in each)
                made.append({"role": "tool", "tool_call_id": result["toolUseId"], "content": text})
            elif "toolUse" in block:
                use = block["toolUse"]
                function = {"name": use["name"], "arguments": json.dumps(use["input"], ensure_ascii=False)}
                calls.append({"id": use["toolUseId"], "type": "function", "function": function})
            elif "text" in block:
                parts.append({"type": "text", "text": block["text"]})
            else:
                parts.append({"type": "image_url", "image_url": block["image"]["source"]})
        if calls:
            made.append({"role": message["role"], "content": parts or None, "tool_calls": calls})
        elif parts:
            made.append({"role": message["role"], "content": parts})
    return made


def _strands_model() -> Any:
    """A model that gives the summary; of a model only `stream` is asked."""

    async def stream(*_: object, **__: object) -> Any:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": SUMMARY}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    return SimpleNamespace(stream=stream)


def _framework(message: dict[str, Any]) -> Any:
    from agent_framework import Content, Message

    content = message.get("content")
    if message["role"] == "tool":
        return Message("tool", [Content.from_function_result(message["tool_call_id"], result=content)])
    contents = []
    for part in [{"text": content}] if isinstance(content, str) else content or ():
        if "text" in part:
            contents.append(Content.from_text(part["text"]))
        else:
            contents.append(Content.from_uri(part["image_url"]["url"], media_type="image/png"))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        contents.append(Content.from_function_call(call["id"], function["name"], arguments=function["arguments"]))
    return Message(message["role"], contents)


def _from_framework(message: Any) -> Wire:
    parts: Wire = []
    calls: Wire = []
    results: Wire = []
    for content in message.contents:
        if content.type == "text":
            parts.append({"type": "text", "text": content.text})
        elif content.type == "function_call":
            function = {"name": content.name, "arguments": content.arguments}
            calls.append({"id": content.call_id, "type": "function", "function": function})
        elif content.type == "function_result":
            results.append({"role": "tool", "tool_call_id": content.call_id, "content": str(content.result or "")})
        else:
            parts.append({"type": "image_url", "image_url": {"url": content.uri}})
    said = {"role": str(message.role), "content": parts or None}
    return results + ([said | ({"tool_calls": calls} if calls else {})] if parts or calls else [])
