"""`iter_steps`, `iter_closed` and `iter_records`: which records, and where a later read goes on."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import rehydrate
from rehydrate.scan import _pure_lines
from tests.helpers import dump, step, write_lines


def indexes(found):
    return [each.index for each in found]


def test_a_step_tells_its_members_its_place_and_its_bytes(impl, tmp_path):
    record = step(7, "USER_INPUT", content="é\n", tool_calls=[{"name": "x"}])
    path = write_lines(tmp_path / "t", [b"", record, record])
    one, two = impl.iter_steps(path)
    raw = dump(record)
    assert one == (7, "USER_INPUT", "MODEL", "DONE", "2026-01-01T00:00:07Z", 1, len(raw), raw)
    assert two.offset == 2 + len(raw)
    assert one.json() == record
    assert (tmp_path / "t").read_bytes()[one.offset : one.offset + one.length] == raw


def test_types_and_steps_choose_records(impl, tmp_path):
    records = [step(at, "ABC"[at % 3]) for at in range(12)] + [{"type": "A"}, {"type": 3}, {}]
    path = write_lines(tmp_path / "t", records)
    assert len(list(impl.iter_steps(path))) == 15
    assert indexes(impl.iter_steps(path, types=["A"])) == [0, 3, 6, 9, None]
    assert indexes(impl.iter_steps(path, types={"A", "C"}, steps=(3, 8))) == [3, 5, 6, 8]
    assert indexes(impl.iter_steps(path, steps=(10, None))) == [10, 11]
    assert indexes(impl.iter_steps(path, steps=(None, 1))) == [0, 1]
    assert indexes(impl.iter_steps(path, steps=(None, None))) == list(range(12))
    assert indexes(impl.iter_steps(path, steps=(5, 4))) == []
    assert indexes(impl.iter_steps(path, types=[])) == []
    assert indexes(impl.iter_steps(path, types=["D"])) == []
    assert indexes(impl.iter_steps(path, steps=(2**70, None))) == []
    assert indexes(impl.iter_steps(path, steps=(None, -(2**70)))) == []
    assert indexes(impl.iter_steps(path, steps=(-(2**70), 2**70))) == list(range(12))


@pytest.mark.parametrize("kind", ["", "a/b", 'q"', "back\\", "é", "tab\t", "\ufffd", "with space", "A.b-c_d"])
def test_a_type_may_be_any_text(impl, tmp_path, kind):
    path = tmp_path / "t"
    escaped = "".join(f"\\u{unit:04x}" for unit in kind.encode("utf-16-be")[1::2]) if kind.isascii() else kind
    write_lines(path, [step(1, kind), step(2, "other"), f'{{"step_index":3,"type":"{escaped}"}}'.encode()])
    assert indexes(impl.iter_steps(path, types=[kind])) == [1, 3]
    assert indexes(impl.iter_steps(path, types=["\ud800", kind])) == [1, 3]


def test_lines_that_cannot_hold_a_wanted_type_are_not_looked_at(impl, tmp_path):
    path = write_lines(tmp_path / "t", [b"broken", step(1, "A"), b"A broken A", b"\\broken \\u00", b'{"type":"A"'])
    found = impl.iter_steps(path, types=["A"])
    assert indexes(found) == [1]
    assert found.damaged == 3
    found = impl.iter_steps(path, types=["A/"])
    assert indexes(found) == []
    assert found.damaged == 4


def test_the_cursor_follows_what_was_handed_out(impl, tmp_path):
    records = [step(1, "A"), step(2, "B"), step(3, "A"), step(4, "A"), step(5, "B")]
    glued = dump(records[2]) + dump(records[3])
    path = write_lines(tmp_path / "t", [records[0], records[1], glued, records[4]])
    size = os.path.getsize(path)
    ends = [len(dump(record)) + 1 for record in records[:2]]
    found = impl.iter_steps(path, types=["A"])
    assert found.cursor == (1, 0, "00000000")
    assert next(found).index == 1
    assert found.cursor[1] == ends[0]
    assert next(found).index == 3
    assert found.cursor[1] == sum(ends)  # the line has another one
    assert indexes(impl.iter_steps(path, types=["A"], cursor=found.cursor)) == [3, 4]
    assert next(found).index == 4
    assert found.cursor[1] == sum(ends) + len(glued) + 1
    assert next(found, None) is None
    assert found.cursor == impl.scan_tail(path).cursor
    assert found.cursor[1] == size
    assert next(found, None) is None


def test_a_read_can_be_taken_up_at_every_record(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at, content="x" * (at * 7)) for at in range(700)])
    found = impl.iter_steps(path)
    for at in range(700):
        assert next(found).index == at
        if at % 50 == 0:
            assert indexes(impl.iter_steps(path, cursor=found.cursor)) == list(range(at + 1, 700))


def test_closing_early_keeps_the_cursor_of_what_was_handed_out(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at) for at in range(5)])
    found = impl.iter_steps(path)
    next(found)
    cursor = found.cursor
    found.close()
    found.close()
    assert next(found, None) is None
    assert found.cursor == cursor
    assert (found.damaged, found.restarted) == (0, False)
    assert indexes(impl.iter_steps(path, cursor=cursor)) == [1, 2, 3, 4]


def test_an_exhausted_iterator_has_let_go_of_its_file(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    before = len(os.listdir("/dev/fd"))
    kept = [impl.iter_steps(path) for _ in range(50)]
    for each in kept:
        list(each)
    assert len(os.listdir("/dev/fd")) <= before + 1
    assert len({each.cursor for each in kept}) == 1


def test_iter_closed_offers_a_tail_that_is_one_whole_object(impl, tmp_path):
    path = tmp_path / "t"
    whole = dump(step(2, "B"))
    path.write_bytes(dump(step(1, "A")) + b"\n" + whole)
    found = impl.iter_closed(path)
    assert [(each.index, each.raw) for each in found] == [(1, dump(step(1, "A"))), (2, whole)]
    assert found.cursor == impl.scan_tail(path).cursor
    assert indexes(impl.iter_closed(path, types=["A"])) == [1]
    assert indexes(impl.iter_closed(path, types=["B"])) == [2]
    assert indexes(impl.iter_closed(path, steps=(2, 2))) == [2]
    assert indexes(impl.iter_closed(path, cursor=found.cursor)) == [2]
    assert indexes(impl.iter_steps(path)) == [1]


@pytest.mark.parametrize(
    "tail", [b'{"a":1', b'{"step_index":2}{"step_index":3}', b'x{"step_index":2}', b"[1]", b"", b" \0"]
)
def test_iter_closed_offers_no_other_tail(impl, tmp_path, tail):
    path = tmp_path / "t"
    path.write_bytes(dump(step(1)) + b"\n" + tail)
    found = impl.iter_closed(path)
    assert indexes(found) == [1]
    assert (found.damaged, found.cursor[1]) == (0, len(dump(step(1))) + 1)


@pytest.mark.parametrize("front", [b"", b"\xef\xbb\xbf", b" \0"])
def test_iter_closed_of_a_file_that_is_one_object(impl, tmp_path, front):
    path = tmp_path / "t"
    path.write_bytes(front + dump(step(1)) + b"\r")
    [found] = impl.iter_closed(path)
    assert (found.offset, found.raw) == (len(front), dump(step(1)))


def test_a_long_tail_is_offered_by_iter_closed(impl, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(dump(step(1, content="x" * 3_000_000)))
    assert indexes(impl.iter_closed(path)) == [1]


def test_records_give_the_named_members_in_order_and_their_place(impl, tmp_path):
    line = b'{"n":1.5,"s":"\\u00e9\\ud83d\\ude00","l":[1,{"a":null}],"t":true,"z":null,"o":{},"n":-2}'
    path = write_lines(tmp_path / "t", [line])
    keys = ["s", "n", "l", "gone", "t", "z", "o", "s"]
    assert list(impl.iter_records(path, keys)) == [
        ("é😀", -2, [1, {"a": None}], None, True, None, {}, "é😀", 0, len(line)),
    ]
    assert list(impl.iter_records(path, [])) == [(0, len(line))]
    assert list(impl.iter_records(path, ("n",), where={})) == [(-2, 0, len(line))]


def test_where_passes_records_whose_values_are_among_the_allowed(impl, tmp_path):
    records = [
        {"type": "user", "side": False, "n": 1},
        {"type": "user", "side": True, "n": 2},
        {"type": "assistant", "n": 3},
        {"type": "\\u0075ser", "n": 4},
        {"type": ["user"], "n": 5},
        {"n": 6, "message": {"type": "user"}},
        {"type": None, "n": 7},
        {"type": 7, "n": 8},
    ]
    path = write_lines(tmp_path / "t", [*records, b'{"\\u0074ype":"\\u0075ser","n":9}'])

    def numbers(where):
        return [row[0] for row in impl.iter_records(path, ["n"], where=where)]

    assert numbers({"type": {"user"}}) == [1, 2, 9]
    assert numbers({"type": ["user", "assistant"]}) == [1, 2, 3, 9]
    assert numbers({"type": {"user"}, "side": {True}}) == [2]
    assert numbers({"type": {"user"}, "side": {None}}) == [9]
    assert numbers({"type": {None}}) == [6, 7]
    assert numbers({"type": (7, "assistant", None)}) == [3, 6, 7, 8]
    assert numbers({"type": [["user"]]}) == [5]
    assert numbers({"type": set()}) == []
    assert numbers({"gone": {None}}) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_records_have_a_cursor_and_count_damage(impl, tmp_path):
    path = write_lines(tmp_path / "t", [{"a": 1}, b"broken", {"a": 2}])
    found = impl.iter_records(path, ["a"])
    assert next(found) == (1, 0, 7)
    assert found.cursor[1] == 8
    assert list(found) == [(2, 15, 7)]
    assert (found.damaged, found.damaged_offsets, found.restarted) == (1, [8], False)
    assert found.cursor == impl.scan_tail(path).cursor


def test_a_bare_str_is_no_collection_of_names(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    for call in (
        lambda: impl.iter_steps(path, types="CHECKPOINT"),
        lambda: impl.iter_steps(path, types=[1]),
        lambda: impl.iter_closed(path, types=b"A"),
        lambda: impl.iter_records(path, "type"),
        lambda: impl.iter_records(path, [None]),
        lambda: impl.iter_records(path, ["a"], where={"type": "user"}),
        lambda: impl.iter_records(path, ["a"], where={"type": 7}),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("steps", [(1,), (1, 2, 3), 5, "12", ("1", 2), (1.0, 2), (True, 2)])
def test_a_range_of_another_shape_is_an_error(impl, tmp_path, steps):
    path = write_lines(tmp_path / "t", [step(1)])
    with pytest.raises(ValueError, match="steps"):
        impl.iter_steps(path, steps=steps)


USES = """
import importlib, resource, sys
def peak():
    try:  # what `resource` tells here is at least what the process that started this one had
        with open("/proc/self/status") as about:
            return int(about.read().partition("VmHWM:")[2].split()[0]) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
impl, path = importlib.import_module("rehydrate.scan." + sys.argv[1]), sys.argv[2]
def use(path, wanted):
    assert [mark.step for mark in impl.scan_tail(path).boundaries] == wanted
    assert [each.index for each in impl.iter_steps(path, types=["CHECKPOINT"])] == wanted
    assert [row[0] for row in impl.iter_records(path, ["step_index"], where={"type": ["CHECKPOINT"]})] == wanted
    assert all(each.index == 0 for each in impl.iter_steps(path, steps=(0, 0)))
    assert {row[0] for row in impl.iter_records(path, ["step_index"])} <= {0, 1, 2}
    assert impl.probe(path)[:3:2] == (1, 2)
    assert impl.find_step(path, 1).offset == 0
use(path + "small", [2])
before = peak()
use(path, [2])
print(peak() - before)
"""


def grown(impl, path):
    """Bytes by which a process grows that reads the file `path` after the file `path` + "small"."""
    command = [sys.executable, "-c", USES, impl.__name__.rpartition(".")[2], str(path)]
    environ = {**os.environ, "PYTHONPATH": str(Path(rehydrate.__file__).parents[1])}
    return int(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)


def test_memory_does_not_grow_with_a_line_of_an_unwanted_type(impl, tmp_path):
    for name, times in (("t", 100), ("tsmall", 1)):
        with (tmp_path / name).open("wb") as file:
            file.write(b'{"step_index":1,"type":"BIG","content":"')
            for _ in range(times):
                file.write((b'x\\"CHECKPOINT\\n' + b"y" * 85) * 10_000)
            file.write(b'"}\n' + dump(step(2, "CHECKPOINT")) + b"\n")
    assert grown(impl, tmp_path / "t") < 12 * 1024 * 1024  # the line has 100 MB


def test_memory_does_not_grow_with_the_number_of_records_on_a_line(impl, tmp_path):
    for name, times in (("t", 200_000), ("tsmall", 2000)):
        ends = b'{"step_index":1}', dump(step(2, "CHECKPOINT"))
        (tmp_path / name).write_bytes((b'{"step_index":0}' * times).join(ends) + b"\n")
    assert grown(impl, tmp_path / "t") < 12 * 1024 * 1024  # one that is held takes some hundred bytes


@pytest.mark.parametrize("times", [511, 512, 513, 30_000])  # on both sides of a batch, and of a buffer
def test_a_line_of_many_records_is_given_out_in_batches(impl, tmp_path, times):
    lines = [b"".join(dump(step(at)) for at in range(times)) + b" 7", dump(step(times)), dump(step(times + 1))]
    path = write_lines(tmp_path / "t", lines)
    found = impl.iter_steps(path)
    for at in range(times - 1):
        assert next(found).index == at
        assert at % 100 or found.cursor == impl.cursor_at(path, 0)
    assert (next(found).index, found.cursor) == (times - 1, impl.cursor_at(path, len(lines[0]) + 1))
    assert (next(found).index, found.damaged, found.damaged_offsets) == (times, 1, [0])
    assert [indexes(found), found.damaged] == [[times + 1], 1]
    assert [row[0] for row in impl.iter_records(path, ["step_index"])] == [*range(times + 2)]
    assert indexes(impl.iter_steps(path, steps=(times - 2, times))) == [times - 2, times - 1, times]


def test_an_unfinished_tail_of_many_records_is_not_offered(impl, tmp_path):
    (tmp_path / "t").write_bytes(b"{}\n" + b"{}" * 600_000)
    assert len(list(impl.iter_closed(tmp_path / "t"))) == 1


def test_threads_that_share_an_iterator_get_each_record_once(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at) for at in range(20_000)])
    found = impl.iter_steps(path)
    took, failed = [], []

    def take():
        try:
            for each in found:
                took.append(each.index)
                if each.index % 100 == 0:
                    assert found.cursor[1] > 0
        except Exception as error:
            failed.append(error)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert (failed, sorted(took)) == ([], list(range(20_000)))
    assert found.cursor == impl.scan_tail(path).cursor


def test_where_holds_no_number_that_was_too_long_for_an_int(impl, tmp_path):
    long = "9" * 5000
    path = write_lines(tmp_path / "t", [b'{"n":' + long.encode() + b"}", {"n": long}])
    for allowed in ({long}, {long, None}):
        assert [row[-2] for row in impl.iter_records(path, ["n"], where={"n": allowed})] == [5007]


def test_where_names_members_by_str(impl, tmp_path):
    with pytest.raises(TypeError, match="where"):
        impl.iter_records(write_lines(tmp_path / "t", []), ["n"], where={1: {1}})


def test_a_name_longer_than_a_piece_is_found_in_a_long_line(impl, tmp_path, monkeypatch):
    monkeypatch.setattr(_pure_lines, "CHUNK", 300)
    name = "A" * 1000
    path = write_lines(tmp_path / "t", [step(1, name), step(2, "A" * 999), step(3, name)])
    assert indexes(impl.iter_steps(path, types={name})) == [1, 3]
