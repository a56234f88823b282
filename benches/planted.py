"""A made-up coding session with facts planted in it, for measuring how much of one comes back after a compaction.

The same seed gives the same session.  Each fact is a short text that stands in the session once and belongs to one of
six families and to one age; whatever a session is brought back by, the share of facts that stand verbatim in it can be
counted.  What lies around the facts is of the length and make that real sessions have.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

FAMILIES = ("constraint", "decision", "path", "command", "number", "line")
AGES = ("early", "middle", "late")
ROOT = "/home/user/project"
_NOUNS = [
    *("parser", "cache", "queue", "ledger", "router", "schema", "session", "token", "buffer", "widget", "report"),
    *("billing", "invoice", "search", "index", "crawler", "planner", "stream", "mailer", "upload", "gateway"),
    *("profile", "avatar", "export", "import", "audit", "catalog", "quota", "region", "shard", "backup", "metric"),
]
_VERBS = [
    *("load", "store", "merge", "split", "check", "render", "encode", "flush", "retry", "route", "trim", "parse"),
    *("collect", "notify", "verify", "seal"),
]
_PROSE = (
    "the tests of this module cover most of it", "there is some older code around it", "this part reads well already",
    "the change touches two call sites", "nothing else in the tree depends on it", "the names follow the usual style",
    "the output looks as before", "a second pass may be worth it later", "the helper is shared with the worker",
    "both branches end in the same place", "the log has a few lines about it", "it was written some time ago",
    "all of the rows are the same there", "only the helper uses it in 3 places", "no other part should care",
    "it must have been 12 weeks ago", "every run of it took 41 s or so", "it was always that way",
    "nothing was decided about it so far because it is old", "the plan was not settled in version 2.1",
)  # fmt: skip


@dataclass(frozen=True)
class Fact:
    """One planted text."""

    text: str
    family: str
    age: str


@dataclass(frozen=True)
class Call:
    """One call of a tool and its result."""

    tool: str
    """`Read`, `Edit` or `Bash`."""
    input: dict[str, str]
    result: str


@dataclass
class Round:
    """One request and what the assistant did for it."""

    request: str
    said: list[tuple[str, list[Call]]] = field(default_factory=list)
    """Text and the calls after it; the last has no calls."""


@dataclass(frozen=True)
class Session:
    """Rounds, oldest first, and what is planted in them."""

    rounds: list[Round]
    facts: list[Fact]
    planted_in: dict[str, int]
    """Text of a fact -> index of its round."""


def session(*, seed: int = 1, rounds: int = 60, each: int = 1) -> Session:
    """`each`: facts in a round, of families in turn."""
    seeded = random.Random(seed)
    made: list[Round] = []
    facts: list[Fact] = []
    where: dict[str, int] = {}
    turn = 0
    for number in range(rounds):
        age = AGES[number * len(AGES) // rounds]
        planted: dict[str, str] = {}
        for _ in range(each):
            family = FAMILIES[turn % len(FAMILIES)]
            turn += 1
            planted[family] = _fact(family, number, seeded)
        facts += [Fact(text, family, age) for family, text in planted.items()]
        where |= dict.fromkeys(planted.values(), number)
        made.append(_round(number, planted, seeded))
    return Session(made, facts, where)


def _fact(family: str, number: int, seeded: random.Random) -> str:
    noun, other, verb = seeded.choice(_NOUNS), seeded.choice(_NOUNS), seeded.choice(_VERBS)
    n = seeded.randrange(1_000, 99_999)
    forms = {
        "constraint": (
            f"Never {verb} the {noun} without ticket {n}.",
            f"From now on the {noun} keeps at most {n} entries.",
            f"Do not touch {noun}_{n}.lock, whatever happens.",
            f"All {noun} timestamps stay in UTC, see rule {n}.",
            f"Please answer in plain English and cite {noun} note {n}.",
        ),
        "decision": (
            f"I decided to {verb} the {noun} through {other}_{n} instead of a thread.",
            f"We go with approach {n} for the {noun}, because {other} locks are slow.",
            f"The root cause is that {noun}_{n} drops the last {other}.",
            f"Rejected: a second {noun} pool, since {other} {n} would starve.",
            f"The {noun} will use a ring buffer of {n} slots.",
        ),
        "path": (f"{ROOT}/src/{noun}/{verb}_{other}_{n}.py", f"{ROOT}/docs/{noun}/{other}-{n}.md"),
        "command": (
            f"pytest tests/{noun} -k {verb}_{other} --seed {n}",
            f"make {noun}-{verb} SHARD={n}",
            f"git log --oneline -n 3 -- src/{noun}/{n}",
        ),
        "number": (
            f"{noun} {verb} p99: {n} us",
            f"{n} of {n + 17} {noun} rows matched",
            f"total {noun} size {n} bytes",
        ),
        "line": (
            f"{noun.upper()}_{verb.upper()}_LIMIT = {n}",
            f"    return {verb}_{noun}(rows, depth={n})",
            f"def {verb}_{noun}_{n}(row, /):",
        ),
    }
    return seeded.choice(forms[family])


def _round(number: int, planted: dict[str, str], seeded: random.Random) -> Round:
    sentences = [_prose(seeded) for _ in range(seeded.choice((1, 2, 3, 6, 12, 30)))]
    if "constraint" in planted:
        sentences.insert(seeded.randrange(len(sentences) + 1), planted["constraint"])
    made = Round(f"Go on with the {seeded.choice(_NOUNS)}. " + " ".join(sentences))
    calls = [_call(number, seeded) for _ in range(seeded.randrange(2, 5))]
    calls += [_planted_call(family, text, seeded) for family, text in planted.items() if family in FAMILIES[2:]]
    seeded.shuffle(calls)
    while calls:
        count = seeded.choice((1, 1, 2))
        made.said.append((seeded.choice(("", "Let me look at it.", "Now the tests.")), calls[:count]))
        calls = calls[count:]
    closing = [_prose(seeded) for _ in range(seeded.choice((2, 4, 8)))]
    if "decision" in planted:
        closing.insert(seeded.randrange(len(closing) + 1), planted["decision"])
    made.said.append((" ".join(closing), []))
    return made


def _planted_call(family: str, text: str, seeded: random.Random) -> Call:
    noun, n = seeded.choice(_NOUNS), seeded.randrange(1_000)
    if family == "path":
        return Call("Read", {"file_path": text}, _code(seeded, []))
    if family == "command":
        return Call("Bash", {"command": text}, _output(seeded, []))
    if family == "number":
        return Call("Bash", {"command": f"python tools/{noun}.py {n}"}, _output(seeded, [text]))
    path = f"{ROOT}/src/{noun}/part_{n}.py"
    if seeded.random() < 0.5:
        return Call("Read", {"file_path": path}, _code(seeded, [text]))
    old, new = _code(seeded, [], most=6), _code(seeded, [text], most=6)
    return Call("Edit", {"file_path": path, "old_string": old, "new_string": new}, f"The file {path} has been updated.")


def _call(number: int, seeded: random.Random) -> Call:
    noun = seeded.choice(_NOUNS[:12])
    path = f"{ROOT}/src/{noun}/main.py"
    draw = seeded.random()
    if draw < 0.4:
        return Call("Read", {"file_path": path}, _code(seeded, []))
    if draw < 0.6:
        old, new = _code(seeded, [], most=5), _code(seeded, [], most=7)
        return Call("Edit", {"file_path": path, "old_string": old, "new_string": new}, "The file has been updated.")
    return Call("Bash", {"command": seeded.choice((f"ls src/{noun}", "git status --short", "pytest -q"))},
                _output(seeded, []))  # fmt: skip


def _prose(seeded: random.Random) -> str:
    return f"For the {seeded.choice(_NOUNS)}, {seeded.choice(_PROSE)}."


def _code(seeded: random.Random, planted: Iterable[str], *, most: int = 120) -> str:
    lines = ["import os", "import sys", ""] if most > 20 else []
    for _ in range(seeded.randrange(3, most)):
        a, b, verb = seeded.choice(_NOUNS), seeded.choice(_NOUNS), seeded.choice(_VERBS)
        lines.append(
            seeded.choice(
                (f"    {a} = {verb}({b})", f"    if {a} is not {b}:", f"        {verb}({a}, {b})",
                 f"    # {verb} the {a}", "", f"def {verb}_{a}({b}):", f"    {a}.{verb}({b}[0])")
            )
        )  # fmt: skip
    values = [
        f"{seeded.choice(_NOUNS).upper()}_SIZE = {seeded.randrange(999)}" for _ in range(seeded.choice((0, 3, 9)))
    ]
    for text in (*(values if most > 20 else []), *planted):
        lines.insert(seeded.randrange(len(lines) + 1), text)
    return "\n".join(lines) + "\n"


def _output(seeded: random.Random, planted: Iterable[str]) -> str:
    noun = seeded.choice(_NOUNS)
    forms = (f"tests/{noun}/test_{{}}.py .......... [{{}}%]", f"worker {{}} took {noun} {{}}", f"[{{}}] {noun} ok {{}}")
    form = seeded.choice(forms)
    lines = [form.format(n, seeded.randrange(100)) for n in range(seeded.choice((3, 10, 40, 120)))]
    loose = [f"{seeded.choice(_NOUNS)} gave {seeded.randrange(9999)} {seeded.choice(_NOUNS)}" for _ in range(9)]
    for text in (*loose[: seeded.choice((0, 3, 9))], *planted):
        lines.insert(seeded.randrange(len(lines) + 1), text)
    return "\n".join(lines) + "\n"


def records(made: Session, rounds: int, *, name: str, cwd: str = ROOT) -> Iterator[dict[str, Any]]:
    """The first rounds of the session as Claude Code logs them, with a compaction after each 40."""
    last: str | None = None
    count = 0

    def entry(kind: str, **more: Any) -> dict[str, Any]:
        nonlocal last, count
        count += 1
        row = {
            "parentUuid": last,
            "isSidechain": False,
            "type": kind,
            **more,
            "uuid": f"{count:08x}-0000-4000-8000-000000000000",
        }
        last = row["uuid"]
        return row | {"timestamp": f"2026-03-01T{count // 3600:02}:{count // 60 % 60:02}:{count % 60:02}.000Z",
                      "cwd": cwd, "sessionId": name}  # fmt: skip

    for number, each in enumerate(made.rounds[:rounds]):
        if number and number % 40 == 0:
            row = entry("system", subtype="compact_boundary", content="Conversation compacted",
                        logicalParentUuid=last, compactMetadata={"trigger": "auto", "preTokens": 1})  # fmt: skip
            yield row | {"parentUuid": None}
            yield entry("user", message={"role": "user", "content": "A summary."}, isCompactSummary=True)
        yield entry("user", message={"role": "user", "content": each.request})
        for text, calls in each.said:
            content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
            for at, call in enumerate(calls):
                content.append(
                    {"type": "tool_use", "id": f"toolu_{count}_{at}", "name": call.tool, "input": call.input}
                )
            used = [block["id"] for block in content if block["type"] == "tool_use"]
            yield entry("assistant", message={"id": f"msg_{count}", "role": "assistant", "content": content})
            for call, use in zip(calls, used, strict=True):
                yield entry("user", **_result(call, use))


def _result(call: Call, use: str) -> dict[str, Any]:
    text = call.result
    told: dict[str, Any] = {}
    if call.tool == "Read":
        lines = text.splitlines()
        told = {"type": "text", "file": {"filePath": call.input["file_path"], "content": text, "startLine": 1,
                                         "numLines": len(lines), "totalLines": len(lines)}}  # fmt: skip
        text = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1))
    block = {"type": "tool_result", "tool_use_id": use, "content": text}
    return {"message": {"role": "user", "content": [block]}, "toolUseResult": told}
