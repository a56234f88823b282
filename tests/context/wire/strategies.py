"""Made-up lists of messages that each format takes, with members that nobody knows in every place for them.

A conversation is drawn first, as turns of `(what, ...)`, and then spelt in a format, so that the four have the same
shapes: parallel calls, results in another order, thoughts, images, odd texts.
"""

import json

from hypothesis import strategies as st

words = st.text(max_size=20)
said = words.filter(str.strip)
keys = st.sampled_from(["x_one", "x_two", "cache", "annotations", "phase"])
values = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), words, st.lists(words, max_size=2), st.just({}))
unknown = st.dictionaries(keys, values, max_size=2)
objects = st.dictionaries(words, st.one_of(values, st.dictionaries(words, values, max_size=2)), max_size=3)
DATA = "aGVsbG8="


@st.composite
def talks(draw):
    """Turns: `("user", text)` and `("assistant", thoughts, text, {id: tool}, order of the results)`."""
    turns, number = [("user", draw(said))], 0
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            count = draw(st.integers(0, 4))
            calls = {f"call_{number + each}": draw(st.sampled_from(["ls", "cat"])) for each in range(count)}
            number += count
            order = draw(st.permutations(list(calls)))
            text = draw(words if calls else said)
            turns.append(("assistant", draw(st.sampled_from(["", "Hm.", "Ha."])), text, calls, order))
        else:
            turns.append(("user", draw(said)))
    return turns


@st.composite
def anthropic(draw):
    found = []

    def text(words):
        return {"type": "text", "text": words, **draw(unknown)}

    for turn in draw(talks()):
        if turn[0] == "user":
            image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
            content = draw(st.sampled_from([turn[1], [text(turn[1])], [text(turn[1]), {**image, **draw(unknown)}]]))
            found.append({"role": "user", "content": content, **draw(unknown)})
            continue
        _, thought, words, calls, order = turn
        thoughts = [{"type": "thinking", "thinking": thought, "signature": "c2ln", **draw(unknown)}] if thought else []
        blocks = [*thoughts, *([text(words)] if words.strip() else [])]
        for name, tool in calls.items():
            blocks.append({"type": "tool_use", "id": name, "name": tool, "input": draw(objects), **draw(unknown)})
        found.append({"role": "assistant", "content": blocks, **draw(unknown)})
        if calls:
            results = []
            for name in order:
                content = draw(st.sampled_from(["", "ok", [text("ok")]]))
                results.append({"type": "tool_result", "tool_use_id": name, "content": content, **draw(unknown)})
            found.append({"role": "user", "content": results, **draw(unknown)})
    return found


@st.composite
def openai_chat(draw):
    found = []
    if draw(st.booleans()):
        found.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(words), **draw(unknown)})

    def part(words):
        return {"type": "text", "text": words, **draw(unknown)}

    def media():
        return draw(
            st.sampled_from(
                [
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}", "detail": "low"}},
                    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                    {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
                    {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}", "filename": "a"}},
                    {"type": "file", "file": {"file_data": DATA}},
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}},
                ]
            )
        )

    for turn in draw(talks()):
        if turn[0] == "user":
            content = draw(st.sampled_from([turn[1], [part(turn[1])], [part(turn[1]), {**media(), **draw(unknown)}]]))
            found.append({"role": "user", "content": content, **draw(unknown)})
            continue
        _, thought, text, calls, order = turn
        content = draw(st.sampled_from([text, [part(text)], [part(text), {"type": "refusal", "refusal": "No."}]]))
        message = {"role": "assistant", "content": content, **draw(unknown)}
        if thought:
            message[draw(st.sampled_from(["reasoning_content", "reasoning"]))] = thought
        if thought and draw(st.booleans()):
            message["reasoning_details"] = [{"type": "reasoning.text", "text": thought}]
        if calls:
            message["tool_calls"] = [_chat_call(draw, name, tool) for name, tool in calls.items()]
            if not text and draw(st.booleans()):
                message["content"] = None
            elif not text and draw(st.booleans()):
                del message["content"]
        found.append(message)
        for name in order:
            content = draw(st.sampled_from(["", "ok", [part("ok")], []]))
            found.append({"role": "tool", "tool_call_id": name, "content": content, **draw(unknown)})
    return found


def _arguments(draw):
    """As models write them: JSON with odd white space, none, or what is no JSON."""
    given = draw(objects)
    spelt = [json.dumps(given), json.dumps(given, separators=(",", ":")), json.dumps(given, indent=1), "", "{", "[1]"]
    return draw(st.sampled_from(spelt))


def _chat_call(draw, name, tool):
    if draw(st.integers(0, 4)) == 0:
        return {"id": name, "type": "custom", "custom": {"name": tool, "input": draw(words), **draw(unknown)}}
    function = {"name": tool, "arguments": _arguments(draw), **draw(unknown)}
    return {"id": name, "type": "function", "function": function, **draw(unknown)}


@st.composite
def openai_responses(draw):
    found, number = [], 0
    if draw(st.booleans()):
        found.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(words), **draw(unknown)})

    def part(words, kind="input_text"):
        return {"type": kind, "text": words, **draw(unknown)}

    def named(prefix):
        nonlocal number
        number += 1
        return {"id": f"{prefix}_{number}"}

    for turn in draw(talks()):
        if turn[0] == "user":
            media = draw(st.sampled_from(_RESPONSES_MEDIA))
            content = draw(st.sampled_from([turn[1], [part(turn[1])], [part(turn[1]), {**media, **draw(unknown)}]]))
            found.append({**draw(st.sampled_from([{}, {"type": "message"}])), "role": "user", "content": content})
            found[-1] |= draw(unknown)
            continue
        _, thought, text, calls, order = turn
        with_ids = bool(thought) or draw(st.booleans())
        if thought and (text or calls):
            summary = draw(st.sampled_from([[], [{"type": "summary_text", "text": thought}]]))
            item = {
                "type": "reasoning",
                **named("rs"),
                "summary": summary,
                "encrypted_content": "eHg=",
                **draw(unknown),
            }
            found.append(item)
        if text:
            parts = [part(text, "output_text"), {"type": "refusal", "refusal": "No."}]
            content = draw(st.sampled_from([text, parts[:1], parts, [*parts[:1], *parts[:1]], []]))
            item = {"type": "message", "role": "assistant", "content": content, **draw(unknown)}
            found.append(item | named("msg") | {"status": "completed"} if with_ids else item)
        if draw(st.integers(0, 4)) == 0:
            found.append({"type": "web_search_call", **named("ws"), "status": "completed", **draw(unknown)})
        kinds = {}
        for name, tool in calls.items():
            item, kinds[name] = _response_call(draw, name, tool)
            found.append({**item, **(named("fc") if with_ids else {}), **draw(unknown)})
        for name in order:
            output = draw(st.sampled_from(kinds[name]["output"]))
            item = {"type": kinds[name]["type"], "call_id": name, "output": output, **draw(unknown)}
            if output is None:
                del item["output"]
            found.append(item)
    return found


_RESPONSES_MEDIA = [
    {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{DATA}"},
    {"type": "input_image", "detail": "low", "file_id": "file-1"},
    {"type": "input_file", "file_data": f"data:application/pdf;base64,{DATA}", "filename": "a.pdf"},
    {"type": "input_file", "file_data": DATA},
    {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    {"type": "input_file", "file_id": "file-1"},
    {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
]


def _response_call(draw, name, tool):
    """A call, and what may answer it."""
    texts = ["", "ok", [{"type": "input_text", "text": "ok"}]]
    shell = [{"stdout": "ok", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}]
    screen = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{DATA}"}
    return draw(
        st.sampled_from(
            [
                (
                    {"type": "function_call", "call_id": name, "name": tool, "arguments": _arguments(draw)},
                    {"type": "function_call_output", "output": texts},
                ),
                (
                    {"type": "custom_tool_call", "call_id": name, "name": tool, "input": draw(words)},
                    {"type": "custom_tool_call_output", "output": texts},
                ),
                (
                    {"type": "shell_call", "call_id": name, "action": {"commands": [tool]}, "status": "completed"},
                    {"type": "shell_call_output", "output": [shell]},
                ),
                (
                    {"type": "apply_patch_call", "call_id": name, "operation": {"type": "delete_file", "path": "a"}},
                    {"type": "apply_patch_call_output", "output": ["ok", "", None]},
                ),
                (
                    {"type": "computer_call", "call_id": name, "action": {"type": "screenshot"}},
                    {"type": "computer_call_output", "output": [screen]},
                ),
            ]
        )
    )


@st.composite
def gemini(draw):
    found = []
    has_ids, is_json = draw(st.booleans()), draw(st.booleans())

    def spelt(name):
        return name if is_json else "".join(f"_{each.lower()}" if each.isupper() else each for each in name)

    def signed():
        return draw(st.sampled_from([{}, {spelt("thoughtSignature"): "c2ln"}]))

    for turn in draw(talks()):
        if turn[0] == "user":
            data = {spelt("inlineData"): {spelt("mimeType"): "image/png", "data": DATA, **draw(unknown)}}
            file = {spelt("fileData"): {spelt("mimeType"): "video/mp4", spelt("fileUri"): "gs://a", **draw(unknown)}}
            other = {spelt("executableCode"): {"code": "1"}}
            parts = [
                {"text": turn[1], **draw(unknown)},
                *draw(st.lists(st.sampled_from([data, file, other]), max_size=2)),
            ]
            role = draw(st.sampled_from([{"role": "user"}, {}]))
            found.append({**role, "parts": parts, **draw(unknown)})
            continue
        _, thought, text, calls, order = turn
        parts = [{"text": thought, "thought": True, **signed()}] if thought else []
        parts += [{"text": text, **signed(), **draw(unknown)}] if text else []
        if calls and found[-1].get("role") == "model":
            found.append({"role": "user", "parts": [{"text": "Go on."}]})
        for name, tool in calls.items():
            call = {"name": tool, "args": draw(objects), **({"id": name} if has_ids else {}), **draw(unknown)}
            if not call["args"] and draw(st.booleans()):
                del call["args"]
            parts.append({spelt("functionCall"): call, **signed()})
        found.append({"role": "model", "parts": parts, **draw(unknown)})
        responses = []
        for name in order if has_ids else calls:
            said = draw(st.one_of(objects, st.sampled_from([{"output": "ok"}, {"result": "ok"}, {"error": "no"}])))
            response = {"name": calls[name], "response": said, **({"id": name} if has_ids else {}), **draw(unknown)}
            responses.append({spelt("functionResponse"): response})
        if responses:
            found.append({"role": draw(st.sampled_from(["user", "function"])), "parts": responses})
    return found


LISTS = {
    "anthropic": anthropic(),
    "openai-chat": openai_chat(),
    "openai-responses": openai_responses(),
    "gemini": gemini(),
}
"""Format -> valid lists of it."""
