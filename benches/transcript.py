"""Writes transcripts of any size as Antigravity and as Claude Code do; the same seed gives the same bytes.

Mean line 5 KB, log-normal, some of 1 MB; 0.4 % boundaries, 0.6 % requests; ASCII and CJK; one record in ten has its
members in another order.  The texts are cut from a block that is made once, so 1 GB takes seconds.
"""

import json
import random
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

BOUNDARY_EVERY = 250
"""Lines from one boundary to the next, give or take JITTER: a second one close by would halve a rehydration."""
JITTER = 100
REQUESTS, LATE = 0.006, 0.08
"""Shares of all records: requests, and those written as RUNNING first and as DONE later."""
COLOURED, HUGE = 0.01, 1 / 10_000
"""Shares of all results: with an escape sequence of a terminal, which JSON writes as `\\u001b`; of 1 MB."""
REORDERED = 0.1
"""Share of the records whose members stand in another order than the client's, unless a caller wants none."""
LONGEST = 1_000_000
BLOCK_BYTES = 1 << 20
WORDS = ("parse", "token", "reads", "builds", "汉字", "これは", "x = 1;", "\n", "\n    ", '"name"', "\t", "a\\nb", "->")
WEIGHTS = (9, 9, 9, 12, 2, 1, 9, 7, 5, 3, 1, 1, 3)
SESSION = "c0ffee00-0000-4000-8000-000000000000"
REST = (b'"userType":"external","entrypoint":"cli","cwd":"/srv/project","sessionId":"%s","version":"2.1.332",'
        b'"gitBranch":"main","timestamp":"2026-03-01T10:%02d:%02d.000Z"')  # fmt: skip


@dataclass
class Written:
    """What a transcript holds, for a reader to be held against."""

    size: int = 0
    lines: int = 0
    last: "int | str | None" = None
    """Highest step; uuid of the last entry."""
    requests: int = 0
    answers: int = 0
    """Records of type PLANNER_RESPONSE."""
    boundaries: "list[tuple[int | str, int, int]]" = field(default_factory=list)
    """Step or uuid, offset and length of each."""
    rows: "list[tuple[str | None, str | None, str | None, int, int]]" = field(default_factory=list)
    """Of Claude Code's: uuid, parent, type, offset and length of each record."""


class Text:
    """Text as it stands between the quotes of JSON; cut at words only, so that a piece is never half an escape."""

    def __init__(self, seeded: random.Random, filler: str = "") -> None:
        if filler:
            pieces = [json.dumps(line + "\n", ensure_ascii=False)[1:-1].encode() for line in filler.split("\n")]
            pieces *= -(-BLOCK_BYTES // sum(map(len, pieces)))
        else:
            words = [json.dumps(word, ensure_ascii=False)[1:-1].encode() + b" " for word in WORDS]
            pieces = seeded.choices(words, WEIGHTS, k=BLOCK_BYTES // 7)
        self._cuts = [0, *accumulate(map(len, pieces))]
        self._block = self._cuts[-1]
        # The longest text may begin at the block's last word.
        self._bytes = b"".join(pieces) * (2 + LONGEST // self._block)
        self._seeded = seeded

    def cut(self, length: int) -> bytes:
        """About so many bytes."""
        start = self._cuts[int(self._seeded.random() * len(self._cuts)) - 1]
        rounds, rest = divmod(start + length, self._block)
        return self._bytes[start : rounds * self._block + self._cuts[bisect_left(self._cuts, rest)]]

    def draw(self, mu: float, sigma: float = 1.4) -> bytes:
        """Log-normal, some of 1 MB, some with colours."""
        huge = self._seeded.random() < HUGE
        text = self.cut(LONGEST if huge else min(int(self._seeded.lognormvariate(mu, sigma)), LONGEST))
        return b"\\u001b[1m" + text if self._seeded.random() < COLOURED else text


class Boundaries:
    """Says after how many lines the next boundary comes; none at the end, where the one is that was asked for."""

    def __init__(self, seeded: random.Random, size: int) -> None:
        self._seeded, self._end = seeded, size - 300_000
        self._next = self._gap()

    def _gap(self) -> int:
        return BOUNDARY_EVERY + self._seeded.randint(-JITTER, JITTER)

    def due(self, line: int, written: int) -> bool:
        if line < self._next or written > self._end:
            return False
        self._next = line + self._gap()
        return True


# -- Antigravity ------------------------------------------------------------------------------------------------------


def write_transcript(
    path: Path,
    size: int,
    *,
    seed: int = 1,
    ascending: bool = False,
    reordered: float = REORDERED,
    checkpoint: bool = False,
    filler: str = "",
) -> Written:
    """Write at least `size` bytes of steps, as Antigravity does.

    `ascending`: in the order of the steps; else in the order in which they ended, with RUNNING before DONE.
    `reordered`: the share of records whose members stand in another order.
    `checkpoint`: a boundary is the last record.  `filler`: what the texts are cut from.
    """
    seeded = random.Random(seed)
    text, boundaries, made = Text(seeded, filler), Boundaries(seeded, size), Written()
    late: list[tuple[int, bytes]] = []
    step = 0
    with open(path, "wb", buffering=1 << 20) as file:

        def put(line: bytes) -> None:
            file.write(line)
            made.size += len(line)
            made.lines += 1

        def mark() -> None:
            body = b"# Resuming from a compaction\\n\\n" + text.cut(2_000)
            line = _step(step, b"SYSTEM", b"CHECKPOINT", b"DONE", b'"content":"%s"' % body)
            made.boundaries.append((step, made.size, len(line) - 1))
            put(line)

        while made.size < size:
            if late and late[0][0] <= step:
                put(late.pop(0)[1])
            elif boundaries.due(made.lines, made.size):
                mark()
                step += 1
            else:
                source, kind, body = _draw(seeded, step, text)
                made.requests += kind == b"USER_INPUT"
                line = _step(step, source, kind, b"DONE", body, reordered=seeded.random() < reordered)
                if not ascending and source == b"MODEL" and seeded.random() < LATE:
                    put(_step(step, source, kind, b"RUNNING", b'"content":""'))
                    late.append((step + seeded.randint(2, 4), line))
                    late.sort()
                    made.answers += kind == b"PLANNER_RESPONSE"
                else:
                    put(line)
                made.answers += kind == b"PLANNER_RESPONSE"
                step += 1
        for _, line in late:
            put(line)
        if checkpoint:
            mark()
            step += 1
    made.last = step - 1
    return made


def _draw(seeded: random.Random, step: int, text: Text) -> tuple[bytes, bytes, bytes]:
    """Source, type and body of the next step."""
    draw = seeded.random()
    if draw < REQUESTS or step == 0:
        said = text.cut(min(int(seeded.lognormvariate(6, 1)), 8_000))
        body = b'"content":"<USER_REQUEST>\\nRequest at step %d: %s\\n</USER_REQUEST>"' % (step, said)
        return b"USER_EXPLICIT", b"USER_INPUT", body
    if draw < 0.4:
        said = text.cut(int(seeded.random() * 1_500)) if draw < 0.2 else b""
        number = int(draw * 1_000)
        if number % 2:
            call = b'{"name":"run_command","args":{"CommandLine":"make part-%d"}}' % number
        else:
            call = b'{"name":"view_file","args":{"AbsolutePath":"/srv/project/src/part_%d.py"}}' % number
        return b"MODEL", b"PLANNER_RESPONSE", b'"content":"%s","tool_calls":[%s]' % (said, call)
    kind = b"RUN_COMMAND" if draw < 0.7 else b"VIEW_FILE"
    return b"MODEL", kind, b'"content":"%s"' % text.draw(8.05)


def _step(step: int, source: bytes, kind: bytes, status: bytes, body: bytes, *, reordered: bool = False) -> bytes:
    time = b"2026-03-01T%02d:%02d:%02dZ" % (10 + step // 3600 % 12, step // 60 % 60, step % 60)
    if reordered:
        form = b'{"created_at":"%s",%s,"source":"%s","status":"%s","step_index":%d,"type":"%s"}\n'
        return form % (time, body, source, status, step, kind)
    form = b'{"step_index":%d,"source":"%s","type":"%s","status":"%s","created_at":"%s",%s}\n'
    return form % (step, source, kind, status, time, body)


# -- Claude Code ------------------------------------------------------------------------------------------------------


def write_entries(path: Path, size: int, *, seed: int = 1, session: str = SESSION, checkpoint: bool = False) -> Written:
    """Write at least `size` bytes of entries, as Claude Code does; one line of descent, each following the one before.

    `checkpoint`: a boundary and its summary are the last entries.
    """
    seeded = random.Random(seed)
    writer = _Entries(seeded, Text(seeded), session)
    boundaries = Boundaries(seeded, size)
    with open(path, "wb", buffering=1 << 20) as writer.file:
        writer.request()
        while writer.made.size < size:
            if boundaries.due(writer.made.lines, writer.made.size):
                writer.compact()
            elif seeded.random() < REQUESTS * 2:  # what follows is two lines
                writer.request()
            else:
                writer.turn()
        if checkpoint:
            writer.compact()
    return writer.made


class _Entries:
    def __init__(self, seeded: random.Random, text: Text, session: str) -> None:
        self.file = None
        self.made = Written()
        self._seeded, self._text, self._session = seeded, text, session.encode()
        self._last: str | None = None

    def request(self) -> None:
        said = b"Request %d: %s" % (
            self.made.requests,
            self._text.cut(min(int(self._seeded.lognormvariate(6, 1)), 8_000)),
        )
        self._entry("user", b'"message":{"role":"user","content":"%s"}' % said)
        self.made.requests += 1

    def turn(self) -> None:
        """A call and its result, some records beside."""
        seeded = self._seeded
        call = b"toolu_%016x" % seeded.getrandbits(64)
        if seeded.random() < 0.5:
            block = b'{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"make","description":"%s"}}'
            block %= (call, self._text.cut(int(seeded.lognormvariate(6, 1))))
        else:
            block = b'{"type":"tool_use","id":"%s","name":"Read","input":{"file_path":"/srv/project/src/part_%d.py"}}'
            block %= (call, seeded.randrange(400))
        if seeded.random() < 0.3:
            block = b'{"type":"text","text":"%s"},%s' % (self._text.cut(int(seeded.random() * 1_500)), block)
        message = b'"message":{"model":"claude","id":"msg_%016x","type":"message","role":"assistant","content":[%s],' \
                  b'"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":4,"cache_read_input_tokens":90' \
                  b'210,"output_tokens":311,"service_tier":"standard"}},"requestId":"req_1"'  # fmt: skip
        self._entry("assistant", message % (seeded.getrandbits(64), block))
        if seeded.random() < 0.1:
            form = b'{"type":"file-history-snapshot","messageId":"%s","snapshot":{"trackedFileBackups":{}}}\n'
            self._put((None, None, "file-history-snapshot"), form % self._uuid().encode())
        output = self._text.draw(7.4)
        form = b'"message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":"%s",' \
               b'"is_error":false}]},"toolUseResult":{"stdout":"%s","stderr":"","interrupted":false}'  # fmt: skip
        self._entry("user", form % (call, output, output))

    def compact(self) -> None:
        before, self._last = self._last or "", None
        form = b'"subtype":"compact_boundary","content":"compacted","logicalParentUuid":"%s",' \
               b'"compactMetadata":{"trigger":"auto","preTokens":150000}'  # fmt: skip
        line, at = self._entry("system", form % before.encode())
        self.made.boundaries.append((self._last or "", at, line - 1))
        form = b'"isCompactSummary":true,"message":{"role":"user","content":"%s"}'
        self._entry("user", form % self._text.cut(6_000))

    def _entry(self, kind: str, body: bytes) -> tuple[int, int]:
        parent, self._last = self._last, self._uuid()
        seconds = self.made.lines % 3_600
        rest = REST % (self._session, *divmod(seconds, 60))
        names = (b'"%s"' % parent.encode() if parent else b"null", self._last.encode(), kind.encode())
        if self._seeded.random() < REORDERED:
            form = b'{"type":"%s","uuid":"%s","parentUuid":%s,%s,"isSidechain":false,%s}\n'
            line = form % (names[2], names[1], names[0], rest, body)
        else:
            form = b'{"parentUuid":%s,"isSidechain":false,%s,"type":"%s","uuid":"%s",%s}\n'
            line = form % (names[0], body, names[2], names[1], rest)
        self.made.last = self._last
        return len(line), self._put((self._last, parent, kind), line)

    def _put(self, names: "tuple[str | None, str | None, str]", line: bytes) -> int:
        at = self.made.size
        self.file.write(line)
        self.made.rows.append((*names, at, len(line) - 1))
        self.made.size += len(line)
        self.made.lines += 1
        return at

    def _uuid(self) -> str:
        digits = f"{self._seeded.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
