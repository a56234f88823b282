"""The public `compaction-conformance-kit`, and what turns a function that trims a list of messages into its compactor.

What the next round gets is the text of the round before and nothing else: no object of ours lives from one to the next.
The text is written as the kit writes a transcript, a line `[role] ...` for each message, and read back from there.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.compacted import CompactedContext
from compaction_kit.generated import build_generated_session
from compaction_kit.runner import run_conformance
from compaction_kit.semantic_corpus import build_semantic_heldout_session, build_semantic_session

Wire = list[dict[str, Any]]
Trim = Callable[[Wire, int], Wire]
"""A list in OpenAI's chat form and a budget in characters, 4 a message; the list that is within it."""

OPENING = re.compile(r"^\[(system|user|assistant)\] ", re.MULTILINE)


class Compactor:
    name = "trim"

    def __init__(self, trim: Trim) -> None:
        self.trim = trim

    def compact(self, turns: Any, round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        assert budget_chars is not None
        messages = _read(turns[0].text) if round_num > 1 else [{"role": t.role, "content": t.text} for t in turns]
        budget = budget_chars
        while len(text := _write(self.trim(messages, budget))) > budget_chars:
            budget -= len(text) - budget_chars  # `[role] ` is longer than what a message was counted as
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)


def _write(messages: Wire) -> str:
    return "\n".join(f"[{message['role']}] {_text(message['content'])}" for message in messages)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def _read(text: str) -> Wire:
    starts = list(OPENING.finditer(text))
    ends = [start.start() - 1 for start in starts[1:]] + [len(text)]
    return [{"role": s[1], "content": text[s.end() : end]} for s, end in zip(starts, ends, strict=True)]


def kept(trim: Trim, *, seeds: range = range(1, 5)) -> dict[float, dict[str, Any]]:
    """What the kit's own benchmark finds after five rounds, for budgets of 10, 20 and 30 % of the characters."""
    payload = run_budget_benchmark({"trim": lambda: Compactor(trim)}, seeds=tuple(seeds))
    return {entry["budget_fraction"]: entry for entry in payload["entries"]}


def stale(trim: Trim, fraction: float, *, seeds: range = range(1, 5)) -> Counter[str]:
    """The facts of its two corpora of reworded updates whose superseded value is there after five rounds."""
    found: Counter[str] = Counter()
    for build in (build_semantic_session, build_semantic_heldout_session):
        for seed in seeds:
            session, canaries, _ = build(seed)
            run = run_conformance(session, Compactor(trim), rounds=5, canaries=canaries, budget_fraction=fraction)
            text = run.rounds[-1].context.text.lower()
            found.update(each.id for each in canaries if any(old.lower() in text for old in each.superseded_tokens))
    return found


def kept_of_generated(trim: Trim, fraction: float, *, seeds: range) -> tuple[float, int]:
    """Of sessions whose subjects and words change with the seed: the share kept after five rounds, and how many values
    are there that were superseded.
    """
    there = held = stale = 0
    for seed in seeds:
        session, canaries = build_generated_session(seed)
        run = run_conformance(session, Compactor(trim), rounds=5, canaries=canaries, budget_fraction=fraction)
        final = run.rounds[-1]
        held += sum(final.survived.values())
        there += len(canaries)
        text = final.context.text.lower()
        stale += sum(token.lower() in text for canary in canaries for token in canary.superseded_tokens)
    return held / there, stale
