"""What a whole rehydration costs: from a conversation's place to its text, lineage, sections and masking included.

Each is made in an interpreter of its own: the time is that of the work, the memory that of the process.  The answer is
asserted before it is timed.
"""

import tempfile
from pathlib import Path

from benches.measure import ENOUGH_S, MB, best, count_lines, fresh, lapse, section, speed
from benches.transcript import SESSION, write_entries, write_transcript

ONCE = """
from rehydrate.clients import module
from rehydrate.serve import serve
from rehydrate.settings import Settings
client, path, requests = sys.argv[1:]
place = module(client, "layout").place_of(path)
started, began = most(), time.perf_counter()
served = serve(client, place, settings=Settings())
spent = time.perf_counter() - began
said = sum(turn.role == "user" for turn in served.conversation.turns)
assert served.boundary is not None and served.boundary.counts and said == int(requests), (said, requests)
assert "Request" in served.parts[0], served.parts[0][:500]
print(json.dumps([spent, most(), started, sum(map(len, served.parts))]))
"""
JUDGED_MB = 1_000
"""The size that the figures are asked for; it is measured natively only."""
CLIENTS = {"antigravity": write_transcript, "claude-code": write_entries}


def main() -> None:
    bench = section("rehydration", "A whole rehydration", __doc__)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for client, write in CLIENTS.items():
            if client == "antigravity":
                path = Path(folder, "app", "brain", SESSION, ".system_generated", "logs", "transcript_full.jsonl")
            else:
                path = Path(folder, "projects", "-srv-project", f"{SESSION}.jsonl")
            path.parent.mkdir(parents=True)
            for size in (10,) if bench.quick else (10, 100, JUDGED_MB):
                made = write(path, size * MB, checkpoint=True)
                for pure in (False, True) if size <= 100 else (False,):
                    runs = [fresh(ONCE, client, str(path), str(made.requests), pure=pure)]
                    while len(runs) < 3 and sum(run[0] for run in runs) < ENOUGH_S:
                        runs.append(fresh(ONCE, client, str(path), str(made.requests), pure=pure))
                    wc = best({"wc": lambda path=path: count_lines(path)}, 3)["wc"]
                    spent, peak, started, _ = min(runs)
                    memory = "" if peak is None else f"{peak / MB:.0f} MB ({started / MB:.0f} before)"
                    name = f"{client}, {size:,} MB, {'pure' if pure else 'native'}"
                    lines.append((name, lapse(spent), speed(made.size, spent), f"{spent / wc:.1f}", memory))
                    print(*lines[-1], sep="  ", flush=True)
                    if not pure and (size == JUDGED_MB or bench.quick):
                        bench.reach(f"whole-{client}", spent / wc, of=f"{size:,} MB")
                        if peak is not None:
                            bench.reach(f"whole-memory-{client}", peak / MB, of=f"{size:,} MB")
            path.unlink()
    bench.table("For the newest boundary", ("", "time", "speed", "x `wc -l`", "peak of the process"), lines)
    bench.keep()


if __name__ == "__main__":
    main()
