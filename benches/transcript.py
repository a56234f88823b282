"""Writes Antigravity-like transcripts of any size for the benchmarks; the same seed gives the same bytes."""

import json
import random
from pathlib import Path

LINE_MEAN = 5_000
"""Mean length of a record in bytes, log-normal, as in long coding conversations."""


def write_transcript(path: Path, size: int, *, seed: int = 1, checkpoint: bool = False, filler: str = "") -> int:
    """Write at least `size` bytes of records, the last one a CHECKPOINT if asked for; returns the last step.

    `filler`: what the texts are cut from, some words where none is given.
    """
    seeded = random.Random(seed)
    words = [
        seeded.choice(("parse", "token", "build", "汉字", "tests", "reads", "a\\nb", "x = 1;")) for _ in range(4_096)
    ]
    filler = filler or " ".join(words)
    step = written = 0
    with open(path, "wb") as file:
        while written < size:
            line = json.dumps(_record(seeded, step, filler), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            written += file.write(line)
            step += 1
        if checkpoint:
            last = {"step_index": step, "source": "SYSTEM", "type": "CHECKPOINT", "status": "DONE",
                    "created_at": "2026-03-01T11:00:00Z", "content": "# Resuming from a compaction\n\n..."}  # fmt: skip
            file.write(json.dumps(last, separators=(",", ":")).encode() + b"\n")
    return step


def _record(seeded: random.Random, step: int, filler: str) -> dict[str, object]:
    draw = seeded.random()
    length = min(int(seeded.lognormvariate(7.5, 1.4)), 1_000_000)
    at = seeded.randrange(len(filler) // 2)
    text = (filler[at:] * (length // len(filler[at:]) + 1))[:length]
    record: dict[str, object] = {"step_index": step, "source": "MODEL", "type": "RUN_COMMAND", "status": "DONE",
                                 "created_at": f"2026-03-01T10:{step // 60 % 60:02}:{step % 60:02}Z"}  # fmt: skip
    if draw < 0.006 or step == 0:
        record |= {"source": "USER_EXPLICIT", "type": "USER_INPUT"}
        record["content"] = f"<USER_REQUEST>\nRequest at step {step}: {text[:800]}\n</USER_REQUEST>"
    elif draw < 0.45:
        record["type"] = "PLANNER_RESPONSE"
        record["content"] = text[:1_500] if draw < 0.2 else ""
        args = {"CommandLine": f"make part-{step}"}
        record["tool_calls"] = [{"name": "run_command", "args": args}]
    else:
        record["content"] = text
    return record
