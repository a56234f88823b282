"""What a member is, and which lines are whole objects."""

import time

import pytest

from rehydrate.scan._pure_lines import BOM
from rehydrate.scan._pure_members import BROKEN, INCOMPLETE, LineObjects, integer, members
from tests.helpers import dump, step, write_lines

WHOLE = [
    b"{}",
    b" { } ",
    b'{"a":[]}',
    b'{"a":[ ] , "b" : { } }',
    b'{"a":[1,[2,{"b":[{}]}],"x"],"c":null}',
    b'{"a":NaN,"b":Infinity,"c":-Infinity}',
    b'{"a":-0,"b":0.5,"c":1e5,"d":1E-5,"e":1.25e+10,"f":-12.0}',
    b'{"a":"\x01\x1f\x00\xff\x7f"}',
    b'{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD800"}',
    b'{"a\\"b":1,"":2}',
    b'{"a":"\\\\","b":"\\\\\\""}',
    b'\t{\r"a"\t:\r1 }\r',
]
BROKEN_LINES = [
    b"{",
    b"}",
    b'{"a"}',
    b'{"a":}',
    b'{"a":1,}',
    b'{,"a":1}',
    b'{"a":1 "b":2}',
    b'{"a":1;}',
    b"{'a':1}",
    b"{a:1}",
    b'{"a":01}',
    b'{"a":1.}',
    b'{"a":.5}',
    b'{"a":+1}',
    b'{"a":-}',
    b'{"a":1e}',
    b'{"a":1e+}',
    b'{"a":0x1}',
    b'{"a":1_0}',
    b'{"a":-NaN}',
    b'{"a":nan}',
    b'{"a":inf}',
    b'{"a":True}',
    b'{"a":nul}',
    b'{"a":truefalse}',
    b'{"a":[1,]}',
    b'{"a":[,1]}',
    b'{"a":[1 2]}',
    b'{"a":[1}',
    b'{"a":[}]}',
    b'{"a":"\\x"}',
    b'{"a":"\\u12"}',
    b'{"a":"\\u12g4"}',
    b'{"a":"\\U0041"}',
    b'{"a":"\\u12\\\\34"}',
    b'{"a":"\\',
    b'{"a":"x}',
    b'{"a":1}x',
    b'{"a":1},',
    b'x{"a":1}',
    b'{"a":1}\x01',
    b'{\x00"a":1}',
    b'{"a":1\xa0}',
    b'{"a":\xc2\xa01}',
    b'\x0b{"a":1}',
]


def damaged(impl, path):
    found = impl.iter_records(path, [])
    count = len(list(found))
    return found.damaged, count


@pytest.mark.parametrize("line", WHOLE, ids=repr)
def test_a_whole_object_is_not_damaged(impl, tmp_path, line):
    path = write_lines(tmp_path / "t", [line])
    assert damaged(impl, path) == (0, 1)
    assert impl.scan_tail(path)[3:5] == (1, 0)


@pytest.mark.parametrize("line", BROKEN_LINES, ids=repr)
def test_what_breaks_the_grammar_is_damaged(impl, tmp_path, line):
    path = write_lines(tmp_path / "t", [line])
    assert damaged(impl, path)[0] == 1
    assert impl.scan_tail(path)[3:5] == (1, 1)


def test_f05_two_whole_objects_on_a_line_are_both_read(impl, tmp_path):
    one, two = dump(step(1)), dump(step(2, "CHECKPOINT"))
    path = write_lines(tmp_path / "t", [one + two, two + b" \0 " + one + b"\t"])
    tail = impl.scan_tail(path)
    second = len(one + two) + 1
    assert tail.boundaries == [(2, len(one), len(two)), (2, second, len(two))]
    assert (tail.lines, tail.damaged) == (2, 0)
    found = impl.iter_steps(path)
    assert [(each.index, each.raw) for each in found] == [(1, one), (2, two), (2, two), (1, one)]
    assert found.damaged == 0


PREFIXES = [
    b"x",
    b"}",
    b'"x"',
    b"12",
    b'{"step_index":1,"content":"torn',
    b'{"step_index":1,"content":"torn \\"',
    b'{"step_index":1,"content":"torn \\',
    b'{"step_index":1,"content"',
    b'{"step_index":1,"tool_calls":[{"name":"x","args":{"type":"CHECKPOINT","step_index":8}}',
    b'{"step_index":1,"tool_calls":[{"type":"CHECKPOINT"},{"type":"CHECKPOINT"',
    b'{"step_index":1,"args":{"a":{"b":1}},"content":',
    b"[1,2,",
    b'[{"type":"CHECKPOINT"},',
    b"{",
    b"{{{{",
    b'{"a":01,',
]


@pytest.mark.parametrize("prefix", PREFIXES, ids=repr)
def test_f05_a_broken_prefix_does_not_hide_the_object_behind_it(impl, tmp_path, prefix):
    whole = dump(step(2, "CHECKPOINT"))
    path = write_lines(tmp_path / "t", [prefix + whole])
    tail = impl.scan_tail(path)
    assert tail.boundaries == [(2, len(prefix), len(whole))]
    assert (tail.lines, tail.damaged, tail.last_step) == (1, 1, 2)
    found = impl.iter_steps(path)
    assert [(each.index, each.raw) for each in found] == [(2, whole)]
    assert (found.damaged, found.damaged_offsets) == (1, [0])


def test_f05_what_follows_a_whole_object_is_damage_and_does_not_take_it_away(impl, tmp_path):
    whole = dump(step(2, "CHECKPOINT"))
    path = write_lines(tmp_path / "t", [whole + b"garbage", whole + b'{"torn', whole + b"}" + whole])
    tail = impl.scan_tail(path)
    assert [mark.step for mark in tail.boundaries] == [2, 2, 2, 2]
    assert (tail.lines, tail.damaged) == (3, 3)


@pytest.mark.parametrize("cut", range(len(dump(step(1, tool_calls=[{"type": "CHECKPOINT", "args": {"a": [{}]}}])))))
def test_nothing_nested_in_a_torn_record_is_taken_for_one(impl, tmp_path, cut):
    torn = dump(step(1, tool_calls=[{"type": "CHECKPOINT", "args": {"a": [{}]}}]))[:cut]
    path = write_lines(tmp_path / "t", [torn + b"\n" + dump(step(2))])
    steps = [each for each in impl.iter_steps(path) if each.index is None]
    # A tear right behind a nested object's brace cannot be told from one right before a glued record.
    assert not steps or torn.endswith(b"}")
    assert impl.scan_tail(path).last_step == 2


def test_f27_nesting_of_200000_levels_is_walked(impl, tmp_path):
    deep = b'{"step_index":1,"type":"CHECKPOINT","a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    also = b'{"step_index":2,"type":"CHECKPOINT","a":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001
    torn = deep[:-5]
    path = write_lines(tmp_path / "t", [deep, also, torn])
    tail = impl.scan_tail(path)
    assert [mark.step for mark in tail.boundaries] == [1, 2]
    assert [(each.index, each.raw) for each in impl.iter_steps(path)] == [(1, deep), (2, also)]
    assert damaged(impl, path)[0] == 1
    with pytest.raises(ValueError, match="offset 0 "):
        next(impl.iter_steps(path)).json()


RECORDS_OF_STEP_7 = [
    b'{"step_index":7,"type":"CHECKPOINT"}',
    b'{"type":"CHECKPOINT","step_index":7}',
    b' { "type" : "CHECKPOINT" , "step_index" : 7 } ',
    b'{"\\u0074ype":"CHECKPOINT","step\\u005findex":7}',
    b'{"type":"CHECK\\u0050OINT","step_index":7}',
    b'{"type":"\\u0043\\u0048\\u0045\\u0043\\u004b\\u0050\\u004F\\u0049\\u004e\\u0054","step_index":7}',
    b'{"step_index":3,"type":"CHECKPOINT","step_index":7}',
    b'{"step_index":"x","type":"A","type":"CHECKPOINT","step\\u005Findex":7}',
    b'{"content":"\\"type\\":\\"A\\",\\"step_index\\":9","type":"CHECKPOINT","step_index":7}',
    b'{"a":{"type":"A","step_index":9},"type":"CHECKPOINT","b":[{"type":"A","step_index":9}],"step_index":7}',
]


@pytest.mark.parametrize("line", RECORDS_OF_STEP_7, ids=repr)
def test_f30_order_space_and_escapes_of_members_do_not_matter(impl, tmp_path, line):
    path = write_lines(tmp_path / "t", [line])
    [mark] = impl.scan_tail(path).boundaries
    assert mark == (7, len(line) - len(line.lstrip()), len(line.strip()))
    [found] = impl.iter_steps(path, types={"CHECKPOINT"}, steps=(7, 7))
    assert (found.index, found.type) == (7, "CHECKPOINT")
    assert impl.probe(path)[:3:2] == (7, 7)
    assert impl.find_step(path, 7).step == 7
    [row] = impl.iter_records(path, ["type", "step_index"])
    assert row[:2] == ("CHECKPOINT", 7)


NO_BOUNDARIES = [
    b'{"step_index":7,"type":"USER_INPUT","content":"\\"type\\":\\"CHECKPOINT\\""}',
    b'{"step_index":7,"type":"USER_INPUT","content":"CHECKPOINT"}',
    b'{"step_index":7,"a":{"type":"CHECKPOINT"},"b":[{"type":"CHECKPOINT"}]}',
    b'{"step_index":7,"type":"CHECKPOINT","type":"A"}',
    b'{"step_index":7,"Type":"CHECKPOINT","type ":"CHECKPOINT"}',
    b'{"step_index":7,"type":["CHECKPOINT"]}',
    b'{"step_index":7,"type":"CHECKPOINT "}',
    b'{"step_index":7,"type":"checkpoint"}',
]


@pytest.mark.parametrize("line", NO_BOUNDARIES, ids=repr)
def test_only_the_top_level_type_makes_a_boundary(impl, tmp_path, line):
    path = write_lines(tmp_path / "t", [line])
    tail = impl.scan_tail(path)
    assert (tail.boundaries, tail.last_step, tail.damaged) == ([], 7, 0)
    assert list(impl.iter_steps(path, types=["CHECKPOINT"])) == []


STEPS = [
    (b"7", 7),
    (b"-3", -3),
    (b"-0", 0),
    (b"0", 0),
    (b"9223372036854775807", 2**63 - 1),
    (b"-9223372036854775808", -(2**63)),
    (b"9223372036854775808", None),
    (b"-9223372036854775809", None),
    (b"7.0", None),
    (b"1e3", None),
    (b'"7"', None),
    (b"true", None),
    (b"null", None),
    (b"NaN", None),
    (b"[7]", None),
    (b"{}", None),
    (b"9" * 5000, None),
]


@pytest.mark.parametrize(("raw", "wanted"), STEPS)
@pytest.mark.parametrize("form", [b'{"step_index":%b}', b'{"step_index":%b,"a":1}', b'{"a":1,"step_index": %b }'])
def test_f33_a_step_is_an_integer_within_64_bits(impl, tmp_path, raw, wanted, form):
    path = write_lines(tmp_path / "t", [form % raw])
    tail = impl.scan_tail(path)
    assert (tail.last_step, tail.lines, tail.damaged) == (wanted, 1, 0)
    assert type(tail.last_step) in (int, type(None))
    [found] = impl.iter_steps(path)
    assert found.index == wanted
    assert impl.probe(path)[:3:2] == (wanted, wanted)
    if wanted is not None:
        assert impl.find_step(path, wanted).step == wanted


def test_f33_members_of_another_kind_are_none_and_the_record_is_kept(impl, tmp_path):
    line = b'{"step_index":"7","type":3,"source":null,"status":["x"],"created_at":{},"content":3,"message":null}'
    path = write_lines(tmp_path / "t", [line])
    [found] = impl.iter_steps(path)
    assert found == (None, None, None, None, None, 0, len(line), line)
    assert found.json()["content"] == 3
    assert impl.probe(path) == (None, None, None, None, len(line) + 1)


@pytest.mark.parametrize(
    "unit", [b"{", b"}", b'{"', b"{ ", b"{}", b'{"a":', b"[", b'"', b"\\", b'{"a":"\\"', b"{x", b'{"a":1}x', b'"{"a":']
)
def test_a_long_line_of_anything_costs_linear_time(impl, tmp_path, unit):
    path = tmp_path / "t"
    seconds = []
    for size in (100_000, 400_000):
        path.write_bytes(unit * (size // len(unit)) + b"\n")
        began = time.perf_counter()
        impl.scan_tail(path)
        for _ in impl.iter_records(path, []):
            pass
        seconds.append(time.perf_counter() - began)
    assert seconds[1] < 10 * seconds[0] + 0.5


def test_members_gives_the_spans_of_a_payload():
    data = b' {"a" : 1 , "b\\u0063":{"a":[]},"c":"x","c":"\\"y"} and more'
    found = members(data)
    assert {key: data[start:stop] for key, (start, stop) in found.items()} == {
        "a": b"1",
        "bc": b'{"a":[]}',
        "c": b'"\\"y"',
    }
    assert members(b"{}") == {}


def test_members_tells_incomplete_from_broken():
    whole = b' {"a":[1,-2.5e3,{"b":"x\\u00e9\\n"}],"c":true,"d":-Infinity} '
    for cut in range(len(whole) - 1):
        assert members(whole[:cut]) == INCOMPLETE
    assert isinstance(members(whole[:-1]), dict)
    for broken in (b"[]", b"x", BOM + b"{}", b'{"a":01', b"{]", b'{"a":"\\x', b'{"a":tx', b'{"a" 1', b'{"a":1,}'):
        assert members(broken) == BROKEN


@pytest.mark.parametrize(("raw", "wanted"), STEPS)
def test_integer_reads_what_json_reads_as_an_integer(raw, wanted):
    assert integer(raw) == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_line_in_pieces_gives_what_it_gives_whole(size):
    def objects(line, size):
        found = LineObjects(lambda at: line[at : at + size], 0, frozenset(("step_index", "a")))
        return list(found), found.damaged

    for line in [*WHOLE, *BROKEN_LINES, *RECORDS_OF_STEP_7, *(prefix + dump(step(2)) for prefix in PREFIXES)]:
        assert objects(line, size) == objects(line, 10_000)
