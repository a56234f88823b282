"""The formats in which providers take messages, and the neutral one (`rehydrate.context.messages`) that all the rest
works with.

    neutral = FORMATS["openai-chat"].read(messages)
    messages = FORMATS["openai-chat"].write(neutral)  # the same again, members that nobody knows included

A message that is written in another format than it was read from loses what that one has no form for: thoughts, and
blocks of a kind of its own, for which a word stands.  The members `wire` and `rehydrate` are ours: no format has them.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from ..messages import Message
from .anthropic import Anthropic
from .gemini import Gemini
from .openai_chat import OpenAIChat
from .openai_responses import OpenAIResponses
from .parts import Turn

__all__ = ["FORMATS", "Format", "Turn"]


class Format(Protocol):
    """How one API takes messages."""

    name: str
    """As `FORMATS` has it."""
    has_system: bool
    """Whether messages of the system may stand in the list."""
    has_batches: bool
    """Whether all results of an answer must come in one message."""
    has_unique_ids: bool
    """Whether the id of a call may be used only once in a list."""
    joins_answers: bool
    """Whether several messages of the assistant in a row may be one answer on the wire."""
    reads_each: bool
    """Whether each message is read by itself into one, whatever stands around it."""

    def read(self, messages: Sequence[Mapping[str, Any]]) -> list[Message]:
        """From the wire.  ValueError, with the place, for what is no message."""
        ...

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """To the wire; `write(read(messages)) == messages` for every list that is valid."""
        ...

    def body(
        self, messages: Sequence[Mapping[str, Any]], *, system: Any = None, tools: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """The members of a request for `messages` of the wire, as `write` gives them; what is empty is left out.
        `system` and `tools` are in the provider's form, `system` may be a text.
        """
        ...

    def outline(self, messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
        """What the validator sees of messages of the wire; it takes anything."""
        ...


FORMATS: Mapping[str, Format] = MappingProxyType(
    {each.name: each for each in (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())}
)
"""The formats by name."""


def format_named(name: str) -> Format:
    """The format of that name.  Raises ValueError for another."""
    found = FORMATS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"there is no format {name!r:.80}; there are {', '.join(FORMATS)}")
    return found
