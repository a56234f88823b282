"""Answers of models to a request for a summary, in each of the formats."""

from rehydrate.context.ledger import HEADINGS

NOTES = "\n".join(f"## {heading}\n- of {heading.split()[0].lower()}" for heading in HEADINGS)
"""A sound summary."""
HALF = NOTES[: NOTES.index(f"## {HEADINGS[4]}")]
"""One that was cut off."""


def anthropic(*blocks, stop="end_turn"):
    return {"id": "m", "type": "message", "role": "assistant", "content": [*blocks], "stop_reason": stop}


def chat(content, stop="stop", **members):
    message = {"role": "assistant", "content": content, **members}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": stop}]}


def responses(*items, status="completed", reason=None):
    about = None if reason is None else {"reason": reason}
    return {
        "id": "r",
        "object": "response",
        "status": status,
        "error": None,
        "incomplete_details": about,
        "output": [*items],
    }


def said(*texts, kind="output_text"):
    member = "refusal" if kind == "refusal" else "text"
    content = [{"type": kind, member: text, **({} if kind == "refusal" else {"annotations": []})} for text in texts]
    return {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": content}


def gemini(*parts, stop="STOP", **members):
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "finishReason": stop}], **members}


def text(words):
    return {"type": "text", "text": words}


CALL = {
    "anthropic": {"type": "tool_use", "id": "t", "name": "ls", "input": {}},
    "openai-chat": [{"id": "t", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    "openai-responses": {"type": "function_call", "id": "f", "call_id": "t", "name": "ls", "arguments": "{}"},
    "gemini": {"functionCall": {"name": "ls", "args": {}}},
}
THOUGHT = {
    "anthropic": {"type": "thinking", "thinking": NOTES, "signature": "s"},
    "openai-responses": {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": NOTES}]},
    "gemini": {"text": NOTES, "thought": True},
}
HEAD, TAIL = NOTES[:100], NOTES[100:]

SOUND = [
    *[("anthropic", anthropic(text(NOTES))), ("anthropic", anthropic(THOUGHT["anthropic"], text(NOTES)))],
    *[("anthropic", anthropic(text(HEAD), text(TAIL))), ("anthropic", anthropic(text(NOTES), stop="max_tokens"))],
    ("anthropic", {"role": "assistant", "content": NOTES}),
    *[("openai-chat", chat(NOTES)), ("openai-chat", chat([text(HEAD), text(TAIL)]))],
    *[("openai-chat", chat(NOTES, reasoning_content="Hm.")), ("openai-chat", chat(NOTES, stop="length"))],
    *[("openai-chat", chat(NOTES, refusal=None)), ("openai-chat", {"role": "assistant", "content": NOTES})],
    *[("openai-responses", responses(said(NOTES))), ("openai-responses", responses(said(HEAD, TAIL)))],
    ("openai-responses", responses(THOUGHT["openai-responses"], said(NOTES))),
    ("openai-responses", responses(said(NOTES), status="incomplete", reason="max_output_tokens")),
    *[("gemini", gemini({"text": NOTES})), ("gemini", gemini({"text": HEAD}, {"text": TAIL}))],
    *[("gemini", gemini(THOUGHT["gemini"], {"text": NOTES})), ("gemini", gemini({"text": NOTES}, stop="MAX_TOKENS"))],
    ("gemini", {"candidates": [{"content": {"parts": [{"text": NOTES}]}}]}),
]
"""Format and response; each holds `NOTES`."""

UNSOUND = [
    *[("empty", "anthropic", anthropic()), ("empty", "anthropic", anthropic(text(" \n")))],
    ("empty", "anthropic", anthropic(THOUGHT["anthropic"])),
    ("refusal", "anthropic", anthropic(text(NOTES), stop="refusal")),
    ("tool_calls", "anthropic", anthropic(CALL["anthropic"], stop="tool_use")),
    ("tool_calls", "anthropic", anthropic(text(NOTES), CALL["anthropic"], stop="tool_use")),
    ("tool_calls", "anthropic", anthropic(text(NOTES), {**CALL["anthropic"], "type": "server_tool_use"})),
    ("cut_off", "anthropic", anthropic(text(HALF), stop="max_tokens")),
    ("cut_off", "anthropic", anthropic(THOUGHT["anthropic"], stop="max_tokens")),
    ("not_text", "anthropic", anthropic({"type": "image", "source": {"type": "url", "url": "x"}})),
    ("not_text", "anthropic", anthropic(text("All went well."))),
    ("not_text", "anthropic", {"role": "user", "content": NOTES}),
    ("not_text", "anthropic", {}),
    *[("empty", "openai-chat", chat(None)), ("empty", "openai-chat", chat("", reasoning_content=NOTES))],
    *[
        ("refusal", "openai-chat", chat(None, refusal="No.")),
        ("refusal", "openai-chat", chat("x", stop="content_filter")),
    ],
    ("tool_calls", "openai-chat", chat(None, stop="tool_calls", tool_calls=CALL["openai-chat"])),
    ("tool_calls", "openai-chat", chat(NOTES, tool_calls=CALL["openai-chat"])),
    ("tool_calls", "openai-chat", chat(None, stop="function_call", function_call={"name": "ls", "arguments": "{}"})),
    *[("cut_off", "openai-chat", chat(HALF, stop="length")), ("cut_off", "openai-chat", chat("", stop="length"))],
    *[("not_text", "openai-chat", {"choices": []}), ("not_text", "openai-chat", {"choices": [{"message": 7}]})],
    *[("not_text", "openai-chat", {"choices": ["x"]}), ("not_text", "openai-chat", chat(7))],
    ("refusal", "openai-responses", responses(said("I cannot.", kind="refusal"))),
    ("refusal", "openai-responses", responses(said(NOTES), status="incomplete", reason="content_filter")),
    ("empty", "openai-responses", responses(THOUGHT["openai-responses"])),
    ("tool_calls", "openai-responses", responses(said(NOTES), CALL["openai-responses"])),
    ("tool_calls", "openai-responses", responses({"type": "web_search_call", "id": "w", "status": "completed"})),
    ("cut_off", "openai-responses", responses(said(HALF), status="incomplete", reason="max_output_tokens")),
    *[("not_text", "openai-responses", responses(None)), ("empty", "openai-responses", responses(said("")))],
    *[("empty", "gemini", gemini()), ("empty", "gemini", gemini(THOUGHT["gemini"]))],
    *[
        ("refusal", "gemini", gemini(stop="SAFETY")),
        ("refusal", "gemini", {"promptFeedback": {"blockReason": "OTHER"}}),
    ],
    ("tool_calls", "gemini", gemini(CALL["gemini"])),
    ("tool_calls", "gemini", gemini(stop="MALFORMED_FUNCTION_CALL")),
    ("cut_off", "gemini", {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}),
    ("cut_off", "gemini", gemini({"text": HALF}, stop="MAX_TOKENS")),
    *[("empty", "gemini", {"candidates": [{}]}), ("not_text", "gemini", gemini(7))],
]
"""What is wrong, the format, and the response."""
