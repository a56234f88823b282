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

    # -- one record ---------------------------------------------------------------------------------------------------

    def is_boundary(self, at):
        return self.records[at].get("subtype") == "compact_boundary"

    def is_aside(self, at):
        return self.records[at].get("isSidechain") is True

    def is_spoken(self, at):
        record = self.records[at]
        return record["type"] in ("user", "assistant") and not record.get("isMeta")

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
        done = {self.named(at, "logicalParentUuid") for at in self.boundaries if at not in ends}
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
        """(anchor, entries, what is followed by each that is moved)."""
        said = self.records[boundary].get("compactMetadata", {})
        listed = said.get("preservedMessages", {})
        uuids = listed.get("uuids", [])
        if uuids and all(uuid in self.first for uuid in uuids):
            found = self._placed(boundary, listed, [self.first[uuid] for uuid in uuids])
            if found:
                return found
        segment = said.get("preservedSegment", {})
        head, at = self.first.get(segment.get("headUuid")), self.first.get(segment.get("tailUuid"))
        way = []
        while at is not None and at not in way and at != boundary:
            way.append(at)
            if at == head:
                return self._placed(boundary, segment, way[::-1]) or (None, [], {})
            at = self.named(at, "parentUuid")
        return None, [], {}

    def _placed(self, boundary, said, kept):
        anchor = self.first.get(said.get("anchorUuid"))
        if anchor is None or boundary in kept or len(set(kept)) < len(kept):
            return None
        at, seen = anchor, set()
        while at != boundary:
            if at is None or at in seen or at in kept:
                return None
            seen.add(at)
            at = self.named(at, "parentUuid")
        follows = {at: before for at, before in zip(kept, [anchor, *kept], strict=False)}
        for at in self.entries:
            moves = at not in kept and not self.is_aside(at) and at not in self.retracted and at != anchor
            if moves and self._comes_from(at, anchor):
                follows[at] = kept[-1]
        return anchor, kept, follows

    def _comes_from(self, at, above):
        """Whether nothing but what was taken back, and is not a subagent's, stands between the two."""
        seen = {at}
        at = self.named(at, "parentUuid")
        while at in self.retracted and at not in seen and at != above and not self.is_aside(at):
            seen.add(at)
            at = self.named(at, "parentUuid")
        return at == above

    # -- the line of descent ------------------------------------------------------------------------------------------

    def walk(self, tip, *, follows=None, stop=False):
        """(entries oldest first, gaps newest first)."""
        follows = follows or {}
        taken, gaps, resumed = [], [], {}
        at = tip
        while at is not None:
            taken.append(at)
            if stop and at in self.boundaries:
                break
            at = self._before(at, taken, gaps, resumed, follows)
        return taken[::-1], gaps

    def _before(self, at, taken, gaps, resumed, follows):
        def stitched(why):
            gaps.append((at, why))
            return self._previous(at, taken)

        def unseen(parent):
            return stitched("circle") if parent in taken else parent

        if at in follows:
            return unseen(follows[at])
        if at in self.boundaries:
            return self._before_boundary(at, taken, resumed)
        parent = self.named(at, "parentUuid")
        if parent is None:
            return None if self.records[at].get("parentUuid") is None else stitched("missing")
        crossed = [mark for mark in self.boundaries if parent < mark < at and mark not in taken]
        if not crossed or parent in follows:
            return unseen(parent)
        anchor, kept, _ = self.preserved(crossed[-1])
        if parent in kept and anchor not in taken:
            resumed[crossed[-1]] = parent
            return anchor
        return unseen(parent) if self.is_word_of_the_user(at) else stitched("bypass")

    def _before_boundary(self, at, taken, resumed):
        named = resumed.get(at, self.named(at, "logicalParentUuid"))
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
        for boundary in reversed(self.boundaries):
            anchor, kept, follows = self.preserved(boundary)
            chain, _ = self.walk(kept[-1] if tip == anchor else tip, follows=follows, stop=True)
            if chain[0] == boundary:
                return self._without(chain, snipped=True), boundary
            if chain[0] not in self.boundaries:
                break
        return self._without(self.walk(tip)[0], snipped=True), None
