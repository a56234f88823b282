"""A made-up home, conversation and payload on which the registered hook is tried, and a strict look at its answer.

Never imported by the hook.  Everything lies in one folder that the caller made and removes; nothing leads out of it.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rehydrate.clients.antigravity import layout
from rehydrate.clients.antigravity.contract import MESSAGES, NOTHING
from rehydrate.conversation import MARKER_HEAD
from rehydrate.dataclass import dataclass
from rehydrate.launch import Command
from rehydrate.settings import PART_BYTES_MAX

STEP_BYTES_MAX = PART_BYTES_MAX
"""The host's cap on one step; the bound of the setting is this client's cap."""
OPTIONS: tuple[tuple[str, ...], ...] = ((), *(("--as", each) for each in MESSAGES))
"""What may follow the client in a command that `install` writes."""
_SESSION = "00000000-0000-4000-8000-000000000000"
_REQUEST = "Rehearsal of rehydrate doctor: nothing here is real."
_CHECKPOINT_STEP = 4


@dataclass(frozen=True, slots=True)
class Stage:
    """A conversation that nobody had, in a home that nobody has."""

    environ: dict[str, str]
    """What the hook's process sees, besides what any process does."""
    payload: bytes
    """What the host would send before each model call."""
    transcript: str


def message_of(options: tuple[str, ...]) -> str | None:
    """How a hook that is registered with these options delivers; None when they are not those of a registration."""
    if not options:
        return MESSAGES[0]
    return options[1] if len(options) == 2 and options[0] == "--as" and options[1] in MESSAGES else None


def flags_of(options: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of `install` that register with these options."""
    return options if options in OPTIONS else ()


def usual(environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The options of the commands that `install` would register."""
    return [()]


def too_large(parts: Sequence[str]) -> tuple[str, str] | None:
    """A clause about the largest of the parts, and what to do, when the host would not pass it on whole."""
    most = max((len(part.encode()) for part in parts), default=0)
    if most <= STEP_BYTES_MAX:
        return None
    detail = f"a part has {most:,} bytes, and the client passes {STEP_BYTES_MAX:,} on"
    return detail, f"run `rehydrate config set part_bytes {STEP_BYTES_MAX}`"


def made_up(folder: str) -> Stage:
    """The stage, in an empty folder: a short conversation in which no compaction has happened."""
    home, work = os.path.join(folder, "home"), os.path.join(folder, "work")
    gemini = os.path.join(home, ".gemini")
    brain = os.path.join(gemini, layout.APPS[0], "brain")
    logs = layout.logs_of(brain, _SESSION)
    for each in (work, logs):
        os.makedirs(each)
    transcript = os.path.join(logs, layout.UNCUT)
    _append(
        transcript,
        _record(0, "USER_INPUT", "USER_EXPLICIT", f"<USER_REQUEST>\n{_REQUEST}\n</USER_REQUEST>"),
        _record(1, "PLANNER_RESPONSE", "MODEL", "Understood."),
        _record(2, "USER_INPUT", "USER_EXPLICIT", "<USER_REQUEST>\nGo on.\n</USER_REQUEST>"),
        _record(3, "PLANNER_RESPONSE", "MODEL", "Going on."),
    )
    payload = {
        "artifactDirectoryPath": os.path.join(brain, _SESSION),
        "conversationId": _SESSION,
        "initialNumSteps": _CHECKPOINT_STEP,
        "invocationNum": 0,
        "modelName": "rehearsal",
        "transcriptPath": transcript,
        "workspacePaths": [work],
    }
    environ = {
        "HOME": home,
        "USERPROFILE": home,
        "GEMINI_HOME": gemini,
        "ANTIGRAVITY_CONVERSATION_ID": _SESSION,
    }
    return Stage(environ, json.dumps(payload).encode(), transcript)


def rehearse(stage: Stage, commands: Sequence[Command], run: Callable[[Command], Any]) -> str:
    """Try the command on a quiet conversation and on one that has just compacted; what came of it, in words.

    `run` gives what a command answered, and in how many ms.  ValueError, a clause, when an answer is not right.
    """
    (command,) = commands
    for _ in range(2):  # at first sight, and as it is from then on
        quiet = run(command)
        check_quiet(quiet.answer)
    compact(stage)
    full = run(command)
    parts = check_delivery(full.answer, message=message_of(command.options) or MESSAGES[0])
    counted = "1 part" if parts == 1 else f"{parts} parts"
    return f"{NOTHING} in {quiet.ms} ms; a made-up compaction gets {counted} in {full.ms} ms"


def compact(stage: Stage) -> None:
    """Let the host compact the conversation now."""
    _append(
        stage.transcript, _record(_CHECKPOINT_STEP, "CHECKPOINT", "SYSTEM", "# Resuming from a compaction\n\nA test.")
    )


def check_quiet(answer: bytes) -> None:
    """ValueError, a clause, unless the answer is that there is nothing to do."""
    if answer != NOTHING.encode():
        raise ValueError(f"it answered {_shown(answer)} where nothing had happened, not {NOTHING}")


def check_delivery(answer: bytes, *, message: str) -> int:
    """The number of parts in the answer to a compaction; ValueError, a clause, when the host would drop it or when it
    does not bring the conversation back.
    """
    if answer == NOTHING.encode():
        raise ValueError(f"it answered {NOTHING} to a made-up compaction: nothing would be put back")
    try:
        reply = json.loads(answer.decode("ascii"), object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the host would drop its answer {_shown(answer)}: {error}") from None
    texts = [_text(step, message) for step in _steps(reply)]
    for text in texts:
        if len(text.encode()) > STEP_BYTES_MAX:
            raise ValueError(f"a part of its answer has more than the {STEP_BYTES_MAX:,} bytes that the host passes on")
        if not text.startswith(f"{MARKER_HEAD} | checkpoint={_CHECKPOINT_STEP} |"):
            raise ValueError(f"a part of its answer begins {_shown(text.encode())}, not with the marker")
    if not any(_REQUEST in text for text in texts):
        raise ValueError("its answer does not hold what was said before the made-up compaction")
    return len(texts)


def _steps(reply: Any) -> list[Any]:
    if not isinstance(reply, dict) or list(reply) != ["injectSteps"] or not isinstance(reply["injectSteps"], list):
        raise ValueError('the host would drop its answer: it is no object with "injectSteps" alone')
    return reply["injectSteps"]


def _text(step: Any, message: str) -> str:
    inner = step.get(message) if isinstance(step, dict) and list(step) == [message] else None
    if message == "systemMessage":
        inner = inner.get(message) if isinstance(inner, dict) and list(inner) == [message] else None
    if not isinstance(inner, str):
        raise ValueError(f"the host would drop its answer, or end the turn: a step in it is no {message}")
    try:
        inner.encode()
    except UnicodeEncodeError:
        raise ValueError("the host would drop its answer: it holds half of a surrogate pair") from None
    return inner


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("it holds a key twice")
    return dict(pairs)


def _shown(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return repr(text if len(text) <= 80 else text[:79] + "…")


def _record(step: int, kind: str, source: str, content: str) -> Mapping[str, Any]:
    return {
        "step_index": step,
        "source": source,
        "type": kind,
        "status": "DONE",
        "created_at": f"2026-01-01T00:00:{step:02}Z",
        "content": content,
    }


def _append(path: str, *records: Mapping[str, Any]) -> None:
    with open(path, "ab") as file:
        file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records))
