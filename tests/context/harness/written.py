"""A conversation in the four formats, as each provider documents its own."""

import json
from collections.abc import Iterator
from typing import Any

from tests.context.harness.made import Answer, Conversation, Request, Step

FORMATS = ("openai-chat", "anthropic", "openai-responses", "gemini")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

Wire = list[dict[str, Any]]


def written(conversation: Conversation, form: str) -> Wire:
    """The list of messages of a request; what is not in the list but beside it, as the system text of most, is left
    out.
    """
    writers = {"openai-chat": _chat, "anthropic": _anthropic, "openai-responses": _responses, "gemini": _gemini}
    return list(writers[form](conversation))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _chat(conversation: Conversation) -> Iterator[dict[str, Any]]:
    yield {"role": "system", "content": conversation.system}
    for event in conversation.events:
        if isinstance(event, Request):
            image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
            text = {"type": "text", "text": event.text}
            yield {"role": "user", "content": [text, image] if event.image else event.text}
            continue
        thought = {"reasoning_content": event.thought} if event.thought else {}
        if isinstance(event, Answer):
            yield {"role": "assistant", "content": event.text, **thought}
            continue
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _json(call.arguments)}}
            for call in event.calls
        ]
        yield {"role": "assistant", "content": event.text or None, "tool_calls": calls, **thought}
        for result in event.results:
            yield {"role": "tool", "tool_call_id": result.id, "content": result.text}


def _anthropic(conversation: Conversation) -> Iterator[dict[str, Any]]:
    pending: list[dict[str, Any]] = []  # results that wait for what the user says after them
    for number, event in enumerate(conversation.events):
        if isinstance(event, Request):
            said: list[dict[str, Any]] = [{"type": "text", "text": event.text}]
            if event.image:
                said.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}})
            if pending and number % 2:  # one message of both, or two
                yield {"role": "user", "content": pending + said}
            else:
                if pending:
                    yield {"role": "user", "content": pending}
                yield {"role": "user", "content": said if event.image else event.text}
            pending = []
            continue
        if pending:
            yield {"role": "user", "content": pending}
            pending = []
        blocks: list[dict[str, Any]] = []
        if event.thought:
            blocks.append({"type": "thinking", "thinking": event.thought, "signature": f"sig{number:04d}=="})
            if len(event.thought) % 7 == 0:
                blocks.append({"type": "redacted_thinking", "data": f"hidden{number:04d}=="})
        if event.text:
            blocks.append({"type": "text", "text": event.text})
        if isinstance(event, Step):
            blocks += [
                {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in event.calls
            ]
            pending = [
                {
                    "type": "tool_result",
                    "tool_use_id": result.id,
                    "content": result.text,
                    **({"is_error": True} if result.error else {}),
                }
                for result in event.results
            ]
        yield {"role": "assistant", "content": blocks}
    if pending:
        yield {"role": "user", "content": pending}


def _responses(conversation: Conversation) -> Iterator[dict[str, Any]]:
    for number, event in enumerate(conversation.events):
        if isinstance(event, Request):
            parts: list[dict[str, Any]] = [{"type": "input_text", "text": event.text}]
            if event.image:
                parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"})
            yield {"role": "user", "content": parts if event.image or number % 2 else event.text}
            continue
        if event.thought:
            yield {
                "type": "reasoning",
                "id": f"rs_{conversation.seed}_{number}",
                "summary": [{"type": "summary_text", "text": event.thought}],
                "encrypted_content": f"enc{number:04d}==",
            }
        if event.text:
            yield {
                "type": "message",
                "id": f"msg_{conversation.seed}_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": event.text, "annotations": []}],
            }
        if isinstance(event, Step):
            for index, call in enumerate(event.calls):
                yield {
                    "type": "function_call",
                    "id": f"fc_{conversation.seed}_{number}_{index}",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": _json(call.arguments),
                }
            for result in event.results:
                yield {"type": "function_call_output", "call_id": result.id, "output": result.text}


def _gemini(conversation: Conversation) -> Iterator[dict[str, Any]]:
    for number, event in enumerate(conversation.events):
        if isinstance(event, Request):
            parts: list[dict[str, Any]] = [{"text": event.text}]
            if event.image:
                parts.append({"inlineData": {"mimeType": "image/png", "data": PIXEL}})
            yield {"role": "user", "parts": parts}
            continue
        said: list[dict[str, Any]] = []
        if event.thought:
            said.append({"text": event.thought, "thought": True})
        if event.text:
            said.append({"text": event.text})
        if isinstance(event, Answer):
            yield {"role": "model", "parts": said}
            continue
        for index, call in enumerate(event.calls):
            part: dict[str, Any] = {"functionCall": {"name": call.name, "args": call.arguments}}
            if event.thought and index == 0:
                part["thoughtSignature"] = f"sig{number:04d}=="
            said.append(part)
        yield {"role": "model", "parts": said}
        given = {result.id: result for result in event.results}
        yield {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": call.name, "response": _response(given[call.id])}} for call in event.calls
            ],
        }


def _response(result: Any) -> dict[str, Any]:
    return {"error": result.text} if result.error else {"result": result.text}
