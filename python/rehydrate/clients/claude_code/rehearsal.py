"""A made-up home, conversation and payload on which the registered hook is tried, and a strict look at its answers.

Never imported by the hook.  Everything lies in one folder that the caller made and removes; nothing leads out of it.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rehydrate.clients.claude_code import layout
from rehydrate.clients.claude_code.contract import VALUE_UNITS_MAX
from rehydrate.conversation import MARKER_HEAD
from rehydrate.dataclass import dataclass
from rehydrate.launch import Command
from rehydrate.settings import VALUES_MAX, read_settings

OPTIONS: tuple[tuple[str, ...], ...] = ((), *(("--part", str(part)) for part in range(1, VALUES_MAX + 1)))
"""What may follow the client in a command that `install` writes."""
_SESSION = "00000000-0000-4000-8000-000000000000"
_REQUEST = "Rehearsal of rehydrate doctor: nothing here is real."


@dataclass(frozen=True, slots=True)
class Stage:
    """A conversation that nobody had, in a home that nobody has, and that is being compacted."""

    environ: dict[str, str]
    """What the hook's process sees, besides what any process does."""
    payload: bytes
    """What the host would send after the compaction."""
    transcript: str


def flags_of(options: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of `install` that register with these options: none, as the number of values is a setting."""
    return ()


def usual(environ: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The options of the commands that `install` would register."""
    values = read_settings(environ)[0].values
    return list(OPTIONS[1 : values + 1] if values > 1 else OPTIONS[:1])


def too_large(parts: Sequence[str]) -> tuple[str, str] | None:
    """A clause about the largest of the parts, and what to do, when the host would not pass it on whole."""
    most = max((_units(part) for part in parts), default=0)
    if most <= VALUE_UNITS_MAX:
        return None
    return f"a value has {most:,} characters, and the client passes {VALUE_UNITS_MAX:,} on", "report this"


def made_up(folder: str) -> Stage:
    """The stage, in an empty folder."""
    home, work = os.path.join(folder, "home"), os.path.join(folder, "work")
    config = os.path.join(home, ".claude")
    project = os.path.join(config, "projects", layout.keys_of(os.path.realpath(work))[0])
    for each in (work, project):
        os.makedirs(each)
    transcript = os.path.join(project, _SESSION + layout.SUFFIX)
    said = (("user", _REQUEST), ("assistant", "Understood."), ("user", "Go on."), ("assistant", "Going on."))
    with open(transcript, "wb") as file:
        for number, (role, text) in enumerate(said, start=1):
            file.write(json.dumps(_entry(number, role, text, work)).encode() + b"\n")
    payload = {
        "session_id": _SESSION,
        "transcript_path": transcript,
        "cwd": work,
        "hook_event_name": "SessionStart",
        "source": "compact",
    }
    environ = {"HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": config, "CLAUDE_PROJECT_DIR": work}
    return Stage(environ, json.dumps(payload).encode(), transcript)


def rehearse(stage: Stage, commands: Sequence[Command], run: Callable[[Command], Any]) -> str:
    """Try the command of each value on the conversation; what came of it, in words.

    `run` gives what a command answered, and in how many ms.  ValueError, a clause, when an answer is not right.
    """
    texts, slowest_ms = [], 0
    for command in commands:
        ran = run(command)
        slowest_ms = max(slowest_ms, ran.ms)
        is_first = command.options in OPTIONS[:2]
        texts += check_value(ran.answer, is_first=is_first)
    units = max(map(_units, texts), default=0)
    counted = "1 value" if len(texts) == 1 else f"{len(texts)} values"
    return f"a made-up compaction gets {counted} of at most {units:,} characters, the slowest in {slowest_ms} ms"


def check_value(answer: bytes, *, is_first: bool) -> list[str]:
    """The text of an answer, none where the value has nothing to say, as any but the first may; ValueError, a clause,
    when the host would drop it or cut it, or when it does not bring the conversation back.
    """
    if answer in (b"", b"{}"):
        if is_first:
            raise ValueError("it answered nothing to a made-up compaction: nothing would be put back")
        return []
    try:
        reply = json.loads(answer.decode("utf-8"), object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the host would take its answer {_shown(answer)} for plain text: {error}") from None
    text = _text(reply)
    if _units(text) > VALUE_UNITS_MAX:
        raise ValueError(f"its answer has more than the {VALUE_UNITS_MAX:,} characters that the host passes on")
    if not text.startswith(MARKER_HEAD):
        raise ValueError(f"its answer begins {_shown(text.encode())}, not with the marker")
    if is_first and _REQUEST not in text:
        raise ValueError("its answer does not hold what was said before the made-up compaction")
    return [text]


def _text(reply: Any) -> str:
    inner = (
        reply.get("hookSpecificOutput") if isinstance(reply, dict) and list(reply) == ["hookSpecificOutput"] else None
    )
    if not isinstance(inner, dict) or inner.keys() != {"hookEventName", "additionalContext"}:
        raise ValueError('the host would drop its answer: it is no object with "hookSpecificOutput" alone')
    text = inner["additionalContext"]
    if inner["hookEventName"] != "SessionStart" or not isinstance(text, str):
        raise ValueError("the host would drop its answer: it is not one to SessionStart")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("its answer holds half of a surrogate pair") from None
    return text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("it holds a key twice")
    return dict(pairs)


def _shown(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return repr(text if len(text) <= 80 else text[:79] + "…")


def _entry(number: int, role: str, text: str, work: str) -> dict[str, Any]:
    """An entry as the client writes it, the child of the one before."""
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    message = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{number}", "type": "message", "model": "rehearsal", "stop_reason": "end_turn"}
    return {
        "parentUuid": None if number == 1 else _uuid(number - 1),
        "isSidechain": False,
        "type": role,
        "message": message,
        "uuid": _uuid(number),
        "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "userType": "external",
        "cwd": work,
        "sessionId": _SESSION,
        "version": "2.1.332",
    }


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-9000-{number:012}"
