"""Lines that are torn, glued, empty or no record at all: what stands around them comes back all the same."""

import json
import subprocess
import sys
import threading

import pytest

from tests.helpers import dump, step, write_lines
from tests.process.home import checkpoint

from .worlds import SESSION, joined


def test_f02_a_torn_last_line_is_brought_back_once_it_is_complete(world):
    whole, torn = joined(world.user("The first request.")), world.user("The torn request.")
    world.path.write_bytes(whole + torn[:-9])
    first = world.fire() if world.name == "claude-code" else ""
    assert "The torn request" not in first
    text = world.fire(whole + torn + b"\n")
    assert "The first request." in text and "The torn request." in text


@pytest.mark.parametrize("number", [b"12", b'{"a":1'])
def test_f03_a_torn_line_that_is_whole_by_accident_is_held_back(impl, tmp_path, number):
    path, start = tmp_path / "t", dump(step(1)) + b"\n"
    path.write_bytes(start + number + (b"}" if number != b"12" else b""))
    seen = impl.scan_tail(path)
    assert (seen.lines, seen.damaged, seen.cursor[1]) == (1, 0, len(start))
    path.write_bytes(start + number + (b',"step_index":3}' if number != b"12" else b"3") + b"\n")
    again = impl.scan_tail(path, seen.cursor)
    assert (again.lines, again.restarted) == (1, False)
    assert (again.last_step, again.damaged) == ((None, 1) if number == b"12" else (3, 0))


def test_f03_a_boundary_without_its_line_feed_is_none_yet(antigravity):
    talk = joined(antigravity.user("Ask."), antigravity.said("Answer."))
    boundary = antigravity.boundary()
    antigravity.path.write_bytes(talk + boundary)
    assert antigravity.hook(SESSION) == []
    antigravity.path.write_bytes(talk + boundary + b"\n")
    assert len(antigravity.hook(SESSION)) == 1


def test_f05_two_records_on_one_line_are_both_brought_back(world):
    glued = world.user("The left one.") + world.user("The right one.")
    text = world.fire(joined(world.user("Before."), glued, world.user("Behind.")))
    assert all(words in text for words in ("Before.", "The left one.", "The right one.", "Behind."))


@pytest.mark.parametrize("nuls", [1, 4_096, 3_000_000])
def test_f06_nuls_in_the_middle_and_at_the_tail_are_passed_over(world, nuls):
    hole = b"\0" * nuls
    first, second, third = world.user("One."), world.user("Two."), world.user("Three.")
    text = world.fire(joined(first, hole + second, hole, third) + hole)
    assert all(words in text for words in ("One.", "Two.", "Three."))


def test_f07_truncated_below_the_saved_offset_it_is_read_anew_and_not_delivered_again(antigravity):
    first, rest = antigravity.user("Ask."), [antigravity.said(f"Answer {n}.") for n in range(4)]
    data = joined(first, *rest[:2], antigravity.boundary())
    antigravity.path.write_bytes(data)
    assert len(antigravity.hook(SESSION)) == 1
    antigravity.path.write_bytes(data + joined(*[antigravity.said("x" * 100_000) for _ in range(12)]))
    assert antigravity.hook(SESSION) == []
    saved = json.loads(antigravity.state(SESSION).read_text())["cursor"][1]
    assert saved > len(data)
    antigravity.path.write_bytes(data)
    assert antigravity.hook(SESSION) == []
    antigravity.path.write_bytes(joined(first))
    assert antigravity.hook(SESSION) == []
    antigravity.path.write_bytes(joined(first, *rest) + joined(antigravity.boundary()))
    assert len(antigravity.hook(SESSION)) == 1


def test_f07_a_truncated_session_is_planned_anew(claude):
    first, second = claude.user("Stays."), claude.user("Is cut off.")
    assert "Is cut off." in claude.fire(joined(first, second))
    text = claude.fire(joined(first))
    assert "Stays." in text and "Is cut off." not in text


def test_f10_while_another_process_writes_only_what_was_there_at_the_start_is_read(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(at) for at in range(2_000)])
    more = dump(step(5, content="x" * 300)) + b"\n"
    script = (
        f"import time\nfile = open({path!r}, 'ab', 0)\nfor _ in range(9_999): file.write({more!r}), time.sleep(1e-4)"
    )
    with subprocess.Popen([sys.executable, "-S", "-c", script]) as writer:
        try:
            for _ in range(30):
                size = (tmp_path / "t").stat().st_size
                tail = impl.scan_tail(path)
                found = impl.iter_steps(path)
                count = sum(1 for _ in found)
                now = (tmp_path / "t").stat().st_size
                assert tail.damaged == found.damaged == 0
                assert size - len(more) <= tail.cursor[1] <= found.cursor[1] <= now
                for cursor, lines in ((tail.cursor, tail.lines), (found.cursor, count)):
                    start = cursor[1] - sum(len(dump(step(at))) + 1 for at in range(2_000))
                    assert start == (lines - 2_000) * len(more), "the end of the last complete line"
        finally:
            writer.kill()


def test_f10_a_log_that_grows_while_the_hook_reads_it_is_delivered_once(world):
    world.path.write_bytes(joined(*[world.user(f"Request {n}.") for n in range(50)]))
    if world.name == "antigravity":
        assert world.fire() == ""  # it is known, so that no boundary is too old
        with world.path.open("ab") as file:
            file.write(joined(world.boundary()))
    later = [world.said(f"Later {n}. " + "y" * 2_000) for n in range(300)]

    def write():
        with world.path.open("ab", 0) as file:
            for line in later:
                file.write(line + b"\n")

    writer = threading.Thread(target=write)
    writer.start()
    text = world.fire()
    writer.join()
    assert "Request 49." in text
    if world.name == "antigravity":
        assert "Later" not in text and world.fire() == ""


def test_f14_10_million_empty_lines_are_no_lines(impl, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(dump(step(1)) + b"\n" + b"\n" * 10_000_000 + dump(step(2, "CHECKPOINT")) + b"\n")
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged, tail.last_step, len(tail.boundaries)) == (2, 0, 2, 1)
    assert [each.index for each in impl.iter_steps(path, cursor=impl.cursor_at(path, 40))] == [2]


@pytest.mark.parametrize("blanks", [b" " * 10_000_000 + b"\n", b" \t\n" * 50_000, b"\r\n" * 50_000],
                         ids=["one line of spaces", "lines of spaces", "returns"])  # fmt: skip
def test_f14_blank_lines_hide_no_step(impl, tmp_path, blanks):
    path = tmp_path / "t"
    path.write_bytes(dump(step(1)) + b"\n" + blanks + dump(step(2, "CHECKPOINT")) + b"\n" + blanks)
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged, tail.last_step, len(tail.boundaries)) == (2, 0, 2, 1)
    assert impl.probe(path).last_step == 2
    assert impl.find_step(path, 1).step == 1
    assert len(impl.read_tree(path).entries) == 2


def test_f14_the_hook_gets_past_empty_lines(world):
    void = b"\n" * 500_000
    first, second = world.user("Before the void."), world.user("Behind the void.")
    text = world.fire(joined(first) + void + joined(second) + void)
    assert "Before the void." in text and "Behind the void." in text


@pytest.mark.parametrize("junk", [b"null", b"}{", b'{"torn', b"\xff\xfe\0"], ids=repr)
def test_f06_the_hook_gets_past_thousands_of_lines_that_are_no_records(world, junk):
    first, second = world.user("Before the rubble."), world.user("Behind the rubble.")
    text = world.fire(joined(first, second) + (junk + b"\n") * 20_000)
    assert "Before the rubble." in text and "Behind the rubble." in text


def test_f19_a_byte_order_mark_at_the_start_hides_nothing(world):
    mark = "\ufeff".encode()
    text = world.fire(mark + joined(world.user("The first."), world.user("A \ufeff within.")))
    assert "The first." in text and "A \\u{feff} within." in text


@pytest.mark.parametrize("ending", [b"\r\n", b"\r\r\n", b" \r\n"], ids=repr)
def test_f20_lines_that_end_in_a_return_are_read(world, ending):
    lines = [world.user("One."), world.user("Two."), world.user("Three.")]
    text = world.fire(lines[0] + ending + lines[1] + b"\n" + lines[2] + ending)
    assert all(words in text for words in ("One.", "Two.", "Three."))


def test_f20_a_lone_return_ends_no_line(world):
    text = world.fire(joined(world.user("One.") + b"\r" + world.user("Two."), world.user("Three.")))
    assert all(words in text for words in ("One.", "Two.", "Three."))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_f24_a_log_in_another_encoding_is_not_guessed_at(world, encoding):
    data = joined(world.user("Ask."), world.said("Answer."))
    if world.name == "antigravity":
        data += json.dumps(checkpoint(9)).encode() + b"\n"
    world.path.write_bytes(data.decode().encode(encoding))
    assert world.fire() == ""


@pytest.mark.parametrize("line", [b"[]", b"7", b"null", b'"text"', b'[{"type":"CHECKPOINT","status":"DONE"}]'])
def test_f32_a_line_that_is_no_object_hides_nothing(world, line):
    text = world.fire(joined(line, world.user("One."), line, world.user("Two."), line))
    assert "One." in text and "Two." in text
