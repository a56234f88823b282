"""What a host gives, held against what it can mean: one sentence where it is something else."""

from collections.abc import Mapping, Sequence

from .messages import Message


def a_text(value: object, what: str) -> None:
    """Raises TypeError for what is no text; `what`: what it is, at the beginning of a sentence."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, and no {type(value).__name__}")


def a_count(value: object, what: str, *, least: "int | None" = None) -> None:
    """Raises TypeError for what is no whole number, ValueError for one below `least`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} is a whole number, and no {type(value).__name__}")
    if least is not None and value < least:
        raise ValueError(f"{what} is at least {least}, and not {value}")


def a_list(value: object, what: str) -> None:
    """Raises TypeError for what is no list."""
    if not isinstance(value, (list, tuple, Sequence)) or isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"{what} are a list, and no {type(value).__name__}")


def a_function(value: object, what: str) -> None:
    """Raises TypeError for what cannot be called."""
    if not callable(value):
        raise TypeError(f"{what} is a function, and no {type(value).__name__}")


def neutral(messages: Sequence[Message], what: str) -> None:
    """Raises TypeError for what are no messages in the neutral form."""
    a_list(messages, what)
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        listed = () if isinstance(content, str) else content
        if not isinstance(listed, (list, tuple)) or not all(isinstance(each, (str, Mapping)) for each in listed):
            raise TypeError(
                f"{what} are messages, each with a role and a content that is a text or a list of blocks, "
                f"and not {message!r:.80}"
            )
