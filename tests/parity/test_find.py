"""The ends of a file, and one step of it: the twin walks few lines and still says what a walk of every line says."""

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rehydrate.scan import _pure, _pure_find, _pure_lines
from rehydrate.scan._decode import load_line
from rehydrate.scan._pure_members import LineObjects, integer
from tests.helpers import NATIVE_MISSING, needs_native

if not NATIVE_MISSING:
    from rehydrate.scan import _rust

relaxed = settings(deadline=None, max_examples=400, suppress_health_check=list(HealthCheck))

FIRST_LINES = 16
KEYS = frozenset(("step_index", "created_at"))
ASKED = [(at, slack) for at in (-1, 0, 3, 7, 12, 2**63 - 1) for slack in (0, 2, 50)]

borders = st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 12 * 10**25]).map(str)
odd_steps = st.sampled_from(
    [
        "-0",
        "00",
        "07",
        "7.0",
        "1e1",
        "+7",
        "1_0",
        '"7"',
        "true",
        "",
        "-",
        "9" * 18,
        "9" * 19,
        "1" + " " * 20 + "2",
        "7\0",
        "٣",
    ]
)
steps = st.integers(-2, 13).map(str) | odd_steps | borders
gaps = st.sampled_from(["", "", "", " ", "\t", "  ", "\r", "\0", " " * 19])
tails = st.sampled_from(
    [',"created_at":"2026-01-01T00:00:00Z"}'] * 6
    + ["}", ' , "created_at": "é\\u00e9"}', ',"created_at":5}', ',"x":{"y":[1,{}]}}', ',"x":"}{"}', ',"x":"\\ud800"}']
    + [',"step_index":3}', ',"x":{"step_index":4}}', ',"step\\u005findex":5}', ',"x":"\\"step_index\\":6"}']
    # Damaged behind a beginning that looks right; some hold a whole object none the less.
    + [",broken}", ',"x":1 2}', ",}", ',"x":"}', ',"x":"\\q"}', ',"x":[}', ',"created_at":"late"', "]}", "}}", "} x}"]
    + [',"x":{"a":1}', ',broken {"created_at":"inner"}', '} {"created_at":"second"}', '}\0{"a":1}', "}\0", "}  "]
    + ["," * 20 + "}", "," + '{"x":' * 600 + "1" + "}" * 601, ',"x":' + "[" * 600 + "]" * 600 + "}"]
)
claims = st.builds(lambda a, index, b, tail: f'{{"step_index":{a}{index}{b}{tail}'.encode(), gaps, steps, gaps, tails)
plain = st.builds(
    lambda index, status: json.dumps({"step_index": index, "status": status, "created_at": f"{index} {status}"}),
    st.integers(0, 12),
    st.sampled_from(["RUNNING", "DONE"]),
).map(str.encode)
compact = plain.map(lambda line: line.replace(b": ", b":").replace(b", ", b","))
stepless = st.sampled_from([b"", b"\0\0", b"  ", b"junk", b"[1]", b"{}", b'{"a":1}', b'{"x":{"step_index":99}}'])
others = stepless | st.sampled_from(
    [
        b'\xef\xbb\xbf{"step_index":6}',
        b'{"created_at":"x","step_index":8}',
        b'{"step\\u005findex":9}',
        b'{"x":"{\\"step_index\\":99}"}',
    ]
)
others |= st.sampled_from(
    [b'\0{"step_index":11}', b' {"step_index":10}', b'{"x":"\xff","step_index":2}', b'{ "step_index":12}']
)
lines = compact | compact | plain | claims | claims | others | st.tuples(claims | plain, compact | others).map(b"".join)
endings = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n"])
files = st.tuples(
    st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\0"]),
    st.lists(st.tuples(lines, endings).map(b"".join), max_size=24).map(b"".join),
    st.sampled_from([b"", b'{"step_index":99}', b'{"step_index":99']),
).map(b"".join)


def walked(data):
    """(number of the line, where it begins, its records as (step, created_at, offset)): every line walked in full."""
    at = 0
    for line in data.split(b"\n")[:-1]:
        skipped = 3 if at == 0 and line.startswith(b"\xef\xbb\xbf") else 0
        objects = LineObjects(lambda offset, base=at, line=line: line[offset - base :], at + skipped, KEYS)
        records = []
        for start, _stop, spans in objects:
            said = {key: line[first - at : last - at] for key, (first, last) in spans.items()}
            created_at = said.get("created_at", b"")
            created_at = json.loads(created_at.decode("utf-8", "replace")) if created_at[:1] == b'"' else None
            records.append((integer(said.get("step_index", b"")), created_at, start))
        yield at, records, bool(records) or objects.damaged
        at += len(line) + 1


def naive(data, window):
    """`probe`, and every answer of `find_step`, by what they promise."""
    all_lines = list(walked(data))
    head = [records for _, records, counts in all_lines if counts][:FIRST_LINES]
    first = next((record for records in head for record in records if record[0] is not None), (None, None))
    while True:
        tail = [record for at, records, _ in all_lines if at >= len(data) - window for record in records]
        if tail or window >= len(data):
            break
        window *= 2
    last = highest(tail) or (None, None)
    every = [record for _, records, _ in all_lines for record in records]
    found = []
    for at, slack in ASKED:
        best = highest([record for record in every if record[0] is not None and at - slack <= record[0] <= at])
        found.append(best and (*best, last[0]))
    return (*first[:2], *last[:2], len(data)), found


def highest(records):
    return max((each for each in records if each[0] is not None), key=lambda each: (each[0], each[2]), default=None)


def told(impl, path):
    return impl.probe(path), [impl.find_step(path, at, slack=slack) for at, slack in ASKED]


def candidates(probed, found):
    """What `probe_candidates` must say by the other two."""
    for (at, _), each in zip(ASKED, found, strict=True):
        able = each is not None and probed[0] is not None and probed[0] <= at
        yield [(*probed[:2], *each[:3], *probed[2:])] if able else [None]


def check(impl, path, wanted):
    probed, found = told(impl, path)
    assert (probed, found) == wanted
    assert impl.probe_many([path, path + "x", path]) == [probed, None, probed]
    given = [impl.probe_candidates([path], at, slack=slack) for at, slack in ASKED]
    assert given == list(candidates(probed, found))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("find") / "t")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


@relaxed
@given(files)
@example(b'{"step_index":1}\n{"step_index": 9,broken}\n{"step_index":9,broken {"created_at":"x"}\n')
@example(b'{"step_index":9,broken}\n' * 40)
@example(b'{"step_index":7}\n{"step_index":' + b" " * 19 + b"12}\n")
@example(b'{"step_index":1                    2}\n{"step_index":7}\n,{"step_index":8}\n')
def test_the_twin_says_what_a_walk_of_every_line_says(path, data):
    write(path, data)
    check(_pure, path, naive(data, _pure_find.WINDOW))


@needs_native
@relaxed
@given(files)
def test_so_does_the_native_scanner(path, data):
    write(path, data)
    check(_rust, path, naive(data, _pure_find.WINDOW))


@relaxed
@given(files, st.sampled_from([64, 256]), st.sampled_from([48, 1 << 20]))
def test_the_twin_does_so_where_the_window_is_a_part_of_the_file(path, data, window, chunk):
    write(path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pure_find, "WINDOW", window)
        patch.setattr(_pure_lines, "CHUNK", chunk)
        check(_pure, path, naive(data, window))


@needs_native
@settings(relaxed, max_examples=100)
@given(files, st.integers(0, 400), files)
def test_both_agree_where_the_window_is_a_part_of_the_file(path, before, spare, data):
    filler = b'{"x":"' + b"y" * max(0, _pure_find.WINDOW - len(data) + spare - 200) + b'"}\n'
    for whole in (before + b"\n" + filler + data, before + b"\n" + filler * 2 + data):
        write(path, whole)
        assert told(_pure, path) == told(_rust, path)


regular = st.builds(
    lambda index, created_at, gap: b'{"step_index"%s%d,"created_at":"%d"}' % (gap, index, created_at),
    st.integers(0, 1200) | st.integers(95, 105),
    st.integers(0, 3),
    st.sampled_from([b":"] * 9 + [b": "]),
)
nearly_regular = st.builds(
    lambda some, odd, at, gap: b"".join(each.replace(b": ", gap) + b"\n" for each in [*some[:at], *odd, *some[at:]]),
    st.lists(regular, max_size=40),
    st.lists(lines, max_size=1),
    st.integers(0, 40),
    st.sampled_from([b":", b": "]),
)


@relaxed
@given(nearly_regular, st.sampled_from([64, 1024, 1 << 16]))
@example(b'{"step_index":99}\n{"step_index":100}\n{"step_index":9}\n', 1 << 16)
@example(b'{"step_index":1}\n{"x":[{"step_index":5}]}\n', 1 << 16)
@example(b'{"step_index":1}\n{"step_index" :5}\n', 1 << 16)
@example(b'{"step_index": 10}\n{"step_index":11}\n', 1 << 16)
@example(b'{"step_index":10}\n{"step_index": 11}\n', 1 << 16)
@example(b'{"step_index":9,8:1}\n{"step_index":3,4:1}\n', 1 << 16)
@example(b'{"step_index":2}\n{"step_index":12}\n{"step_index":1,2}\n{"step_index":9,"":5}\n', 1 << 16)
@example(b'{"step_index":1}\n{"step_index":5.5}\n', 1 << 16)
@example(b'{"step_index":true}\n', 1 << 16)
@example(b'{"step_index": null}\n', 1 << 16)
@example(b'{"step_index":1,"step\\u005findex":5}\n{"step_index":4}\n', 1 << 16)
def test_the_twin_does_so_where_nearly_all_lines_are_alike(path, data, window):
    write(path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pure_find, "WINDOW", window)
        check(_pure, path, naive(data, window))


@needs_native
@relaxed
@given(nearly_regular)
def test_the_native_scanner_does_so_too(path, data):
    write(path, data)
    check(_rust, path, naive(data, _pure_find.WINDOW))


@needs_native
@settings(relaxed, max_examples=100)
@given(st.lists(st.tuples(files | nearly_regular, st.sampled_from([0, 0, 0, 3_000, 70_000, 140_000])), max_size=12))
def test_one_file_after_another_is_probed_as_each_alone(path, made):
    """What was read of one shows in no other."""
    paths = [f"{path}{number}" for number in range(len(made))]
    for each, (data, size) in zip(paths, made, strict=True):
        write(each, b'{"x":"' + b"y" * size + b'"}\n' + data if size else data)
    alone = [_rust.probe(each) for each in paths]
    assert _rust.probe_many(paths) == _pure.probe_many(paths) == alone


def test_few_lines_are_walked(path, monkeypatch):
    walks = []
    monkeypatch.setattr(_pure_find, "load_line", lambda line: walks.append(line) or load_line(line))
    compact_lines = [b'{"step_index":%d,"created_at":"x"}' % at for at in range(500)]
    spaced_lines = [b'{"step_index": %d, "created_at": "x"}' % at for at in range(500)]
    for some, broken in (
        (compact_lines, b'{"step_index":777,broken}'),
        (spaced_lines, b'{"step_index": 777, broken}'),
    ):
        walks.clear()
        write(path, b"\n".join([*some, broken, b""]))
        assert _pure.probe(path)[:3:2] == (0, 499)
        assert walks == [some[0], broken, broken, some[-1]]
        walks.clear()
        write(path, b"\n".join([*some, b""]))
        assert _pure.probe(path)[:3:2] == (0, 499)
        assert walks == [some[0], some[-1]]
