"""Makes folders of conversations: thousands of siblings, and among them a chain of forks; the same seed gives the same
bytes.

A sibling is some thirty KB in lines of 1 KB, for what a walk costs depends on how many there are, and hardly on how
long they are.
"""

import json
import os
import random
import uuid
from pathlib import Path
from typing import NamedTuple

from benches.transcript import SESSION, write_entries

STEPS_MU, STEPS_SIGMA, STEPS_MAX = 3.3, 0.8, 300
"""Steps of a sibling, log-normal."""
FORKED_AT = 30
"""So many steps of its own has each conversation of a chain before it is forked."""
WENT_ON = 5
"""And so many more has the one that was forked, after that."""
BASE = b"2026-03-01T10"
LOGS = (".system_generated", "logs", "transcript_full.jsonl")


class Chain(NamedTuple):
    """A conversation and those it descends from."""

    path: Path
    """Its transcript."""
    segments: "list[tuple[str, int | str, int | str]]"
    """Session, first and last step (or uuid) of each part, the oldest first."""


# -- Antigravity ------------------------------------------------------------------------------------------------------


def write_brain(app: Path, siblings: int, *, hops: int = 3, seed: int = 1) -> Chain:
    """Write so many conversations that have nothing to do with each other, then a chain of `hops` forks, the newest
    of all.  Nothing but the steps and their times says who is whose fork.
    """
    seeded = random.Random(seed)
    lines = [_line(step) for step in range(STEPS_MAX + 1)]
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    block = b"".join(lines)
    brain = app / "brain"
    brain.mkdir(parents=True)
    for number in range(siblings):
        steps = min(2 + int(seeded.lognormvariate(STEPS_MU, STEPS_SIGMA)), STEPS_MAX)
        steps += steps % FORKED_AT == 0  # one that ends just where a fork begins would be taken for its parent
        hour = b"%d-%02d-%02dT%02d" % (2024 + number % 2, 1 + number % 12, 1 + number % 28, number // 28 % 24)
        _write(brain, _name(seeded), block[: ends[steps]].replace(BASE, hour))
    segments: list[tuple[str, int | str, int | str]] = []
    path = brain
    for hop in range(hops + 1):
        name, start = _name(seeded), hop * FORKED_AT
        stop = start + FORKED_AT
        path = _write(brain, name, block[ends[start] : ends[stop + (WENT_ON if hop < hops else 0)]])
        segments.append((name, start, stop - 1))
    return Chain(path, segments)


def _name(seeded: random.Random) -> str:
    return str(uuid.UUID(int=seeded.getrandbits(128), version=4))


def _line(step: int) -> bytes:
    time = BASE + b":%02d:%02dZ" % (step // 60, step % 60)
    who = (b"USER_EXPLICIT", b"USER_INPUT") if step % 20 == 0 else (b"MODEL", b"RUN_COMMAND")
    form = b'{"step_index":%d,"source":"%s","type":"%s","status":"DONE","created_at":"%s","content":"step %d %s"}\n'
    return form % (step, *who, time, step, b"word " * (step * 7_919 % 400))


def _write(brain: Path, name: str, data: bytes) -> Path:
    folder = os.path.join(brain, name)
    for part in LOGS[:-1]:
        os.mkdir(folder)
        folder = os.path.join(folder, part)
    os.mkdir(folder)
    path = os.path.join(folder, LOGS[-1])
    with open(path, "wb", buffering=0) as file:
        file.write(data)
    return Path(path)


# -- Claude Code ------------------------------------------------------------------------------------------------------


def write_project(project: Path, siblings: int, *, size: int = 20_000, hops: int = 3, seed: int = 1) -> Chain:
    """Write so many conversations of at least `size` bytes into a project folder, then a chain of `hops` forks that
    name what they were copied from.
    """
    seeded = random.Random(seed)
    project.mkdir(parents=True, exist_ok=True)
    for _ in range(siblings):
        name = _name(seeded)
        write_entries(project / f"{name}.jsonl", size, seed=seeded.getrandbits(32), session=name)
    path = project / f"{SESSION}.jsonl"
    made = write_entries(path, size, seed=seeded.getrandbits(32))
    entries = [row[0] for row in made.rows if row[0]]
    segments: list[tuple[str, int | str, int | str]] = [(SESSION, entries[0], entries[-1])]
    copied: list[bytes] = path.read_bytes().splitlines(keepends=True)
    for _ in range(hops):
        source, name = str(segments[-1][0]), _name(seeded)
        rows = [_copied(line, source, name) for line in copied]
        last = json.loads(next(line for line in reversed(rows) if b'"uuid"' in line))["uuid"]
        asked, said = _name(seeded), _name(seeded)
        rows += [_own(name, last, asked, "user"), _own(name, asked, said, "assistant")]
        path = project / f"{name}.jsonl"
        path.write_bytes(b"".join(rows))
        segments.append((name, asked, said))
        copied = rows
    return Chain(path, segments)


def _copied(line: bytes, source: str, name: str) -> bytes:
    """The record as `/branch` copies it."""
    record = json.loads(line)
    if "uuid" in record:
        record |= {"sessionId": name, "forkedFrom": {"sessionId": source, "messageUuid": record["uuid"]}}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _own(session: str, parent: str, uuid: str, kind: str) -> bytes:
    content: object = f"{kind} of {session}"
    if kind == "assistant":
        content = [{"type": "text", "text": content}]
    record = {"parentUuid": parent, "isSidechain": False, "message": {"role": kind, "content": content}, "type": kind,
              "uuid": uuid, "timestamp": "2026-03-01T12:00:00.000Z", "cwd": "/srv/project",
              "sessionId": session}  # fmt: skip
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
