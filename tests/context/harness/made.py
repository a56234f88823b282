"""Random conversations of an agent, each from its seed: the same one in every process.

One has 20 to 200 messages in OpenAI's chat form, several turns, answers with one to ten calls at once, results and
errors, and texts from nothing to some thousand tokens: prose, code, logs, JSON, Chinese, Japanese, base64, blanks.
It ends where a model is about to be called: with a request, or in the middle of a tool loop.
"""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SHORTEST, LONGEST = 20, 200
"""Messages in OpenAI's chat form."""
LEAST_CHARS = 16_000
"""A tenth of it still holds the system message and a request of some lines."""


@dataclass(frozen=True)
class Request:
    text: str
    image: bool = False


@dataclass(frozen=True)
class Answer:
    text: str
    thought: str = ""


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Result:
    id: str
    text: str
    error: bool = False


@dataclass(frozen=True)
class Step:
    """An answer that calls tools, and what they gave, in the order in which they were done."""

    text: str
    calls: tuple[Call, ...]
    results: tuple[Result, ...]
    thought: str = ""


@dataclass(frozen=True)
class Conversation:
    seed: int
    system: str
    events: tuple[Request | Answer | Step, ...]

    @property
    def last_request(self) -> str:
        return next(event.text for event in reversed(self.events) if isinstance(event, Request))


def conversation(seed: int, *, messages: int | None = None) -> Conversation:
    """`messages`: how many in OpenAI's chat form, within eleven; None: as many as the seed says."""
    rng = random.Random(f"conversation {seed}")
    aim = messages or rng.choice((20, 40, 80, 120, LONGEST)) - rng.randrange(0, 12)
    size = rng.choice((0.3, 0.6, 1.5))
    thinks = rng.random() < 0.5
    events: list[Request | Answer | Step] = []
    count = 1
    while True:
        events.append(_request(rng, size))
        count += 1
        for _ in range(_steps(rng)):
            if count + 11 > aim:
                break
            step = _step(rng, size, thinks, len(events))
            events.append(step)
            count += 1 + len(step.calls)
        if count + 12 > aim:
            break
        if not isinstance(events[-1], Step) or rng.random() < 0.9:  # else the user breaks in
            events.append(Answer(_said(rng, size), _thought(rng, thinks)))
            count += 1
    while count < max(SHORTEST, aim - 12):
        step = _step(rng, size, thinks, len(events), most=1)
        events.append(step)
        count += 1 + len(step.calls)
    if rng.random() < 0.5:
        if isinstance(events[-1], Step):
            events.append(Answer(_said(rng, size), _thought(rng, thinks)))
        if not isinstance(events[-1], Request):
            events.append(_request(rng, size))
    made = Conversation(seed, _system(rng), tuple(events))
    return _filled(rng, made)


def _filled(rng: random.Random, made: Conversation) -> Conversation:
    """With more in its first step or request where the whole is too short to be cut to a tenth."""
    missing = LEAST_CHARS - sum(_chars(event) for event in made.events)
    if missing <= 0:
        return made
    more = _log(rng, 1 + missing // 60)
    events = list(made.events)
    for index, event in enumerate(events[:-1]):
        if isinstance(event, Step):
            first, *rest = event.results
            longer = Result(first.id, f"{first.text}\n{more}", first.error)
            events[index] = Step(event.text, event.calls, (longer, *rest), event.thought)
            return Conversation(made.seed, made.system, tuple(events))
    first_request = events[0]
    assert isinstance(first_request, Request)
    events[0] = Request(f"{first_request.text}\n{more}", first_request.image)
    return Conversation(made.seed, made.system, tuple(events))


def _chars(event: Request | Answer | Step) -> int:
    return len(event.text) + (sum(len(each.text) for each in event.results) if isinstance(event, Step) else 0)


def _steps(rng: random.Random) -> int:
    return rng.choice((0, 1, 1, 2, 3, 5, 8, 13, 30))


def _system(rng: random.Random) -> str:
    return f"You are a coding agent in a shell. {_prose(rng, rng.choice((3, 20, 60)))}"


def _request(rng: random.Random, size: float) -> Request:
    kind = rng.random()
    if kind < 0.25:
        text = rng.choice(("go on", "yes", "ok", "try again", "stop", "继续", "why?"))
    elif kind < 0.45:
        text = f"RULE: never touch {_path(rng)}. {_prose(rng, 12)}"
    elif kind < 0.9:
        text = _prose(rng, int(size * rng.choice((8, 30, 90))))
    else:  # a log, pasted
        text = f"{_prose(rng, 10)}\n\n{_text(rng, int(size * rng.choice((1_500, 6_000))))}\n\n{_prose(rng, 10)}"
    return Request(text, image=rng.random() < 0.04)


def _step(rng: random.Random, size: float, thinks: bool, number: int, *, most: int = 10) -> Step:
    count = min(most, rng.choice((1, 1, 1, 1, 2, 2, 3, 4, 6, 10)))
    calls = []
    for index in range(count):
        name = rng.choice(("bash", "read_file", "write_file", "search", "fetch"))
        arguments: dict[str, Any] = {"path": _path(rng)}
        if name == "write_file":
            arguments["text"] = _code(rng, int(size * rng.choice((2, 10, 40))))
        if rng.random() < 0.1:
            arguments = {}
        calls.append(Call(f"call_{rng.getrandbits(64):016x}_{number}_{index}", name, arguments))
    results = [_result(rng, size, call) for call in calls]
    if rng.random() < 0.2:
        rng.shuffle(results)
    said = _said(rng, size / 4) if rng.random() < 0.4 else ""
    return Step(said, tuple(calls), tuple(results), _thought(rng, thinks))


def _result(rng: random.Random, size: float, call: Call) -> Result:
    if rng.random() < 0.1:
        return Result(call.id, f"Error: {_path(rng)}: no such file or directory (os error 2)", error=True)
    chars = int(size * rng.choice((0, 8, 40, 80, 200, 200, 200, 600, 1_000, 4_000)))
    return Result(call.id, _text(rng, chars) if chars else rng.choice(("", "ok", "0 failed", "[]")))


def _said(rng: random.Random, size: float) -> str:
    return _prose(rng, max(2, int(size * rng.choice((3, 20, 60, 160)))))


def _thought(rng: random.Random, thinks: bool) -> str:
    return _prose(rng, rng.choice((5, 30, 80))) if thinks and rng.random() < 0.85 else ""


def _text(rng: random.Random, chars: int) -> str:
    """About so many characters, of one kind or of two."""
    kinds: tuple[Callable[[], str], ...] = (
        lambda: _prose(rng, chars // 6),
        lambda: _code(rng, chars // 30),
        lambda: _log(rng, chars // 60),
        lambda: _rows(rng, chars // 70),
        lambda: _script(rng, chars // 2),
        lambda: base64.b64encode(rng.randbytes(chars * 3 // 4)).decode(),
        lambda: "\n".join(" " * rng.randrange(0, 40) + rng.choice(WORDS) for _ in range(chars // 25)),
    )
    return rng.choice(kinds)() or rng.choice(WORDS)


WORDS = [
    "the", "of", "and", "to", "in", "that", "for", "with", "this", "from", "cache", "index", "parser", "token",
    "stream", "buffer", "retry", "request", "answer", "session", "branch", "commit", "merge", "test", "build",
    "error", "value", "key", "table", "column", "schema", "migration", "worker", "queue", "lock", "thread",
    "timeout", "config", "flag", "module", "import", "class", "function", "method", "return", "loop", "file",
    "folder", "path", "line", "byte", "record", "entry", "state", "should", "must", "never", "before", "after",
    "because", "however", "while", "until", "only", "still", "again", "first", "last", "next", "some", "every",
]  # fmt: skip
IDEOGRAPHS = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小"
    "么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长"
)
KANA = (
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんアイウエ"
    "オカキクケコサシスセソタチツテト"
)


def _prose(rng: random.Random, words: int) -> str:
    text = " ".join(rng.choice(WORDS) for _ in range(max(1, words)))
    return text.capitalize() + rng.choice((".", "?", "!", " 🙂."))


def _path(rng: random.Random) -> str:
    return f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{rng.randrange(100)}.py"


def _code(rng: random.Random, lines: int) -> str:
    shapes = ("def {}({}):", "    if {} is None:", "        return {}[{}]", "    for {} in {}:", "    {} = {} + 1", "")
    return "\n".join(rng.choice(shapes).format(rng.choice(WORDS), rng.choice(WORDS)) for _ in range(lines))


def _log(rng: random.Random, lines: int) -> str:
    return "\n".join(
        f"2026-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T0{rng.randrange(10)}:1{rng.randrange(10)}:00Z "
        f"{rng.choice(('INFO', 'WARN', 'ERROR'))} {rng.choice(WORDS)}[{rng.randrange(9999)}]: {_prose(rng, 4)}"
        for _ in range(lines)
    )


def _rows(rng: random.Random, rows: int) -> str:
    made = [{"id": rng.getrandbits(32), "name": rng.choice(WORDS), "ok": rng.random() < 0.5} for _ in range(rows)]
    return json.dumps(made, indent=rng.choice((None, 2)))


def _script(rng: random.Random, chars: int) -> str:
    letters = rng.choice((IDEOGRAPHS, KANA))
    return "".join(rng.choice(letters) if rng.random() < 0.94 else rng.choice("。，\n") for _ in range(chars))
