"""The plain reading of a log, which the quick one is held against: every record parsed whole, one file after another,
and nothing told before all of it was read.
"""

import hashlib
import json
import os

from rehydrate import scan
from rehydrate.clients.antigravity import kept, records, transcript


def names(path, session):
    """Of every CHECKPOINT in file order, of those with one step the last: its place and the id of its delivery."""
    placed = [(row[-2], row[-1]) for row in scan.iter_records(path, ())]
    last = {}
    for mark in scan.scan_tail(path).boundaries:
        key = (mark.step, mark.offset if mark.step is None else 0)
        last.pop(key, None)
        last[key] = mark
    with open(path, "rb") as file:
        data = file.read()
    told = []
    for mark in last.values():
        at, length = max((place for place in placed if place[0] < mark.offset), default=(0, 0))
        step = transcript.NO_STEP if mark.step is None else mark.step
        named = os.fsencode(session) + b"\0%d\0" % step + data[at : at + length]
        told.append((mark.offset, hashlib.sha256(named).hexdigest()[:8]))
    return told


def read(files):
    """The turns, the touches and the number of damaged lines of some files, the oldest first, each with its last step
    (None: all of it counts): (step, role, text, segment, calls) and (path, step, order, kind, time_s).
    """
    entries, damaged = {}, 0
    for segment, (path, last) in enumerate(files):
        found = scan.iter_steps(path, types={"USER_INPUT", "PLANNER_RESPONSE"}, steps=(None, last))
        for record in found:
            if record.index is not None:
                entries.pop(record.index, None)
                entry = _entry(record, segment, path)
                if entry:
                    entries[record.index] = entry
        damaged += found.damaged
    ordered = sorted(entries.items())
    counted = held = 0
    for _, entry in reversed(ordered):
        if entry["role"] == "assistant" and entry["text"]:
            chars = len(entry["text"])
            if counted >= kept.TEXT_CHARS or (counted and held + chars > kept.HELD_CHARS):
                counted = kept.TEXT_CHARS  # and no older one is kept
                entry["text"] = None
            counted += min(chars, kept.ENTRY_CHARS)
            held += chars
    turns = [(step, e["role"], e["text"], e["segment"], tuple(c.tool for c in e["calls"])) for step, e in ordered]
    return turns, _touches(ordered), damaged


def _entry(record, segment, path):
    members = record.json()
    entry = {"segment": segment, "calls": [], "created_at": record.created_at}
    if record.type == "USER_INPUT":
        asked = "" if record.source == "SYSTEM_SDK" else records.request_of(members.get("content"))
        return {**entry, "role": "user", "text": asked} if asked else None
    text = records.text_of(members.get("content"))
    calls = records.calls_of(members.get("tool_calls"), lossy=os.path.basename(path) == "transcript.jsonl")
    return {**entry, "role": "assistant", "text": text, "calls": calls} if text or calls else None


def _touches(ordered):
    found = []
    for at, (step, entry) in enumerate(ordered):
        known = [entry, *(each for _, each in ordered[at + 1 : at + 2] if each["role"] == "assistant")]
        times = [time_s for each in known if (time_s := records.time_of(each["created_at"])) is not None]
        for call in entry["calls"]:
            found += [
                (path, step, len(found) + i, call.kind, max(times, default=None)) for i, path in enumerate(call.paths)
            ]
    return found


def lines(seeded, steps):
    """A log as a client may leave it: shuffled, with steps said again, torn and empty lines, and what only looks so."""
    rows = []
    for step in range(steps):
        for _ in range(seeded.choice((1, 1, 1, 2))):
            rows.append((step + seeded.choice((0, 0.2, 1.5, 6)) * seeded.random(), _line(seeded, step)))
    rows.sort(key=lambda row: row[0])
    return b"".join(line + seeded.choice((b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\n\0\0\n")) for _, line in rows)


def _line(seeded, step):
    kind = seeded.choice(("USER_INPUT", "PLANNER_RESPONSE", "PLANNER_RESPONSE", "RUN_COMMAND", "CHECKPOINT"))
    text = seeded.choice(("words ", "汉字", 'a\n"b"\\', "\ud83d", "  ", "PLANNER_RESPONSE", "😀")) * seeded.choice(
        (0, 1, 9, 70, 2_000)
    )
    record = {"step_index": step, "type": kind, "status": seeded.choice(("DONE", "RUNNING")), "content": text}
    record["source"] = seeded.choice(("MODEL", "USER_EXPLICIT", "SYSTEM_SDK"))
    record["created_at"] = seeded.choice(
        (f"2026-03-01T10:{step % 60:02}:07Z", "2026-03-01T23:59:60.25+01:30", "2026-02-30T10:00:00Z", 7, None)
    )
    if kind == "PLANNER_RESPONSE" and seeded.random() < 0.7:
        record["tool_calls"] = [_call(seeded, step) for _ in range(seeded.randrange(4))]
    if kind == "CHECKPOINT":
        record["content"] = seeded.choice(("# Resuming from a compaction", "{{ CHECKPOINT 0 }}", None))
    if kind == "USER_INPUT" and seeded.random() < 0.5:
        record["content"] = f"<USER_REQUEST>\n{text}\n</USER_REQUEST>"
    odd = seeded.random()
    if odd < 0.05:
        record["step_index"] = seeded.choice((None, "3", 2**63, -1, 4.0, True))
    elif odd < 0.1:
        record[seeded.choice(("content", "tool_calls", "source", "type"))] = seeded.choice((None, 3, ["x"], {"a": 1}))
    members = list(record.items())
    seeded.shuffle(members)
    line = json.dumps(dict(members), ensure_ascii=seeded.random() < 0.3).encode("utf-8", "surrogatepass")
    if odd > 0.95:
        line = seeded.choice((line[: len(line) // 2], line[:-1], b"garbage " + line, line + line, b"[]", b"{}"))
    return line


def _call(seeded, step):
    path = f"/w/{seeded.randrange(4)}.md"
    args = seeded.choice(
        (
            {"AbsolutePath": path, "StartLine": 1},
            {"TargetFile": f"file://{path}", "CodeContent": "x" * 500},
            {"Path": " ", "OtherPath": path, "outputFILE": "C:\\x"},
            {"CommandLine": f"make {step}", "Cwd": "/w"},
            {"AbsolutePath": json.dumps(path)},
            json.dumps({"Path": path}),
            None,
            [],
        )
    )
    names = ("view_file", "edit_file", "run_command", "grep_search", "", None)
    return seeded.choice(({"name": seeded.choice(names), "args": args}, "no call")) if seeded.random() < 0.9 else None
