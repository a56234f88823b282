"""What an agent has to append most often, made."""

from collections.abc import Mapping, Sequence

Content = str | Sequence[Mapping[str, object]]
"""Text, or blocks as the providers have them: `{"type": "text", ...}`, `tool_use`, `tool_result`, ..."""


def user(content: Content, **members: object) -> dict[str, object]:
    """An entry of the user: a request, or results of tools.  `members` go beside the message."""
    return {"type": "user", "message": {"role": "user", "content": content}, **members}


def assistant(content: Content, *, message: Mapping[str, object] | None = None, **members: object) -> dict[str, object]:
    """An entry of the assistant.  `message`: what else the provider said of it (id, model, usage, stop_reason);
    entries of one answer have its `id` in common.  `members` go beside the message.
    """
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said: dict[str, object] = {"role": "assistant", **(message or {}), "content": blocks}
    return {"type": "assistant", "message": said, **members}


def result(call_id: str, content: Content, *, is_error: bool = False) -> dict[str, object]:
    """The block that answers a call of a tool; it goes into an entry of the user."""
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**block, "is_error": True} if is_error else block
