"""How much of a session stands in what is put back after a compaction: planted facts, by family and age.

    python benches/fidelity.py [--values 3] [--each 1] [--seeds 5]

No client and no model is run: the session is read as a client would read it, and what the values hold is counted, after
a compaction at two thirds of the session and after a second one at its end.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import mean

from planted import AGES, FAMILIES, Fact, Session, records, session

from rehydrate.clients.claude_code import layout
from rehydrate.serve import END, serve
from rehydrate.settings import Settings

NAME = "00000000-0000-4000-8000-000000000000"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=3, help="values of a delivery")
    parser.add_argument("--each", type=int, default=1, help="facts planted in a round")
    parser.add_argument("--seeds", type=int, default=5, help="sessions that are made")
    parser.add_argument("--lost", action="store_true", help="name the facts that were lost")
    args = parser.parse_args()
    made = [session(seed=seed, each=args.each) for seed in range(1, args.seeds + 1)]
    for name, share in (("first compaction, after 40 of 60 requests", 40), ("second, after all 60", 60)):
        rows = [measure(each, share, args.values) for each in made]
        table(name, rows)
        if args.lost:
            for fact in [fact for facts, lost, _ in rows for fact in lost]:
                print("   lost", fact.family, fact.age, repr(fact.text))


def measure(made: Session, rounds: int, values: int) -> tuple[list[Fact], list[Fact], int]:
    """The facts of so many rounds, those that are lost, and the units of the values."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "projects" / "-home-user-project" / f"{NAME}.jsonl"
        path.parent.mkdir(parents=True)
        rows = records(made, rounds, name=NAME)
        path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
        place = layout.place_of(str(path))
        texts = serve("claude-code", place, at=END, settings=Settings(values=values)).parts
    assert all(len(text.encode("utf-16-le")) // 2 <= 9_500 for text in texts)
    joined = "\n".join(texts)
    facts = [fact for fact in made.facts if made.planted_in[fact.text] < rounds]
    return facts, [fact for fact in facts if fact.text not in joined], len(joined)


def table(name: str, rows: list[tuple[list[Fact], list[Fact], int]]) -> None:
    print(f"\n{name}: {mean(size for _, _, size in rows):,.0f} units")
    print(f"{'':12}" + "".join(f"{age:>9}" for age in (*AGES, "all")))
    facts = [fact for each, _, _ in rows for fact in each]
    lost = [fact for _, each, _ in rows for fact in each]
    for family in (*FAMILIES, "all"):
        cells = []
        for age in (*AGES, "all"):
            total = sum(family in (f.family, "all") and age in (f.age, "all") for f in facts)
            gone = sum(family in (f.family, "all") and age in (f.age, "all") for f in lost)
            cells.append(f"{(total - gone) / total:9.0%}" if total else f"{'':9}")
        print(f"{family:12}" + "".join(cells))


if __name__ == "__main__":
    main()
