"""Random conversations cut to half and to a tenth of their tokens, by ours and by what other people's libraries have.

    python -m benches.context [--conversations 300]

Who judges is not ours: tests/context/harness says by the providers' documented rules what is invalid, counts, and
looks for what the user asked last.  Every engine counts texts with the same counter and gets the same budget.  Facts
are those of compaction-conformance-kit after five rounds; of an engine that asks a model for its summary they would be
the model's, and are not measured.  The table is printed and written to benches/CONTEXT.md; the exit status is 1 where
ours is not 0 / 0 / 0.
"""

import argparse
import gc
import platform
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benches.context_engines import ENGINES, Engine, Ours
from rehydrate.context.tokens import default_counter
from tests.context.harness.made import Conversation, conversation
from tests.context.harness.measures import request_kept, tokens
from tests.context.harness.rules import faults
from tests.context.harness.written import written

TABLE = Path(__file__).with_name("CONTEXT.md")
FRACTIONS = (0.5, 0.1)
WRONG = ("invalid", "over budget", "lost", "gave up")
KIT_BUDGETS = (0.10, 0.20, 0.30)
TIMED = 12
"""Conversations of about 200 messages that are timed, each the best of five."""
HELD = 200
"""Tokens beside a request, up to which an engine may cut it that could have kept it whole."""

counter = default_counter()
count = lru_cache(maxsize=None)(counter.count)


def size(messages: Sequence[dict[str, Any]]) -> int:
    return tokens(messages, "openai-chat", count)


def judged(engine: Engine, conversations: Sequence[Conversation], fraction: float) -> Counter[str]:
    """How many of what it made are wrong, by what is wrong with them."""
    wrong: Counter[str] = Counter()
    for made in conversations:
        wire = written(made, "openai-chat")
        budget = int(size(wire) * fraction)
        try:
            left = engine.chat(engine.cut(engine.load(wire), budget))
        except Exception as error:  # whatever it is: there is nothing that could be sent
            wrong["gave up"] += 1
            wrong[f"gave up: {type(error).__name__}"] += 1
            continue
        wrong["invalid"] += bool(faults(left, "openai-chat"))
        wrong["over budget"] += size(left) > budget
        kept = request_kept(left, "openai-chat", made.last_request)
        least = size(wire[:1]) + size([{"role": "user", "content": made.last_request}]) + HELD
        wrong["lost"] += kept == "lost" or (kept == "cut" and least <= budget)
    return wrong


def milliseconds(engine: Engine, fraction: float) -> float:
    """Of the processor's time for a call, the median of conversations; every text was counted before."""
    found = []
    for seed in range(TIMED):
        wire = written(conversation(seed, messages=200), "openai-chat")
        budget = int(size(wire) * fraction)
        runs = []
        for _ in range(5):
            loaded = engine.load(wire)
            gc.disable()  # what else is in the memory of this process is nobody's cost
            began = time.process_time()
            try:
                engine.cut(loaded, budget)
            except Exception:
                break
            finally:
                took = time.process_time() - began
                gc.enable()
            runs.append(took)
        found += [min(runs)] if runs else []
    return 1000 * median(found) if found else float("nan")


def facts(kind: type[Engine]) -> str:
    """Per cent of the facts that are kept at budgets of 10, 20 and 30 %, and stale values."""
    if kind.asks_model:
        return "its model's"
    if not find_spec("compaction_kit"):
        return "not measured"
    from tests.context.harness import kit

    engine = kind(len, lambda messages: tokens(messages, "openai-chat", len))
    try:
        found = kit.kept(lambda messages, budget: engine.chat(engine.cut(engine.load(messages), budget)))
    except Exception as error:
        return f"gave up: {type(error).__name__}"
    shares = " / ".join(f"{100 * found[each]['randomized']['overall_final_survival']:.0f}" for each in KIT_BUDGETS)
    stale = sum(
        found[each]["randomized"]["supersession"]["stale"] + found[each]["semantic"]["conflicts"]["stale"]
        for each in KIT_BUDGETS
    )
    return f"{shares}, {stale} stale"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--conversations", type=int, default=300)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    conversations = [conversation(seed) for seed in range(args.conversations)]
    rows, versions, good = [], [], True
    for kind in ENGINES:
        try:
            versions.append(f"{kind.package} {version(kind.package)}")
        except PackageNotFoundError:
            print(f"{kind.package} is not here and not measured", file=sys.stderr)
            continue
        engine = kind(count, size)
        kept = facts(kind)
        for fraction in FRACTIONS:
            wrong = judged(engine, conversations, fraction)
            if kind is Ours and any(wrong.values()):
                good = False
            shares = [
                f"{100 * wrong[what] / len(conversations):.1f}"
                for what in ("invalid", "over budget", "lost", "gave up")
            ]
            rows.append([kind.name, f"{fraction:.0%}", *shares, f"{milliseconds(engine, fraction):.1f}", kept])
            print(*rows[-1], sep=" | ", flush=True)
    TABLE.write_text(text(rows, versions, len(conversations)), encoding="utf-8")
    if not good:
        sys.exit("ours is not 0 / 0 / 0")


def text(rows: Sequence[Sequence[str]], versions: Sequence[str], conversations: int) -> str:
    titles = (
        "engine", "budget", "invalid %", "over budget %", "last request lost %", "gave up %",
        "ms a call, 200 messages", "facts kept % at 10 / 20 / 30 %",
    )  # fmt: skip
    table = [titles, ["---", *["---:"] * 6, "---"], *rows]
    lines = "\n".join("| " + " | ".join(row) + " |" for row in table)
    return f"""# What compactions leave

By `make bench-context`, {time.strftime("%Y-%m-%d", time.gmtime())}: {conversations} random conversations of 20 to 200
messages in OpenAI's chat form, cut to a share of their tokens, and judged by rules that are written from the providers'
documentation (tests/context/harness), not with the library. Every engine counts with the same counter
({counter.name}) and is used as its documentation says (benches/context_engines.py). One that gave up left nothing that
could be sent. A request that was cut counts as lost where it would have fitted whole. Time is the processor's, of a
call with every text counted before. Facts are those of compaction-conformance-kit after five rounds, and stale values
of all its corpora; of an engine that asks a model they would be the model's.

- Versions: Python {platform.python_version()}, {", ".join(dict.fromkeys(versions))}

{lines}
"""


if __name__ == "__main__":
    main()
