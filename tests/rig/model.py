"""A fake Gemini server on loopback: plays given answers in order and keeps every request as it came.

It never thinks and has no state but its place in the list.  A request for a summary is answered by itself, wherever it
comes, so a list holds the answers to the agent's own calls only.
"""

import json
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SUMMARY_REQUEST = "Write a continuation summary that will allow you"
"""Stands in the last text of the request by which the harness has a conversation summarised."""
SUMMARY = "<summary>SUMMARY-OF-THE-RIG: the user works on a demo project.</summary>"


@dataclass(frozen=True)
class Answer:
    """What the model says to one call."""

    text: str
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Calls of tools, (name, arguments): with one the turn goes on, without one it ends."""
    tokens: int | None = None
    """Size of the prompt that the model reports; None: two for five characters of the request."""


class FakeModel:
    """The server; a context manager that serves while it is entered."""

    def __init__(self, dump: Path) -> None:
        """`dump`: an existing folder that gets one file a request, NNN-agent.json or NNN-summary.json."""
        self.dump = dump
        self.answers: deque[Answer] = deque()
        self.requests = 0
        self.unexpected: list[str] = []
        """Requests that no answer was left for, or of a kind the server does not know."""
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.model = self  # type: ignore[attr-defined]  # read by the handler
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FakeModel":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def queue(self, answers: Iterable[Answer]) -> None:
        """Answers to the agent's next calls, after those that are still left."""
        self.answers.extend(answers)

    def answer(self, body: dict[str, Any]) -> Answer:
        """Keeps the request and says what it is answered with."""
        with self._lock:
            self.requests += 1
            kind = "summary" if SUMMARY_REQUEST in _last_text(body) else "agent"
            (self.dump / f"{self.requests:03d}-{kind}.json").write_text(json.dumps(body, ensure_ascii=False))
            if kind == "summary":
                return Answer(SUMMARY, tokens=1000)
            if self.answers:
                return self.answers.popleft()
            self.unexpected.append(f"request {self.requests}: no answer left")
            return Answer("Nothing is left to say.")


def _last_text(body: dict[str, Any]) -> str:
    parts = body["contents"][-1].get("parts", []) if body.get("contents") else []
    return "\n".join(part.get("text", "") for part in parts)


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on stderr: the dump is the log."""

    def do_POST(self) -> None:
        model: FakeModel = self.server.model  # type: ignore[attr-defined]
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if ":streamGenerateContent" not in self.path:
            model.unexpected.append(f"POST {self.path.partition('?')[0]}")
            self.send_error(404)
            return
        answer = model.answer(json.loads(raw))
        parts: list[dict[str, Any]] = [{"text": answer.text}]
        parts += [{"functionCall": {"name": name, "args": args}} for name, args in answer.tools]
        size = len(raw.decode()) * 2 // 5 if answer.tokens is None else answer.tokens
        reply = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": size, "candidatesTokenCount": 20, "totalTokenCount": size + 20},
            "modelVersion": "fake",
            "responseId": "fake",
        }
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(reply)}\n\n".encode())
