"""What a message costs, in tokens, by a local count: the one measure that every decision is made with.

Nothing is kept between two counts but the counter's memory of texts.  Of what is no text the bytes are never counted:
an image, a recording and a document have a flat cost.  No block is free.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rehydrate.context.messages import Block, Message, blocks
from rehydrate.context.tokens import TokenCounter, default_counter

MESSAGE = 4
"""What a message costs beside its blocks, for its role and its ends."""
CALL = 4
"""What a call costs beside its name and its input."""
SCHEMA = 8
"""What the schema of a tool costs beside its text."""

FLAT = {"image": 1_600, "audio": 2_000, "video": 8_000, "document": 3_000}
"""What something other than text costs, by the type of its block.

An image of the size that Anthropic scales large ones down to is about 1,600 tokens (width x height / 750), more than
most of OpenAI's and Gemini's; a minute of sound is 1,920 of Gemini's, half a minute of its video 7,900; a page of a
document is up to 3,000 of Anthropic's.  A provider's own count corrects it after the next call.
"""


def as_json(value: object) -> str:
    """A value as the text that is counted for it; what JSON cannot hold is written as Python would print it."""
    return json.dumps(value, ensure_ascii=False, default=str)


class Meter:
    """Counts messages in the neutral form; see `rehydrate.context.messages`."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        """`counter`: None for `default_counter()`."""
        self.counter = default_counter() if counter is None else counter

    def block(self, block: Block) -> int:
        """Tokens of one block, at least 1."""
        return max(1, self._block(block))

    def _block(self, block: Block) -> int:
        kind = block.get("type")
        count = self.counter.count
        if kind == "text" and isinstance(text := block.get("text"), str):
            return count(text)
        if kind == "tool_use":
            return CALL + count(str(block.get("name", ""))) + count(as_json(block.get("input")))
        if kind == "tool_result":
            content = block.get("content")
            return count(content) if isinstance(content, str) else self.blocks(blocks(block))
        if kind == "thinking" and isinstance(text := block.get("thinking"), str):
            return count(text)
        if kind == "document" and isinstance(source := block.get("source"), Mapping):
            if source.get("type") == "text":
                return count(str(source.get("data")))
            if source.get("type") == "content":
                return self.blocks(blocks(source))
        if isinstance(kind, str) and kind in FLAT:
            return FLAT[kind]
        return count(as_json(block))

    def blocks(self, these: Iterable[Block]) -> int:
        """Tokens of all of these blocks."""
        return sum(map(self.block, these))

    def message(self, message: Message) -> int:
        """Tokens of a message, at least `MESSAGE`."""
        content = message.get("content")
        return MESSAGE + (self.counter.count(content) if isinstance(content, str) else self.blocks(blocks(message)))

    def messages(self, messages: Iterable[Message]) -> int:
        """Tokens of a list of messages."""
        return sum(map(self.message, messages))

    def fixed(self, *, system: object, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of what stands before the messages in every request: `system`, a text, blocks or None, and the
        schemas of the tools in whatever form the provider takes them.
        """
        schemas = sum(SCHEMA + self.counter.count(as_json(tool)) for tool in tools or ())
        if isinstance(system, str):
            return schemas + self.counter.count(system)
        return schemas + self.blocks(blocks({"content": system}))
