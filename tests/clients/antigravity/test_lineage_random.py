"""Lineages of random folders, held against the rule read plainly: every record of every sibling, level by level."""

import random

import pytest

from rehydrate import scan
from rehydrate.clients.antigravity import layout, lineage
from rehydrate.scan import _pure
from tests.clients.antigravity.making import START_S, Home, line, record, row
from tests.helpers import NATIVE_MISSING

IMPLEMENTATIONS = [_pure]
if not NATIVE_MISSING:
    from rehydrate.scan import _rust

    IMPLEMENTATIONS.append(_rust)

WORLDS = 150
WORKSPACES = ("/w/one", "/w/two")


class World:
    """Conversations on disk, and what stands in them."""

    def __init__(self, folder, seed):
        self.seeded = random.Random(seed)
        self.home = Home(folder)
        self.records = {}
        self.rows = []
        names = [f"{number:02}" for number in range(16)]
        self.seeded.shuffle(names)
        start, chain = 0, []
        for _ in range(self.seeded.randint(1, 4)):  # a chain of forks, each of which may have gone on
            stop = start + self.seeded.randint(1, 6)
            chain.append(names.pop())
            self.add(chain[-1], start, stop + self.seeded.choice((0, 0, 1, 4)))
            start = stop
        for name in names[: self.seeded.randint(0, 12)]:  # and others that look much like it
            start = self.seeded.choice((0, 0, 0, 1, 3, 5))
            self.add(name, start, start + self.seeded.randint(0, 12))
        self.child = chain[-1]
        if self.seeded.random() < 0.4:
            for name in self.records:
                if self.seeded.random() < 0.3:
                    said = self.seeded.choice(("hello", "/fork", "/branch now"))
                    time_s = START_S + self.seeded.randint(0, 15)
                    self.rows.append(row(name, time_s, said, self.seeded.choice(WORKSPACES)))
            self.home.remember(*self.rows)

    def add(self, name, start, stop):
        """Steps `start..stop`, some missing, written twice or out of order; times ascend with the steps."""
        seeded = self.seeded
        late_s = seeded.choice((0, 0, 0, 0, 2, 30))
        made = []
        for step in range(start, stop):
            if seeded.random() < 0.1:
                continue
            time_s = START_S + step + late_s
            some = record(step, "X", "x" * seeded.choice((0, 50, 900)), time_s=time_s)
            if seeded.random() < 0.05:
                some["created_at"] = "some day"
            made += [some] * (2 if seeded.random() < 0.1 else 1)
        for at in range(len(made) - 1):
            if seeded.random() < 0.15:
                made[at], made[at + 1] = made[at + 1], made[at]
        self.records[name] = made
        kind = seeded.random()
        if kind < 0.7:
            self.home.write(name, made)
        elif kind < 0.8:
            self.home.write(name, made, name="transcript.jsonl")
        else:  # chunks that are cut anywhere; of some the flat file has only the end
            self.home.write_chunks(name, b"".join(map(line, made)), size=seeded.choice((100, 700, 10_000)))
            if kind < 0.85 and len(made) > 2 and made[0]["step_index"] < made[2]["step_index"]:
                self.home.write(name, made[2:])
            elif kind < 0.9:
                self.home.write(name, made)
        if kind > 0.97:
            self.records[name] = []
            for path in sorted(self.home.conversation(name).rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()

    def told(self):
        """The lineage by the rule: (session, first step, last step), oldest first; and whether it reaches a root."""
        child, found, seen = self.child, [], {self.child}
        (fork, start_s), last = self.begins(child), self.highest(child)
        found.append((child, fork, last))
        while fork is not None and fork > 0:
            of_child = self.workspaces(child)
            fits = [self.fit(name, fork, start_s, of_child) for name in self.records if name not in seen]
            best = min((fit for fit in fits if fit is not None), default=None)
            if best is None:
                return found, fork == 1
            child = best[-1]
            seen.add(child)
            found.insert(0, (child, self.begins(child)[0], fork - 1))
            fork, start_s = self.begins(child)
        return found, True

    def begins(self, name):
        """The smallest step among the first lines, and its time."""
        first = min(self.records[name][:16], key=lambda each: each["step_index"], default=None)
        return (None, None) if first is None else (first["step_index"], seconds(first))

    def highest(self, name):
        return max((each["step_index"] for each in self.records[name]), default=None)

    def workspaces(self, name):
        return {each["workspace"] for each in self.rows if each["conversationId"] == name}

    def fit(self, name, fork, start_s, of_child):
        """Smaller for a better parent; None for one that cannot be it."""
        made = self.records[name]
        held = max((each["step_index"] for each in made if each["step_index"] < fork), default=None)
        if held is None or fork - 1 - held > 2 or made[0]["step_index"] >= fork:
            return None
        time_s = seconds(next(each for each in reversed(made) if each["step_index"] == held))
        for began_s in (time_s, seconds(made[0])):  # what began after the child is no parent either
            if began_s is not None and start_s is not None and began_s > start_s + 5:
                return None
        forks = (
            each["timestamp"] / 1000
            for each in self.rows
            if each["conversationId"] == name and each["display"].startswith("/")
        )
        forked = any((time_s is None or at >= time_s - 5) and (start_s is None or at <= start_s + 5) for at in forks)
        gap_s = float("inf") if time_s is None or start_s is None else max(0, start_s - time_s)
        shares = not of_child.isdisjoint(self.workspaces(name))
        return not forked, not shares, held != fork - 1, self.highest(name) > held, gap_s, name


def seconds(made):
    return None if made["created_at"] == "some day" else lineage.records.time_of(made["created_at"])


@pytest.mark.parametrize("impl", IMPLEMENTATIONS, ids=lambda impl: impl.__name__.rpartition("_")[2])
def test_the_lineage_of_random_folders_is_that_of_the_rule(impl, tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "_chosen", impl)
    lengths = set()
    for seed in range(WORLDS):
        world = World(tmp_path / str(seed), seed)
        place = layout.place_of(str(world.home.conversation(world.child)))
        if place is None:
            continue
        found = lineage.trace(place)
        assert ([(s.session, s.min_step, s.max_step) for s in found.segments], found.complete) == world.told(), seed
        lengths.add(len(found.segments))
    assert {1, 2, 3, 4} <= lengths
