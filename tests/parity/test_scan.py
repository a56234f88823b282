"""The native scanner, its twin and a naive reading give the same answers, whatever the bytes are."""

import json
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.scan import _pure, _pure_lines, _pure_tail
from tests.helpers import DATA, NATIVE_MISSING, dump, needs_native, step

if not NATIVE_MISSING:
    from rehydrate.scan import _rust

relaxed = settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))

KEYS = ["step_index", "type", "created_at", "content", "status", "source", "step\\u005findex", "\\u0074ype", "x", ""]
PIECES = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\0", b"\r", b" ", b"\n", b"1", b"-", b"0", b".", b"e"]
PIECES += [b"\\u00", b'\\"', b"CHECKPOINT", b'"step_index"', b"}{", b"\xff", b"\xef\xbb\xbf", b"\x01", b"true", b"NaN"]
PIECES += [b'{"step_index":', b'"type":"CHECKPOINT"', b"{}", b'{"a":{}}', b'{"x":"', b"\\ud800", b"\xed\xa0\x80"]

numbers = st.sampled_from(["0", "-0", "7", "12", "-3", "9223372036854775808", "7.0", "1e3", "1e999"])
literals = st.sampled_from(
    ["NaN", "-Infinity", "true", "null", "[]", "{}", '"CHECKPOINT"', '"\\ud800"', '"A"', '"DONE"', "9" * 4400]
)
texts = st.text(alphabet=string.ascii_letters + '\\"/é😀\u202e{}[],: \0\x1b', max_size=20).map(
    lambda text: json.dumps(text, ensure_ascii=len(text) % 2 == 0)
)
scalars = numbers | literals | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(st.sampled_from(KEYS), inner), max_size=3).map(
            lambda items: "{" + ",".join(f'"{key}" : {value}' for key, value in items) + "}"
        )
    ),
    max_leaves=6,
)
odd = st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=6).map(
    lambda items: ("{" + ",".join(f'"{key}":{value}' for key, value in items) + "}").encode()
)
kinds = st.sampled_from(["CHECKPOINT", "A", "USER_INPUT"])
usual = st.builds(lambda index, kind: dump(step(index, kind, content="}{ CHECKPOINT")), st.integers(-2, 20), kinds)
calm = st.builds(lambda index: dump(step(index, "A")), st.integers(-2, 20))
noise = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join)
torn = st.builds(lambda record, cut: record[: cut % (len(record) + 1)], odd | usual, st.integers(0, 200))
lines = st.lists(odd | usual | calm | calm | torn | noise, min_size=1, max_size=3).map(b"".join)
endings = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" \n", b"\0\n", b""])
files = st.tuples(
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(lines, endings).map(b"".join), max_size=8).map(b"".join),
    st.sampled_from([b"", b"\n"]),
).map(b"".join)


def mutate(data, changes):
    """Puts pieces over bytes, one after another."""
    for at, piece in changes:
        at %= len(data) + 1
        data = data[:at] + piece + data[at + 1 :]
    return data


def drain(found):
    """Everything that an iterator tells, the cursor after each record included."""
    rows = [(row, found.cursor) for row in found]
    return rows, found.cursor, found.damaged, found.damaged_offsets, found.restarted


def answers(impl, path):
    """What an implementation says about a file."""
    told = {
        "tail": impl.scan_tail(path),
        "probe": impl.probe(path),
        "found": [impl.find_step(path, at, slack=slack) for at in (-1, 0, 3, 7, 12) for slack in (0, 2, 50)],
        "candidates": [impl.probe_candidates([path, path + "x"], at, slack=2) for at in (0, 7)],
        "steps": drain(impl.iter_steps(path)),
        "types": drain(impl.iter_steps(path, types=["CHECKPOINT"])),
        "odd types": drain(impl.iter_steps(path, types=["A", "\ufffd", "/"])),
        "range": drain(impl.iter_steps(path, steps=(1, 9))),
        "open range": drain(impl.iter_steps(path, types={"A", "CHECKPOINT"}, steps=(None, 4))),
        "closed": drain(impl.iter_closed(path)),
        "records": drain(impl.iter_records(path, ["type", "x", "", "type", "step_index"])),
        "where": drain(impl.iter_records(path, ["content"], where={"type": ["A", "CHECKPOINT"], "status": {"DONE"}})),
    }
    # The rest of a line can hold more records that do not pass, so the place in the line may differ.
    told["where none"] = [row for row, _ in drain(impl.iter_records(path, [], where={"type": (None, 7, True)}))[0]]
    middle = told["steps"][0][len(told["steps"][0]) // 2][1] if told["steps"][0] else told["tail"].cursor
    told["again"] = impl.scan_tail(path, middle), drain(impl.iter_steps(path, cursor=list(middle)))
    told["json"] = [parsed(row) for row, _ in told["steps"][0]]
    return told


def parsed(row):
    try:
        return repr(row.json())
    except ValueError as error:
        return str(error)


def compare(folder, data):
    path = folder / "t"
    path.write_bytes(data)
    native, pure = answers(_rust, str(path)), answers(_pure, str(path))
    for what, told in native.items():
        assert told == pure[what], what
    assert repr(native) == repr(pure)  # the types, too


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parity")


@needs_native
@relaxed
@given(files, st.lists(st.tuples(st.integers(0, 1 << 20), st.sampled_from(PIECES)), max_size=4))
def test_both_implementations_agree_on_any_bytes(folder, data, changes):
    compare(folder, mutate(data, changes))


@needs_native
@relaxed
@given(files, st.lists(st.tuples(st.integers(0, 1 << 20), st.sampled_from(PIECES)), max_size=4))
def test_both_implementations_agree_where_lines_lie_across_chunks(folder, data, changes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pure_lines, "CHUNK", 64)
        compare(folder, mutate(data, changes))


@needs_native
@relaxed
@given(st.lists(files, min_size=3, max_size=9).map(b"".join), st.integers(100, 700), st.integers(0, 4))
def test_both_implementations_agree_on_a_tail_in_blocks_of_many_lines(folder, data, chunk, misses):
    path = folder / "t"
    path.write_bytes(data)
    told = _rust.scan_tail(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pure_lines, "CHUNK", chunk)
        patch.setattr(_pure_tail, "_BLOCK_MISSES", misses)
        assert repr(_pure.scan_tail(path)) == repr(told)
        assert repr(_pure.probe(path)) == repr(_rust.probe(path))


NEEDLES = [b"CHECKPOINT", b"\\u00", b"}{", b'"step_index"']
HINTS = [b"K", b"{", b"}", b"\\", b"0", b"_", b"x", b"\\u0", b"u00", b"KPOINT", b"step_index", b'_index"', b"\r"]
fillers = st.integers(0, 130).map(lambda count: b"y" * count)
contents = st.lists(st.sampled_from(HINTS) | fillers | st.sampled_from(NEEDLES), max_size=7).map(b"".join)


@relaxed
@given(st.lists(contents, min_size=1, max_size=4), st.integers(0, 3), st.sampled_from([0, 20, 256]), st.booleans())
def test_the_twin_walks_a_line_exactly_where_it_holds_a_needle(inside, misses, short, sparse):
    data = b"".join(b'{"step_index":7,%s}\n' % content for content in inside)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pure_tail, "_MISSES", misses)
        patch.setattr(_pure_tail, "_BLOCK_MISSES", misses)
        patch.setattr(_pure_tail, "_SHORT", short)
        patch.setattr(_pure_tail, "_is_sparse", lambda _data: sparse)
        walked = [step is None for _, _, step in _pure_tail.proven_lines(data)]
    lines = [b"," + content + b"}" for content in inside]
    assert walked == [any(needle in line for needle in NEEDLES) for line in lines]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("needle", NEEDLES)
def test_the_twin_walks_a_line_wherever_it_holds_a_needle(needle, sparse, monkeypatch):
    monkeypatch.setattr(_pure_tail, "_is_sparse", lambda _data: sparse)
    places = range(400)
    data = b"".join(b'{"step_index":7,%s%s%s}\n' % (b"y" * at, needle, b"y" * (400 - at)) for at in places)
    assert [step for _, _, step in _pure_tail.proven_lines(data)] == [None] * len(places)


@needs_native
def test_both_implementations_agree_on_every_truncation_of_a_transcript(folder):
    sample = next((DATA / "antigravity" / "tools").glob("*/transcript_full.jsonl")).read_bytes()
    for cut in range(0, len(sample) + 1):
        path = folder / "t"
        path.write_bytes(sample[:cut] + b'{"step_index":99,"type":"CHECKPOINT"}\n' * (cut % 2))
        assert _rust.scan_tail(path) == _pure.scan_tail(path)
        assert _rust.probe(path) == _pure.probe(path)
        assert drain(_rust.iter_closed(path)) == drain(_pure.iter_closed(path))


@needs_native
@pytest.mark.parametrize("path", sorted((DATA / "antigravity").rglob("*.jsonl")), ids=lambda path: path.parts[-3])
def test_both_implementations_agree_on_real_transcripts(path):
    assert repr(answers(_rust, str(path))) == repr(answers(_pure, str(path)))


@needs_native
@pytest.mark.parametrize("before", [0, 63, 64, 65_470, 65_536, 262_100, 262_144, 524_240, 524_288])
def test_both_implementations_agree_at_the_borders_of_their_buffers(folder, before):
    tail = dump(step(5, "CHECKPOINT")) + b"\n" + b'{"x":"}\n' + dump(step(4)) * 2 + b"\r\n" + dump(step(6))
    for shift in (0, 1, 7, 40, 75):
        filler = b'{"x":"' + b"y" * max(0, before - shift - 9) + b'"}'
        for front in (b"", b"\xef\xbb\xbf", b"\0" * 5):
            compare(folder, front + filler + b"\n" + tail)
            compare(folder, front + filler + tail + b"\n" + filler + b"\n")


def naive_int(digits):
    return int(digits) if len(digits) < 99 else float("inf")


def naive(data):
    """Reads line by line with `json`: whole objects, and lines that hold none."""
    marks, last, count, damaged, offset = [], None, 0, 0, 0
    steps = []
    for line in data.split(b"\n")[:-1]:
        text = line.decode("utf-8", "replace")
        if text.strip(" \t\r\0"):
            count += 1
            try:
                record = json.loads(text, strict=False, parse_int=naive_int)
            except ValueError:
                record = None
            if isinstance(record, dict):
                index = record.get("step_index")
                index = index if type(index) is int and -(2**63) <= index < 2**63 else None
                last = index if last is None else last if index is None else max(last, index)
                place = offset + len(line) - len(line.lstrip()), len(line.strip())
                steps.append((index, *place))
                if record.get("type") == "CHECKPOINT":
                    marks.append((index, *place))
            else:
                damaged += 1
        offset += len(line) + 1
    return marks, last, count, damaged, steps


@relaxed
@given(st.lists(odd | usual | calm | st.sampled_from([b"", b"  ", b"junk", b"[1]", b"7", b'"x']), max_size=12))
def test_both_implementations_read_what_a_naive_reading_reads(folder, some):
    path = folder / "t"
    path.write_bytes(b"".join(line + b"\n" for line in some))
    marks, last, count, damaged, steps = naive(path.read_bytes())
    for impl in (_pure,) if NATIVE_MISSING else (_pure, _rust):
        tail = impl.scan_tail(path)
        assert (tail.boundaries, tail.last_step, tail.lines, tail.damaged) == (marks, last, count, damaged)
        found = impl.iter_steps(path)
        assert [(each.index, each.offset, each.length) for each in found] == steps
        assert found.damaged == damaged
        assert impl.probe(path).last_step == last
