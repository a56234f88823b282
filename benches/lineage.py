"""What finding the ancestors of a fork costs: three hops up, among other conversations that have nothing to do with it.

Without a hint of any kind, so that every sibling has to be considered.  In one process, each walk anew; the answer is
asserted before it is timed.
"""

import json
import shutil
import tempfile
from pathlib import Path

from benches.folders import write_brain
from benches.measure import fresh, lapse, section

WALK = """
from rehydrate.clients.antigravity import layout, lineage
place = layout.place_of(sys.argv[1])
wanted = [tuple(each) for each in json.loads(sys.argv[2])]
spent = []
for _ in range(int(sys.argv[3])):
    began, worked = time.perf_counter(), time.process_time()
    found = lineage.trace(place)
    spent.append((time.perf_counter() - began, time.process_time() - worked))
    assert found.complete and [(each.session, each.min_step, each.max_step) for each in found.segments] == wanted
print(json.dumps(min(spent)))
"""
JUDGED = 10_000
"""Siblings that the figures are asked for."""


def main() -> None:
    bench = section("lineage", "The ancestors of a fork", __doc__)
    lines = []
    for siblings in (10, 100, 1_000) if bench.quick else (10, 100, 1_000, 10_000, 100_000):
        folder = tempfile.mkdtemp()
        try:
            chain = write_brain(Path(folder, "antigravity-cli"), siblings)
            wanted = json.dumps(chain.segments)
            row = [f"{siblings:,} siblings"]
            for pure in (False, True):
                wall, cpu = fresh(WALK, str(chain.path), wanted, "5" if siblings <= 10_000 else "2", pure=pure)
                row += [lapse(wall), lapse(cpu)]
                if siblings == JUDGED or bench.quick:
                    bench.reach("lineage-pure" if pure else "lineage", wall * 1e3, of=f"{siblings:,} siblings")
            lines.append(tuple(row))
        finally:
            shutil.rmtree(folder)
    columns = ("", "native", "its CPU", "pure", "its CPU")
    bench.table("Antigravity, 3 hops, no hint", columns, lines)
    bench.keep()


if __name__ == "__main__":
    main()
