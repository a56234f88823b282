"""What a summariser has given back, as the text of a summary; or why it is none."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .ledger import NEXT
from .messages import THOUGHTS, Block, blocks
from .prose import headings_in, read_prose
from .replies import reply_messages

Lack = Literal["empty", "refusal", "tool_calls", "not_text", "cut_off"]

_LACKS: Mapping[Lack, str] = {
    "empty": "the answer says nothing",
    "refusal": "the model has refused to answer",
    "tool_calls": "the model has called a tool instead of answering",
    "not_text": "the answer is no summary: it has none of the headings that were asked for",
    "cut_off": "the answer was cut off before its end",
}
_REFUSED = frozenset({"refusal", "content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"})
_CALLED = frozenset({"tool_use", "tool_calls", "function_call", "malformed_function_call", "unexpected_tool_call"})
_CUT = frozenset({"max_tokens", "length", "max_output_tokens", "model_context_window_exceeded"})
"""Why a model has stopped, as the formats name it, in small letters."""
_THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
"""What models that have no other place for them put in front."""
_BEGINS = ("#", "- ")
"""How a part of an answer begins that begins a line, too."""


class NoSummary(Exception):
    """An answer that is not the text of a summary; the message is one sentence."""

    def __init__(self, lack: Lack) -> None:
        super().__init__(_LACKS[lack])
        self.lack = lack


def text_of(reply: str | Mapping[str, Any], *, format: str) -> str:
    """The text of an answer that is a summary, without thoughts.

    `reply`: the text, or a whole response in the format.  An answer that was cut off is one where it has come to the
    last of the seven headings and says something there.  Raises NoSummary for every other, and for what is empty, a
    refusal, a call of a tool, or has none of the headings; TypeError for what is neither a text nor a response.
    """
    stops: set[str] = set()
    if isinstance(reply, Mapping):
        stops = _stops(reply)
        if stops & _REFUSED:
            raise NoSummary("refusal")
        if stops & _CALLED:
            raise NoSummary("tool_calls")
        text = _said(reply, format)
    elif isinstance(reply, str):
        text = reply
    else:
        raise TypeError(f"a summariser gives a text or a response as a mapping, and gave a {type(reply).__name__}")
    while found := _THOUGHTS.match(text):
        text = text[found.end() :]
    text = text.strip()
    is_cut = bool(stops & _CUT)
    items, prose = read_prose(text)
    if is_cut and not any(item.heading == NEXT for item in items):
        raise NoSummary("cut_off")
    if text and not any(headings_in(text)):
        raise NoSummary("not_text")
    if not items and not prose:
        raise NoSummary("empty")
    return text


def _stops(reply: Mapping[str, Any]) -> set[str]:
    """Why the model has stopped, and whether it has refused, in whichever words the format has for it."""
    choice, candidate = _first(reply, "choices"), _first(reply, "candidates")
    about = [
        reply.get("stop_reason"),
        choice.get("finish_reason"),
        candidate.get("finishReason", candidate.get("finish_reason")),
        _mapping(reply.get("incomplete_details")).get("reason"),
    ]
    feedback = _mapping(reply.get("promptFeedback", reply.get("prompt_feedback")))
    if feedback.get("blockReason", feedback.get("block_reason")) or _mapping(choice.get("message")).get("refusal"):
        about.append("refusal")
    return {each.lower() for each in about if isinstance(each, str)}


def _said(reply: Mapping[str, Any], format: str) -> str:
    """The text in a response."""
    if "candidates" in reply:  # with no parts where it only thought, and no content where it said nothing
        content = _mapping(_first(reply, "candidates").get("content"))
        reply = {**content, "role": "model", "parts": content.get("parts") or []}
    if reply.get("content") is None and reply.get("role") == "assistant":
        reply = {**reply, "content": ""}
    try:
        messages, _ = reply_messages(reply, format=format)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise NoSummary("not_text") from error
    said = [block for message in messages for block in blocks(message)]
    if any(_is_call(block) for block in said):
        raise NoSummary("tool_calls")
    if any(block.get("type") == "refusal" for block in said):
        raise NoSummary("refusal")
    text = ""
    for block in said:
        part = block.get("text")
        if block.get("type") == "text" and isinstance(part, str):
            text += f"\n{part}" if part.startswith(_BEGINS) else part
    if not text and any(block.get("type") not in ("text", *THOUGHTS) for block in said):
        raise NoSummary("not_text")
    return text


def _is_call(block: Block) -> bool:
    return str(block.get("type")).endswith(("tool_use", "_call")) or "executableCode" in block


def _first(holder: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    listed = holder.get(member)
    return _mapping(listed[0]) if isinstance(listed, Sequence) and not isinstance(listed, str) and listed else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
