"""What the hot paths are to reach: ratios in one run, page cache warm, on a machine of two cores."""

from typing import NamedTuple


class Target(NamedTuple):
    """One figure."""

    path: str
    figure: str
    """As it is asked for, in words."""
    most: float
    unit: str
    reason: str = ""
    """Why it is not reached, where it is not: what the time goes into, or the floor."""


WC = "x `wc -l`"
TARGETS = {
    "scan": Target(
        "`scan_tail` of a whole file, native",
        "≤ 1.1 × `wc -l`",
        1.1,
        WC,
    ),
    "scan-memory": Target("`scan_tail` of a whole file, native: growth of memory", "< 2 MB", 2, "MB"),
    "scan-pure": Target(
        "`scan_tail` of a whole file, pure, steps ascend",
        "≤ 4 × `wc -l`",
        4,
        WC,
        reason="the read is 0.9 x; seven searches of each line for one byte, for its end and for what makes a walk "
        "necessary, are 3 x; lines that are walked another half; a search for several bytes at once is 2 x each",
    ),
    "scan-pure-any": Target(
        "`scan_tail` of a whole file, pure, any order",
        "≤ 8 × `wc -l`",
        8,
        WC,
        reason="as above, and lines in another order are parsed to tell their step and whether they are damaged: "
        "one in ten of them takes 3 to 4 x",
    ),
    "cursor": Target("`scan_tail` with a cursor, 20 KB new, native", "≤ 50 µs", 50, "µs"),
    "cursor-pure": Target("`scan_tail` with a cursor, 20 KB new, pure", "≤ 120 µs", 120, "µs"),
    "steps": Target(
        "`iter_steps` of requests and planner responses, decoded",
        "≤ 2 × `wc -l` + decoding of what is wanted",
        2,
        f"{WC}, decoding taken off",
    ),
    "whole-antigravity": Target(
        "whole rehydration, Antigravity",
        "≤ 3 × `wc -l`",
        3,
        WC,
        reason="the walk of every record is 1.7 x; the rest decodes and weighs what is kept, whatever the size",
    ),
    "whole-claude-code": Target(
        "whole rehydration, Claude Code",
        "≤ 3 × `wc -l`",
        3,
        WC,
        reason="the index of all records, each line walked in full by two threads, is 2 x alone; as much is Python for "
        "each record on the way back and for all requests; the newest 12 MB of records are decoded, weighed and "
        "masked, whatever the size",
    ),
    "whole-memory-antigravity": Target("whole rehydration, Antigravity: peak of the process", "< 64 MB", 64, "MB"),
    "whole-memory-claude-code": Target(
        "whole rehydration, Claude Code: peak of the process",
        "< 64 MB",
        64,
        "MB",
        reason="the index takes 54 to 85 bytes a record, and what is kept is parsed in Python",
    ),
    "lineage": Target(
        "lineage, 3 hops, native",
        "≤ 150 ms at 10,000 siblings",
        150,
        "ms",
        reason="opening each sibling and copying its last 64 KiB takes over 100 ms of CPU, shared by two threads; to "
        "search those bytes takes 40 to 50, and Python, for all siblings together, as much once more on one thread",
    ),
    "lineage-pure": Target(
        "lineage, 3 hops, pure",
        "≤ 350 ms at 10,000 siblings",
        350,
        "ms",
        reason="an exact highest step needs a search of the last 64 KiB of each file, 380 MB together: to open and "
        "read them takes 110 ms of CPU, to search them 170, on one thread; the rest is Python for each file, 100 of it "
        "to parse the first and the highest record",
    ),
    "door": Target("no-op hook through the front door", "≤ `/bin/true` + 1.5 ms", 1.5, "ms over `/bin/true`"),
    "hook": Target("no-op hook in Python, native", "≤ bare interpreter + 3 ms", 3, "ms over bare"),
    "hook-pure": Target("no-op hook in Python, pure", "≤ bare interpreter + 12 ms", 12, "ms over bare"),
    "boundary": Target(
        "hook at a boundary, 10 MB conversation, whole process",
        "≤ 120 ms",
        120,
        "ms",
        reason="Claude Code: a quarter is loading modules; then records of the newest 12 MB, here all of them, are "
        "decoded and weighed, and lists of them written at one level of detail after the other, in Python",
    ),
    "import": Target(
        "`import rehydrate.scan`, native",
        "≤ 1.5 ms",
        1.5,
        "ms",
        reason="loading the compiled module takes 0.45 ms, a quarter of it to make its functions and types; the other "
        "five, none of the library's, take 1.4, a third of it for the types of results; read and run again, with the "
        "caches warm, they take 0.4",
    ),
    "import-modules": Target(
        "`import rehydrate.scan`, native: modules of the standard library beyond `site`'s", "none", 0, "modules"
    ),
    "durable": Target(
        "an entry of a session on disk",
        "≤ 1.2 × a bare write and fsync",
        1.2,
        "x bare",
        reason="the wait is the same; the Python around it takes 11 µs, and three to four times that with the caches "
        "cold, as they are after a wait; encoding, lock, size and write, with nothing around them, are 1.15 x; in runs "
        "of one hour the same code has taken 1.0 to 1.4 x",
    ),
    "open": Target(
        "opening a session and taking what a provider is sent",
        "≤ 2 × `wc -l` + parsing of the view",
        2,
        f"{WC}, parsing taken off",
        reason="the native index, read once, is four fifths of it at 100 MB and nearly all at 1 GB; the rest finds, "
        "reads and checks the entries of the view; the index has two threads and `wc` one: in runs of one hour it "
        "was 1.5 to 3.2 x",
    ),
    "queued": Target("entries of a session through the queue", "≥ 100,000 entries/s", 10, "µs an entry"),
    "trim": Target(
        "`trim` of 200 messages, every text counted before",
        "< 5 ms",
        5,
        "ms",
        reason="all of it is Python: a quarter reads the messages, another is the plan with its summary, a sixth "
        "counts them, as much writes and checks what is left",
    ),
    "validate": Target(
        "200 messages validated",
        "< 1 ms",
        1,
        "ms",
        reason="each call, result and thought of the Responses API is an item; Gemini's calls have to be paired first",
    ),
    "prepare": Target("`Engine.prepare` at 200 messages, nothing or one message new", "< 5 ms", 5, "ms"),
    "restore": Target("a log restored from its newest checkpoint, whatever its length", "< 50 ms", 50, "ms"),
}
