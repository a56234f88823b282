"""The native scanner and its twin on real logs that were damaged, cut, joined and written on."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate.scan import _pure
from tests.helpers import DATA, NATIVE_MISSING, needs_native

from .strategies import examples, some, spliced, splices

if not NATIVE_MISSING:
    from rehydrate.scan import _rust

pytestmark = needs_native

LOGS = sorted(each for each in DATA.glob("*/**/*.jsonl") if each.parts[-3] != "json" and each.stat().st_size)
MOST = 8_000
"""Bytes of a log that are taken: its beginning, or from a line in it on."""
PIECES = some(
    [b"\n", b"\r\n", b"\0", b'"', b"\\", b"{", b"}", b"}{", b"[", b"\\u00", b"CHECKPOINT", b'"step_index":', b"\xff",
     b'{"step_index":7,"type":"CHECKPOINT"}\n', b'"type":"CHECKPOINT",', b'"uuid":"u",', b"\xef\xbb\xbf", b"\n" * 70]
)  # fmt: skip


@functools.cache
def lines(path):
    """Longer ones are cut short in the middle."""
    shorter = (line if len(line) < 3_000 else line[:1_500] + line[-1_500:] for line in path.read_bytes().split(b"\n"))
    return [line + b"\n" for line in shorter]


@st.composite
def damaged(draw):
    """A part of a real log, or of two, with other bytes here and there."""
    data = b""
    for _ in range(draw(st.integers(1, 2))):
        some_lines = lines(draw(some(LOGS)))
        first = draw(st.integers(0, len(some_lines) - 1))
        data += b"".join(some_lines[first:])[:MOST]
        data = data[: draw(st.integers(0, len(data))) if draw(st.booleans()) else len(data)]
    for at, piece in draw(st.lists(st.tuples(st.integers(0, 1 << 20), PIECES), max_size=3)):
        data = spliced(data, [(at, draw(st.integers(0, 3)), piece)])
    return spliced(data, draw(splices)) + draw(some([b"", b"\n"]))


def drain(found):
    rows = [(row, found.cursor) for row in found]
    return rows, found.cursor, found.damaged, found.damaged_offsets, found.restarted


def told(impl, path, cursor=None):
    """What an implementation says about a file, the ends and single steps apart from where the cursor is."""
    last = impl.probe(path)[2] or 0
    asked = sorted({0, 7, last, last - 1, last // 2})
    return {
        "tail": impl.scan_tail(path, cursor),
        "probe": impl.probe(path),
        "found": [impl.find_step(path, at, slack=slack) for at in asked for slack in (0, 3)],
        "candidates": [impl.probe_candidates([path, path + "x", path], at, slack=2) for at in asked],
        "steps": drain(impl.iter_steps(path, cursor=cursor)),
        "types": drain(impl.iter_steps(path, types=["CHECKPOINT", "USER_INPUT"], cursor=cursor)),
        "range": drain(impl.iter_steps(path, steps=(1, 9), cursor=cursor)),
        "closed": drain(impl.iter_closed(path)),
        "records": drain(impl.iter_records(path, ["type", "uuid", "timestamp"], cursor=cursor)),
        "where": drain(impl.iter_records(path, ["uuid"], where={"type": {"user", "DONE"}}, cursor=cursor)),
        "tree": impl.read_tree(path),
    }


def compare(path, cursor=None):
    """What both say; fails the test where they differ."""
    native, pure = told(_rust, path, cursor), told(_pure, path, cursor)
    for what, answer in native.items():
        assert answer == pure[what], what
        assert repr(answer) == repr(pure[what]), what
    return native


def write(path, data, mode="wb"):
    with open(path, mode) as file:
        file.write(data)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("scan") / "log")


@examples(80)
@given(damaged())
def test_both_agree_on_damaged_logs(path, data):
    write(path, data)
    compare(path)


@examples(20)
@given(damaged(), damaged(), st.integers(0, 1 << 20))
def test_a_log_that_grows_is_read_on_by_either_from_the_others_cursor(path, before, more, cut):
    """First up to the middle of a line, perhaps; nothing is told twice and nothing is left out."""
    cut %= len(more) + 1
    write(path, before)
    first = compare(path)
    tails, steps = [first["tail"]], [row for row, _ in first["steps"][0]]
    for piece in (more[:cut], more[cut:]):
        write(path, piece, "ab")
        steps_cursor = first["steps"][1]
        assert steps_cursor == first["tail"].cursor
        first = compare(path, list(tails[-1].cursor))
        assert not first["tail"].restarted
        tails.append(first["tail"])
        steps += [row for row, _ in first["steps"][0]]
    whole = compare(path)
    assert [mark for tail in tails for mark in tail.boundaries] == list(whole["tail"].boundaries)
    assert sum(tail.lines for tail in tails) == whole["tail"].lines
    assert sum(tail.damaged for tail in tails) == whole["tail"].damaged
    assert steps == [row for row, _ in whole["steps"][0]]


@examples(20)
@given(damaged(), damaged(), st.integers(0, 1 << 20))
def test_a_log_that_was_cut_or_rewritten_starts_over_on_both(path, before, after, cut):
    write(path, before)
    cursor = compare(path)["tail"].cursor
    write(path, before[: cut % (len(before) + 1)] + after)
    both = compare(path, cursor)
    if both["tail"].restarted:
        assert both["tail"] == compare(path)["tail"]._replace(restarted=True)


SMALL = [b'{"step_index":1,"type":"A","uuid":"a"}\r\n', b'{"type":"CHECKPOINT","step_index":2,"m":{"x":"\\u0041}{"}}\n',
         b'{"uuid":"b","parentUuid":"a","type":"user"}{"step_index":-3}\n']  # fmt: skip


@pytest.mark.parametrize("middle", [b"", b"\n", b'{"step_index":7,"type":"CHECKPOINT"}\n', b'"', b"}\n{"])
def test_both_agree_on_a_small_log_cut_and_spliced_at_every_byte(path, middle):
    small = b"".join(SMALL)
    for cut in range(len(small) + 1):
        for rest in (b"", small[cut + 1 :]):
            write(path, small[:cut] + middle + rest)
            for operation in ("scan_tail", "probe", "read_tree"):
                assert getattr(_rust, operation)(path) == getattr(_pure, operation)(path), (operation, cut)
            assert drain(_rust.iter_closed(path)) == drain(_pure.iter_closed(path)), cut
