"""What inputs are made of: valid ones, changed somewhere, or no such thing at all."""

import copy
import json
import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

DEEP, LONG = "@@deep@@", "@@long@@"
"""Stand in a value for what `json` would not write: lists in lists, and an integer of too many digits."""
_WRITTEN = {DEEP: b"[" * 20_000 + b"]" * 20_000, LONG: b"9" * 5_000}

some = st.sampled_from


def examples(count):
    """So many examples, the same ones every time; with REHYDRATE_FUZZ=N N times as many, and new ones."""
    times = int(os.environ.get("REHYDRATE_FUZZ") or 0)
    shared = {"deadline": None, "suppress_health_check": list(HealthCheck)}
    if times:
        return settings(max_examples=count * times, print_blob=True, **shared)
    return settings(max_examples=count, derandomize=True, database=None, **shared)


integers = some([0, 1, -1, 2, 7, 12, 40, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30])
numbers = integers | some([0.5, -0.0, 1e308, float("inf"), float("nan")])
words = some(
    ["", "x", "a\0b", "a\nb", "\r", "\ud800", "\ufeff", "é", "😀" * 30, "y" * 70_000, "\x1b[31m", "</r>", "]]>"]
)
paths = some(
    ["/", "/etc/passwd", "/dev/zero", "/proc/self/environ", "..", "../../..", "~", "~root", "relative/transcript.jsonl",
     "transcript_full.jsonl", "//", "/\0", "/a\nb/transcript_full.jsonl", "file:///etc/passwd", "C:\\Windows\\x",
     "/" + "n" * 300, "/" + "d/" * 3000]
)  # fmt: skip
markers = some(
    ["CHECKPOINT", "DONE", "RUNNING", "ERROR", "# Resuming from a compaction", "{{ CHECKPOINT 0 }}",
     "{{ CHECKPOINT 3 }}", "<CONTEXT_SUMMARY>", "<USER_REQUEST>", "</USER_REQUEST>", "compact_boundary", "user",
     "assistant", "summary", "[POST-COMPACT REHYDRATION v1 | id=00000000 checkpoint=12 part 1/1]", "pending", "sent"]
)  # fmt: skip
scalars = st.none() | st.booleans() | numbers | words | paths | markers | some([DEEP, LONG])
odd = scalars | st.just(DEEP) | some([[], {}, [None], {"": 0}, [[]], [{"type": "text"}], {"a": {"b": []}}, ["x"] * 500])
junk = st.binary(max_size=200) | some(
    [b"", b"\0" * 5000, b"\xff\xfe", b"\n" * 300, b"[" * 100_000, b'{"a":' * 50_000, b'"', b"{}", b"[]", b"null", b"7",
     b'{"cursor":[1,' + b"9" * 5000 + b"]}", b"}{", b"\xef\xbb\xbf{}"]
)  # fmt: skip
touches = st.lists(st.tuples(st.integers(0, 1 << 20), st.none() | odd), max_size=3)
"""Changes of a JSON value: the place that is meant, and what is put there; None takes it out."""
splices = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 40), st.binary(max_size=20)), max_size=3)
"""Changes of bytes: where, how many are taken out, and what is put in."""


def changed(value, some):
    """A value with these touches, as JSON; one that touches nothing gives the value as it is."""
    value = json.loads(json.dumps(value))
    for at, new in some:
        places = list(_places(value))
        if not places:
            break
        holder, key = places[at % len(places)]
        if new is None:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(new)  # the same may be put elsewhere, too
    return dumped(value)


def _places(value):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])


def dumped(value):
    data = json.dumps(value, separators=(",", ":")).encode()
    for name, written in _WRITTEN.items():
        data = data.replace(json.dumps(name).encode(), written)
    return data


def spliced(data, some):
    """Bytes with these changes, one after another."""
    for at, length, new in some:
        at %= len(data) + 1
        data = data[:at] + new + data[at + length :]
    return data


@st.composite
def jsons(draw, value):
    """Mostly a valid value with something else somewhere, as bytes; or any bytes."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(junk)
    data = changed(value, draw(touches))
    if kind == 1:
        data = spliced(data, draw(splices))
    if kind == 2:
        data += draw(junk)
    return data


@st.composite
def logs(draw, records):
    """Mostly a valid log of these records, with some of them changed, moved, repeated or torn; or any bytes."""
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return draw(junk)
    rows = [dumped(each) for each in records]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(rows) - 1))
        how = draw(some(["touch", "touch", "touch", "repeat", "drop", "move", "junk", "join"]))
        if how == "touch":
            rows[at] = changed(records[at % len(records)], draw(touches))
        elif how == "repeat":
            rows.insert(draw(st.integers(0, len(rows))), rows[at])
        elif how == "move":
            rows.insert(draw(st.integers(0, len(rows) - 1)), rows.pop(at))
        elif how == "junk":
            rows.insert(at, draw(junk))
        elif how == "join" and at:
            rows[at - 1] += rows.pop(at)
        elif how == "drop" and len(rows) > 1:
            rows.pop(at)
    data = b"".join(row + b"\n" for row in rows)
    if kind == 1:
        data = spliced(data, draw(splices))
    if kind == 2:
        data = data[: draw(st.integers(0, len(data)))]
    return data
