"""What a played scenario left behind: what each request showed the model, and what the probe saw."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

REMINDER = re.compile(r"\s*<system-reminder>\n.*?\n</system-reminder>\n?", re.DOTALL)
"""What the CLI adds for the model, alone or behind what a tool said."""
INJECTED = re.compile(r"<system-reminder>\nSessionStart hook additional context: (.*?)\n</system-reminder>", re.DOTALL)
"""How the CLI wraps what hooks answer at SessionStart; several answers are joined in one."""


@dataclass(frozen=True)
class Request:
    """One call of the model."""

    number: int
    kind: str
    """As in the name of its file, see `FakeModel`."""
    body: dict[str, Any]

    @cached_property
    def texts(self) -> list[str]:
        """Every text of the conversation that the model was shown, what tools said included, in order."""
        return [text for message in self.body["messages"] for text in _texts(message["content"])]

    @cached_property
    def injected(self) -> list[str]:
        """What hooks added at SessionStart, in order."""
        return [found for text in self.texts for found in INJECTED.findall(text)]

    @cached_property
    def blocks(self) -> list[tuple[str, dict[str, Any]]]:
        """The conversation without what the CLI adds, see `plain_blocks`."""
        return plain_blocks((message["role"], message["content"]) for message in self.body["messages"])


@dataclass(frozen=True, eq=False)
class Played:
    """A scenario that was played into a folder."""

    folder: Path
    facts: dict[str, Any]
    """What `scenarios.play` gave."""

    @cached_property
    def requests(self) -> list[Request]:
        """All calls of the model, in order."""
        found = []
        for path in sorted((self.folder / "requests").iterdir()):
            number, _, kind = path.stem.partition("-")
            found.append(Request(int(number), kind, json.loads(path.read_text())))
        return found

    @cached_property
    def seen(self) -> list[dict[str, Any]]:
        """What the probe kept, in order: {payload, transcript}."""
        return [json.loads(path.read_text()) for path in sorted((self.folder / "seen").iterdir())]

    @property
    def compactions(self) -> int:
        """How often the CLI asked for a summary."""
        return sum(request.kind == "summary" for request in self.requests)

    def number_of_summary(self, compaction: int) -> int:
        """The number of the request for that summary."""
        return [request.number for request in self.requests if request.kind == "summary"][compaction]

    def compacted(self, compaction: int) -> str:
        """The session that a compaction is of."""
        number = self.number_of_summary(compaction)
        return str([asked["session"] for asked in self.facts["asked"] if asked["first"] <= number][-1])

    @property
    def private_files(self) -> list[Path]:
        """What our hook keeps beside the transcripts."""
        return sorted((self.folder / "home" / ".claude" / "projects").glob("*/*/rehydrate/*.md"))

    def after(self, compaction: int, kind: str = "agent") -> list[Request]:
        """The calls of a kind between the summary of that compaction (0: the first) and the next one's."""
        summaries = [at for at, request in enumerate(self.requests) if request.kind == "summary"]
        following = summaries[compaction + 1] if compaction + 1 < len(summaries) else len(self.requests)
        return [request for request in self.requests[summaries[compaction] : following] if request.kind == kind]

    def requests_of(self, prompt: int, kind: str = "agent") -> list[Request]:
        """The calls of a kind for a prompt, by its place in `asked`."""
        starts = [asked["first"] for asked in self.facts["asked"]] + [len(self.requests) + 1]
        numbers = range(starts[prompt], starts[prompt + 1])
        return [request for request in self.requests if request.number in numbers and request.kind == kind]


def plain_blocks(messages: Iterable[tuple[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """(role, block) in order, of (role, content) pairs: without reminders, cache marks and how blocks are grouped.

    A block is {type: text, text}, {type: thinking, thinking}, {type: tool_use, id, name, input} or
    {type: tool_result, id, error, text}.  What is empty then is left out.
    """
    found = []
    for role, content in messages:
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            plain = _plain(block)
            if plain is not None:
                found.append((role, plain))
    return found


def _plain(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = block["type"]
    if kind == "text":
        text = REMINDER.sub("", block["text"]).strip()
        return {"type": kind, "text": text} if text else None
    if kind == "thinking":
        return {"type": kind, "thinking": block["thinking"]}
    if kind == "tool_use":
        return {key: block[key] for key in ("type", "id", "name", "input")}
    if kind == "tool_result":
        text = REMINDER.sub("", "\n".join(_texts(block.get("content") or ""))).strip()
        return {"type": kind, "id": block["tool_use_id"], "error": bool(block.get("is_error")), "text": text}
    return dict(block)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for block in content:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_use":
            yield from (value for value in block["input"].values() if isinstance(value, str))
        elif block["type"] == "tool_result":
            yield from _texts(block.get("content") or "")
