"""What a played scenario left behind: the log of the harness, and what each request showed the model."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FRAME = re.compile(
    r"<SYSTEM_MESSAGE>\nThe following system message was injected by a PreInvocation hook:\n(.*?)\n</SYSTEM_MESSAGE>",
    re.DOTALL,
)
"""How the harness wraps what a hook injects; a step over its limit loses the tail of this, the closing tag included."""
MARKER = re.compile(
    r"\[POST-COMPACT REHYDRATION v1 \| checkpoint=(\d+) \| id=([0-9a-f]{8})(?: \| part (\d+)/(\d+))?[^\]\n]*\]\n"
)


@dataclass(frozen=True)
class Request:
    """One call of the model."""

    number: int
    is_summary: bool
    """True when the harness asks for the summary of a compaction."""
    texts: tuple[str, ...]
    """Every text of the conversation that the model was shown, arguments and results of tools included, in order."""

    @cached_property
    def injected(self) -> list[str]:
        """What hooks injected, whole steps only, in order: at a prompt a text of its own, in a turn behind a result."""
        return [found for text in self.texts for found in FRAME.findall(text)]

    @cached_property
    def markers(self) -> int:
        """How often a part begins anywhere in the request, whole or not."""
        return sum(len(MARKER.findall(text)) for text in self.texts)


@dataclass(frozen=True)
class Checkpoint:
    """A compaction in the log, and the deliveries that the log holds after it and before the next one."""

    step: int
    parts: tuple[str, ...]
    """What our hook injected, without the frame, in order."""


@dataclass(frozen=True, eq=False)
class Played:
    """A scenario that was played into a folder."""

    folder: Path
    loop: str
    facts: dict[str, Any]
    """What `scenarios.play` gave."""

    @cached_property
    def requests(self) -> list[Request]:
        """All calls of the model, in order."""
        return [_request(path) for path in sorted((self.folder / "requests").iterdir())]

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The harness' log, in the order of steps."""
        text = Path(self.facts["transcript"]).read_text()
        return sorted((json.loads(line) for line in text.splitlines()), key=lambda record: record["step_index"])

    @cached_property
    def checkpoints(self) -> list[Checkpoint]:
        """All compactions, oldest first."""
        found: list[tuple[int, list[str]]] = []
        for record in self.records:
            if record["type"] == "CHECKPOINT":
                found.append((record["step_index"], []))
            elif found and record["type"] == "SYSTEM_MESSAGE":
                found[-1][1].extend(FRAME.findall(record["content"]))
        return [Checkpoint(step, tuple(parts)) for step, parts in found]

    @cached_property
    def state(self) -> dict[str, Any]:
        """Our hook's state at the end."""
        found: dict[str, Any] = json.loads((Path(self.facts["transcript"]).parent / "rehydrate_state.json").read_text())
        return found

    def agent_requests_after(self, compaction: int) -> list[Request]:
        """The agent's calls between the summary of that compaction (0: the first) and the next one's."""
        summaries = [at for at, request in enumerate(self.requests) if request.is_summary]
        following = summaries[compaction + 1] if compaction + 1 < len(summaries) else len(self.requests)
        return self.requests[summaries[compaction] + 1 : following]


def _request(path: Path) -> Request:
    texts = []
    for content in json.loads(path.read_text())["contents"]:
        for part in content["parts"]:
            if "text" in part:
                texts.append(part["text"])
            elif "functionCall" in part:
                texts.extend(value for value in part["functionCall"]["args"].values() if isinstance(value, str))
            elif "functionResponse" in part:
                texts.append(part["functionResponse"]["response"]["output"])
    number, _, kind = path.stem.partition("-")
    return Request(int(number), kind == "summary", tuple(texts))
