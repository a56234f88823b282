"""A fake Anthropic Messages server on loopback: plays given answers in order and keeps every request as it came.

It never thinks and has no state but its places in the lists.  What the CLI asks beside the conversation is answered by
itself, wherever it comes: the summary of a compaction, and calls without tools (a title).  So a list holds the answers
to the agent's own calls only; the calls of a subagent are answered from a list of their own.
"""

import json
import threading
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SUMMARY_REQUEST = "Your task is to create a detailed summary"
"""Stands in the last message of the request by which the CLI has a conversation summarised."""
SUBAGENT = "cc_is_subagent=true"
"""Stands in the system prompt of a subagent's calls."""
SUMMARY_TEXT = "SUMMARY-OF-THE-RIG: the user works on a demo project."
SUMMARY = f"<analysis>\nNothing.\n</analysis>\n<summary>\n{SUMMARY_TEXT}\n</summary>"
HELD_S = 30
"""How long an answer that is held waits for the CLI to go away."""


@dataclass(frozen=True)
class Answer:
    """What the model says to one call."""

    text: str
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Calls of tools, (name, input): with one the turn goes on, without one it ends."""
    thinking: str = ""
    tokens: int = 1_000
    """Size of the prompt that the model reports."""
    held: bool = False
    """True: the text is sent, but never its end."""
    refused: str = ""
    """An error message: the call is refused with it."""


class FakeModel:
    """The server; a context manager that serves while it is entered."""

    def __init__(self, dump: Path) -> None:
        """`dump`: an existing folder that gets one file a request, NNN-KIND.json, KIND `agent`, `helper` (a subagent),
        `summary` or `aside`."""
        self.dump = dump
        self.answers: deque[Answer] = deque()
        self.helper_answers: deque[Answer] = deque()
        """Answers to the calls of subagents."""
        self.requests = 0
        self.unexpected: list[str] = []
        """Requests that no answer was left for, or of a kind the server does not know."""
        self.holding = threading.Event()
        """Set while an answer is held."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self  # type: ignore[attr-defined]  # read by the handler
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FakeModel":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def queue(self, answers: Iterable[Answer]) -> None:
        """Answers to the agent's next calls, after those that are still left."""
        self.answers.extend(answers)

    def answer(self, body: dict[str, Any]) -> Answer:
        """Keeps the request and says what it is answered with."""
        with self._lock:
            self.requests += 1
            kind, answers = self._kind(body)
            (self.dump / f"{self.requests:03d}-{kind}.json").write_text(json.dumps(body, ensure_ascii=False))
            if kind == "summary":
                return Answer(SUMMARY)
            if kind == "aside":
                return Answer('{"title": "A conversation of the rig", "isNewTopic": false}')
            if answers:
                return answers.popleft()
            self.unexpected.append(f"request {self.requests}: no answer left")
            return Answer("Nothing is left to say.")

    def hold(self) -> None:
        """Waits for the end of the server, but not for ever."""
        self.holding.set()
        self._closing.wait(HELD_S)

    def _kind(self, body: dict[str, Any]) -> tuple[str, deque[Answer]]:
        messages = body["messages"]
        if SUMMARY_REQUEST in text_of(messages[-1]):
            return "summary", deque()
        if not body.get("tools"):
            return "aside", deque()
        if any(SUBAGENT in block["text"] for block in body["system"]):
            return "helper", self.helper_answers
        return "agent", self.answers


def text_of(message: dict[str, Any]) -> str:
    """The plain text of a message."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on stderr: the dump is the log."""

    def do_HEAD(self) -> None:
        self.send_error(404)  # the CLI asks whether the server is there

    def do_POST(self) -> None:
        model: FakeModel = self.server.model  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send({"input_tokens": len(json.dumps(body)) // 4})
            return
        if path != "/v1/messages":
            model.unexpected.append(f"POST {path}")
            self.send_error(404)
            return
        answer = model.answer(body)
        if answer.refused:
            error = {"type": "invalid_request_error", "message": answer.refused}
            self._send({"type": "error", "error": error}, 400)
            return
        message = _message(answer, str(body.get("model")))
        if not body.get("stream"):
            self._send(message)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            for event in _events(message):
                if answer.held and event["type"] == "content_block_stop":
                    model.hold()
                    return
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _message(answer: Answer, model: str) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    if answer.thinking:
        blocks.append({"type": "thinking", "thinking": answer.thinking, "signature": "ZmFrZQ=="})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for name, given in answer.tools:
        blocks.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": given})
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.tokens - 10,
        "output_tokens": 20,
    }
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if answer.tools else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message as it is streamed."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        deltas: list[dict[str, Any]]
        start: dict[str, Any]
        if block["type"] == "text":
            start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        else:
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}
