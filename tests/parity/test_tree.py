"""`read_tree`: the native scanner, its twin and a naive reading give the same answers, whatever the bytes are."""

import json
import re
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.scan import _pure, _pure_lines
from tests.helpers import DATA, NATIVE_MISSING, needs_native

if not NATIVE_MISSING:
    from rehydrate.scan import _rust

relaxed = settings(deadline=None, max_examples=400, suppress_health_check=list(HealthCheck))

LONE = re.compile("[\ud800-\udfff]")
KEYS = ["uuid", "parentUuid", "type", "\\u0075uid", "ty\\u0070e", "parent\\u0055uid", "message", "uuid ", "x", ""]
PIECES = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\0", b"\r", b" ", b"\n", b"1", b"-", b"0", b".", b"e"]
PIECES += [
    b'"uuid":"u"',
    b'"type":',
    b"}{",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x01",
    b"true",
    b"NaN",
    b"\\u00",
    b'\\"',
    b"\\\\",
]
PIECES += [b'{"parentUuid":', b"{}", b'{"x":"', b"\\ud800", b"\xed\xa0\x80", b'\\"uuid\\":\\"no\\"', b'"', b"\\x"]

long = st.builds(
    lambda piece, times: piece * times, st.sampled_from(["\\n", '\\"', "\\\\", "x", "é", "\\u00e9"]), st.integers(0, 90)
)
members = st.sampled_from(['\\"uuid\\":\\"no\\"', ',\\"type\\":\\"no\\"}', "uuid", '\\\\\\"}{\\"uuid\\":'])
texts = st.lists(
    long | members | st.text(alphabet=string.ascii_letters + "/é😀\u202e{}[],: \0\x1b", max_size=20), max_size=3
).map(lambda parts: '"' + "".join(parts) + '"')
ids = st.sampled_from(
    ['"a"', '"b"', '"\\u0061"', "null", '"\\ud800"', '""', '"c-1"', "7", "[]", '{"uuid":"no"}', "true"]
)
literals = st.sampled_from(
    ["NaN", "-Infinity", "true", "null", "[]", "{}", "0", "-0", "12", "7.0", "1e3", "1e999", "[{}]"]
)
space = st.sampled_from(["", "", "", " ", "\t", "\r "])
values = st.recursive(
    texts | ids | literals,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(st.sampled_from(KEYS), inner), max_size=3).map(
            lambda items: "{" + ",".join(f'"{key}" : {value}' for key, value in items) + "}"
        )
    ),
    max_leaves=6,
)
# Any members in any order, none or several of a name, white space anywhere.
odd = st.lists(st.tuples(st.sampled_from(KEYS), ids | values, space), max_size=7).map(
    lambda items: "{" + ",".join(f'{gap}"{key}"{gap}:{gap}{value}{gap}' for key, value, gap in items) + "}"
)
early = st.builds(
    lambda parent, kind, message, own: f'{{"parentUuid":{parent},"type":"{kind}","message":{message},"uuid":{own}}}',
    *(ids, st.sampled_from(["user", "system"]), values, ids),
)
late = st.builds(
    lambda parent, message, kind, own: (
        f'{{"parentUuid":{parent},"message":{message},"type":"{kind}","uuid":{own},"z":1}}'
    ),
    *(ids, values, st.sampled_from(["assistant", "attachment"]), ids),
)
about = st.builds(
    lambda kind, value: f'{{"type":"{kind}","snapshot":{value}}}', st.sampled_from(["mode", "tag"]), values
)
records = (odd | early | late | about).map(str.encode)
torn = st.builds(lambda record, cut: record[: cut % (len(record) + 1)], records, st.integers(0, 400))
noise = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join)
lines = st.lists(records | records | torn | noise, min_size=1, max_size=3).map(b"".join)
endings = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b" \n", b"\0\n", b""])
files = st.tuples(
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(st.tuples(lines, endings).map(b"".join), max_size=8).map(b"".join),
).map(b"".join)
changes = st.lists(st.tuples(st.integers(0, 1 << 20), st.sampled_from(PIECES)), max_size=4)


def mutate(data, some):
    """Puts pieces over bytes, one after another."""
    for at, piece in some:
        at %= len(data) + 1
        data = data[:at] + piece + data[at + 1 :]
    return data


def compare(folder, data):
    path = folder / "t"
    path.write_bytes(data)
    native, pure = _rust.read_tree(path), _pure.read_tree(path)
    assert native == pure
    assert repr(list(native.entries)) == repr(list(pure.entries))  # the types, too


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("parity")


@needs_native
@relaxed
@given(files, changes)
def test_both_implementations_agree_on_any_bytes(folder, data, some):
    compare(folder, mutate(data, some))


@needs_native
@relaxed
@given(files, changes)
def test_both_implementations_agree_where_lines_lie_across_chunks(folder, data, some):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pure_lines, "CHUNK", 64)
        compare(folder, mutate(data, some))


@needs_native
@pytest.mark.parametrize("before", [0, 63, 64, 65_536, 524_240, 524_288, 4_194_304])
def test_both_implementations_agree_at_the_borders_of_their_buffers(folder, before):
    record = b'{"parentUuid":"a","message":"\\n\\"x\\\\","type":"assistant","uuid":"b"}'
    for shift in (0, 1, 7, 40, 75):
        filler = b'{"x":"' + b"y\\n" * (max(0, before - shift - 9) // 3) + b'"}'
        for front in (b"", b"\xef\xbb\xbf", b"\0" * 5):
            compare(folder, front + filler + b"\n" + record + b"\n" + b'{"x":"}\n' + record * 2 + b"\r\n" + record)
            compare(folder, front + filler + record + b"\n" + filler + b"\n")


def naive(data):
    """Reads line by line with `json`: whole objects, and lines that hold none."""
    rows, count, damaged, offset = [], 0, [], 0
    for line in data.split(b"\n")[:-1]:
        words = line.decode("utf-8", "replace")
        if words.strip(" \t\r\0"):
            count += 1
            try:
                pairs = json.loads(words, strict=False, object_pairs_hook=list) if words.lstrip()[:1] == "{" else None
            except ValueError:
                pairs = None
            if pairs is None:
                damaged.append(offset)
            else:
                last = dict(pairs)
                said = [last.get(key) for key in ("uuid", "parentUuid", "type")]
                said = [LONE.sub("\ufffd", each) if isinstance(each, str) else None for each in said]
                place = offset + len(line) - len(line.lstrip()), len(line.strip())
                rows.append((*said, *place))
        offset += len(line) + 1
    return rows, count, len(damaged), damaged[:16], len(data)


@relaxed
@given(
    st.lists(
        records | records | st.sampled_from([b"", b"  ", b"junk", b"[1]", b"7", b'"x', b'{"uuid":"a"']), max_size=12
    )
)
def test_both_implementations_read_what_a_naive_reading_reads(folder, some):
    path = folder / "t"
    path.write_bytes(b"".join(line + b"\n" for line in some))
    wanted = naive(path.read_bytes())
    for impl in (_pure,) if NATIVE_MISSING else (_pure, _rust):
        assert impl.read_tree(path) == wanted


@relaxed
@given(records, changes)
def test_a_damaged_line_is_damaged_for_a_naive_reading_too(folder, record, some):
    path = folder / "t"
    line = mutate(record, some).replace(b"\n", b" ").replace(b"\0", b" ")
    path.write_bytes(line + b"\n")
    rows, count, damaged, offsets, size = naive(path.read_bytes())
    for impl in (_pure,) if NATIVE_MISSING else (_pure, _rust):
        tree = impl.read_tree(path)
        if rows:
            assert tree == (rows, count, damaged, offsets, size)
        else:  # a naive reading finds no objects behind damage, and calls objects without a break between them damage
            assert tree.damaged == damaged or len(tree.entries) > 1


@pytest.mark.parametrize(
    "path",
    sorted((DATA / "claude-code").rglob("*.jsonl")),
    ids=lambda path: "-".join(path.relative_to(DATA / "claude-code").parts)[:40],
)
def test_both_implementations_read_what_a_naive_reading_reads_in_real_transcripts(path):
    for impl in (_pure,) if NATIVE_MISSING else (_pure, _rust):
        assert impl.read_tree(path) == naive(path.read_bytes())
