"""The views of a session by the letter of the rules: slow, plain, and without anything of the package.

A record is named by its place in the list.  Answers of one record each, and no tools: what stands beside the line of
descent is tried elsewhere.
"""


class Naive:
    """The rules for a list of records."""

    def __init__(self, records):
        self.records = records
        self.first = {}
        for at, record in enumerate(records):
            if isinstance(record.get("uuid"), str):
                self.first.setdefault(record["uuid"], at)
        self.entries = sorted(self.first.values())
        self.retracted = {
            self.first[record["targetUuid"]]
            for record in records
            if record["type"] == "tombstone" and record["targetUuid"] in self.first
        } - {at for at in self.entries if self.is_boundary(at)}
        self.boundaries = [at for at in self.entries if self.is_boundary(at) and not self.is_aside(at)]
        self.telling = {at for at in self.boundaries if self._tells(at)}

    # -- one record ---------------------------------------------------------------------------------------------------

    def is_boundary(self, at):
        return self.records[at].get("subtype") == "compact_boundary"

    def is_aside(self, at):
        return self.records[at].get("isSidechain") is True

    def _tells(self, boundary):
        """Whether the summary is in the boundary and nowhere behind it."""
        behind = (at for at in self.entries if self.named(at, "parentUuid") == boundary)
        said = [self.records[at] for at in behind if self.records[at]["type"] == "user"]
        return bool(self.records[boundary].get("summary")) and not any(each.get("isCompactSummary") for each in said)

    def _tells_itself(self, boundary):
        """Whether the boundary holds the summary, and no entry behind it with that was taken back."""
        behind = (at for at in self.retracted if self.named(at, "parentUuid") == boundary)
        said = [self.records[at] for at in behind if self.records[at]["type"] == "user"]
        return bool(self.records[boundary].get("summary")) and not any(each.get("isCompactSummary") for each in said)

    def is_spoken(self, at):
        record = self.records[at]
        return at in self.telling or (record["type"] in ("user", "assistant") and not record.get("isMeta"))

    def is_word_of_the_user(self, at):
        record = self.records[at]
        return record["type"] == "user" and not record.get("isMeta") and not record.get("isCompactSummary")

    def named(self, at, member):
        return self.first.get(self.records[at].get(member))

    def parent(self, at):
        """The parent, past those that were taken back, but for a subagent's."""
        seen, parent = {at}, self.named(at, "parentUuid")
        while parent in self.retracted and not self.is_aside(parent):
            if parent in seen:
                return None
            seen.add(parent)
            parent = self.named(parent, "parentUuid")
        return parent

    # -- where it ends ------------------------------------------------------------------------------------------------

    def live(self):
        return [at for at in self.entries if not self.is_aside(at) and at not in self.retracted]

    def leaves(self):
        """Those that nothing follows, and that no compaction came after that something follows."""
        ends = self.childless()
        done = set()
        for _ in self.boundaries:
            done = {self.named(at, "logicalParentUuid") for at in self.boundaries if at not in ends or at in done}
        return [at for at in ends if at not in done]

    def childless(self):
        """Those that nothing follows."""
        followed = {self.parent(at) for at in self.live() if self.parent(at) != at}
        return [at for at in self.live() if at not in followed]

    def leaf(self):
        """The childless entry whose last word is the last of all in the file."""
        ours = self.live()
        parents = {at: self.parent(at) for at in ours}
        best = None
        for end in self.childless():
            at, seen = end, set()
            while at in parents and at not in seen and not self.is_spoken(at):
                seen.add(at)
                at = parents[at]
            if at in parents and self.is_spoken(at):
                best = max(best or (-1, -1), (at, end))
        if best:
            return best[1]
        spoken = [at for at in ours if self.is_spoken(at)]
        return max(spoken or ours, default=None)

    # -- what a compaction kept ---------------------------------------------------------------------------------------

    def preserved(self, boundary):
        """(anchor, entries)."""
        said = self.records[boundary].get("compactMetadata", {})
        listed = said.get("preservedMessages", {})
        uuids = listed.get("uuids", [])
        if uuids and all(uuid in self.first for uuid in uuids):
            kept = [self.first[uuid] for uuid in uuids]
            anchor = self._anchor(boundary, listed, kept)
            if anchor is not None:
                return anchor, kept
        segment = said.get("preservedSegment", {})
        head, at = self.first.get(segment.get("headUuid")), self.first.get(segment.get("tailUuid"))
        way = []
        while at is not None and at not in way and at != boundary:
            way.append(at)
            if at == head:
                anchor = self._anchor(boundary, segment, way)
                return (None, []) if anchor is None else (anchor, way[::-1])
            at = self.named(at, "parentUuid")
        return None, []

    def _anchor(self, boundary, said, kept):
        """The entry behind which they stand; None where what is said does not hold."""
        anchor = self.first.get(said.get("anchorUuid"), boundary if boundary in self.telling else None)
        if anchor is None or boundary in kept or len(set(kept)) < len(kept):
            return None
        way = self._up(anchor, boundary)
        return anchor if way and not set(way) & set(kept) else None

    def _up(self, at, boundary):
        """From an entry to the boundary that it comes from; empty when it comes from elsewhere."""
        way = [at]
        while way[-1] != boundary:
            parent = self.named(way[-1], "parentUuid")
            if parent is None or parent in way:
                return []
            way.append(parent)
        return way

    # -- the line of descent ------------------------------------------------------------------------------------------

    def walk(self, tip, *, stop=False):
        """(entries oldest first, gaps newest first, boundary -> what it kept that the conversation went on from)."""
        taken, gaps, resumed = [], [], {}
        at = tip
        while at is not None:
            taken.append(at)
            if stop and at in self.boundaries:
                break
            at = self._before(at, taken, gaps, resumed)
        return taken[::-1], gaps, resumed

    def _before(self, at, taken, gaps, resumed):
        def stitched(why):
            gaps.append((at, why))
            return self._previous(at, taken)

        if at in self.boundaries:
            return self._before_boundary(at, taken, resumed)
        parent = self.named(at, "parentUuid")
        above = -1 if parent is None else parent
        crossed = [mark for mark in self.boundaries if above < mark < at and mark not in taken][::-1]
        if not (parent is not None and self.is_word_of_the_user(at)):
            crossed = crossed[:1]
        for number, mark in enumerate(crossed):
            anchor, kept = self.preserved(mark)
            if anchor is None or anchor in taken:
                continue
            if at in kept and (number == 0 or parent in kept):
                before = kept[kept.index(at) - 1] if kept[0] != at else anchor
                return before if before > mark and before not in taken else anchor
            if parent in kept:
                resumed[mark] = parent
                return anchor
        if parent is None:
            return None if self.records[at].get("parentUuid") is None else stitched("missing")
        if crossed and not self.is_word_of_the_user(at):
            return stitched("bypass")
        return stitched("circle") if parent in taken else parent

    def _before_boundary(self, at, taken, resumed):
        named = resumed.get(at, self.named(at, "logicalParentUuid"))
        record = self.records[at]
        is_first = "summary" in record and "logicalParentUuid" in record and record["logicalParentUuid"] is None
        if named is None and is_first:
            return None
        if named is not None and named not in taken and not self.is_aside(named):
            return named
        end = Naive(self.records[:at]).leaf()
        return end if end is not None and end not in taken else self._previous(at, taken)

    def _previous(self, at, taken):
        fit = [each for each in self.entries if each < at and each not in taken and not self.is_aside(each)]
        return max(fit, default=None)

    # -- views --------------------------------------------------------------------------------------------------------

    def _without(self, chain, *, snipped):
        gone = set(self.retracted)
        if snipped:
            for at in chain:
                if at not in self.retracted:
                    gone |= {self.first.get(uuid) for uuid in self.records[at].get("removedUuids", ())}
        return [at for at in chain if at not in gone and self.records[at]["type"] != "progress"]

    def scrollback(self, tip):
        if tip is None:
            return []
        return self._without(self.walk(tip)[0], snipped=False)

    def active(self, tip):
        """(entries, the boundary that they begin with)."""
        if tip is None:
            return [], None
        chain, _, resumed = self.walk(tip, stop=True)
        boundary = chain[0]
        if boundary not in self.boundaries:
            return self._without(chain, snipped=True), None
        anchor, kept = self.preserved(boundary)
        if set(chain) & set(kept):  # they were copied behind the summary
            last = [at for at in chain if at in kept][-1]
            before = [*self._up(anchor, boundary)[::-1], *kept[: kept.index(last) + 1]]
            chain = before + chain[chain.index(last) + 1 :]
        elif anchor in chain:
            place = chain.index(anchor) + 1
            end = kept.index(resumed[boundary]) + 1 if boundary in resumed else len(kept)
            chain = chain[:place] + kept[:end] + chain[place:]
        elif anchor is not None and self._tells_itself(boundary):
            chain = chain[:1] + kept + chain[1:]
        return self._without(chain, snipped=True), boundary
