"""`probe`, `probe_many`, `find_step` and `probe_candidates`."""

import os

import pytest

from tests.helpers import dump, step, write_lines

KIB = 1024


def offset_of(path, at):
    """Where line `at` begins."""
    with open(path, "rb") as file:
        return sum(len(line) for line in file.read().split(b"\n")[:at]) + at


def test_probe_gives_the_first_step_and_the_highest(impl, tmp_path):
    path = write_lines(
        tmp_path / "t", [step(3), step(9), step(4), step(9, status="RUNNING", created_at="late"), step(8)]
    )
    assert impl.probe(path) == (3, "2026-01-01T00:00:03Z", 9, "late", os.path.getsize(path))


def test_probe_of_a_file_without_steps_gives_none(impl, tmp_path):
    assert impl.probe(write_lines(tmp_path / "t", [])) == (None, None, None, None, 0)
    path = write_lines(tmp_path / "t", [{"created_at": "x"}, b"broken"])
    assert impl.probe(path)[:4] == (None, None, None, None)


def test_probe_looks_for_the_first_step_in_16_lines_that_are_not_blank(impl, tmp_path):
    path = write_lines(tmp_path / "t", [b"", b"broken", b"  ", *[{"a": 1}] * 14, b"", step(5)])
    assert impl.probe(path).first_step == 5
    path = write_lines(tmp_path / "t", [b"broken", *[{"a": 1}] * 15, step(5)])
    assert impl.probe(path)[:3] == (None, None, 5)


def test_probe_sees_the_highest_step_of_the_last_64_kib_only(impl, tmp_path):
    filler = [step(at, content="x" * KIB) for at in range(70)]
    path = write_lines(tmp_path / "t", [step(1), step(500), *filler])
    assert impl.probe(path)[:3:2] == (1, 69)
    path = write_lines(tmp_path / "t", [step(1), *filler[:30], step(500), *filler[:30]])
    assert impl.probe(path).last_step == 500


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_a_line_that_begins_at_the_window_s_border_lies_in_it(impl, tmp_path, spare):
    last = step(2, content="")
    last["content"] = "x" * (64 * KIB - len(dump(last)) - 1 - len(dump(step(7))) - 1 + spare)
    path = write_lines(tmp_path / "t", [step(9), step(7), last])
    assert impl.probe(path).last_step == (2 if spare == 1 else 7)


def test_the_window_is_doubled_until_a_complete_record_lies_in_it(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1), step(8), step(7, content="x" * 300 * KIB)])
    assert impl.probe(path).last_step == 8
    with open(path, "ab") as file:
        file.write(dump(step(9, content="y" * 900 * KIB)))
    assert impl.probe(path).last_step == 8
    path = write_lines(tmp_path / "t", [step(1), b"broken " * 100_000])
    assert impl.probe(path).last_step == 1


def test_records_without_a_step_end_the_doubling(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1), *[{"content": "x" * KIB}] * 200])
    assert impl.probe(path)[:3:2] == (1, None)


def test_a_window_cut_through_a_line_is_not_read_as_a_record(impl, tmp_path):
    inner = '{"step_index":99}'
    path = write_lines(tmp_path / "t", [step(1, content=inner * 10_000), step(2)])
    assert impl.probe(path).last_step == 2
    assert impl.find_step(path, 99) is None


def test_many_probes_come_in_the_order_of_the_paths_and_none_for_what_cannot_be_read(impl, tmp_path):
    made = [
        write_lines(tmp_path / str(at), [step(at % 9, content="x" * (at % 7) * 20 * KIB), step(at, content="y" * at)])
        for at in range(60)
    ]
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    paths = [*made, tmp_path / "missing", tmp_path / "folder", os.fsencode(tmp_path / "fifo"), "", "a\0b", "\ud800"]
    found = impl.probe_many(paths)
    assert found == [*map(impl.probe, made), *[None] * 6]
    assert [each and each.last_step for each in found[:60]] == [max(at % 9, at) for at in range(60)]
    assert impl.probe_many([]) == []


def test_many_probes_follow_a_link_unless_told_not_to(impl, tmp_path):
    (tmp_path / "folder").mkdir()
    path = write_lines(tmp_path / "folder" / "t", [step(1)])
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "above").symlink_to(tmp_path / "folder")
    paths = [path, tmp_path / "link", tmp_path / "above" / "t"]
    assert impl.probe_many(paths) == [impl.probe(path)] * 3
    assert impl.probe_many(paths, follow_symlinks=False) == [impl.probe(path), None, impl.probe(path)]


@pytest.mark.parametrize("paths", ["t", b"t"])
def test_many_probes_want_several_paths(impl, paths):
    with pytest.raises(TypeError, match="several paths"):
        impl.probe_many(paths)


@pytest.mark.parametrize("gap", [":", ": "])
@pytest.mark.parametrize("size", [10, 100, 5 * KIB])
def test_the_highest_step_has_however_many_digits(impl, tmp_path, gap, size):
    for steps in ((9, 8), (9, 10, 8), (99, 1000, 98, 100, 9), (100, 20, 3), (0,), (10**17, 10**18, 5), (7, 7)):
        records = [b'{"step_index"%s%d, "x": "%s"}' % (gap.encode(), at, b"x" * size) for at in steps]
        path = write_lines(tmp_path / "t", records)
        assert impl.probe(path)[:3:2] == (steps[0], max(steps))


def test_find_step_takes_the_last_line_of_a_step(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1), step(2, status="RUNNING"), step(2, created_at="done"), step(3)])
    assert impl.find_step(path, 2) == (2, "done", offset_of(path, 2), 3)


def test_find_step_goes_on_behind_a_larger_step(impl, tmp_path):
    filler = [step(at, content="x" * KIB) for at in range(200, 300)]
    path = write_lines(tmp_path / "t", [step(50), *filler, step(7), *filler])
    assert impl.find_step(path, 7) == (7, "2026-01-01T00:00:07Z", offset_of(path, 101), 299)
    assert impl.find_step(path, 50).offset == 0
    assert impl.find_step(path, 8) is None


@pytest.mark.parametrize(("slack", "wanted"), [(0, None), (1, None), (2, 8), (3, 8), (100, 8)])
def test_find_step_takes_the_largest_within_the_slack(impl, tmp_path, slack, wanted):
    path = write_lines(tmp_path / "t", [step(8), step(5), step(7), step(11)])
    found = impl.find_step(path, 10, slack=slack)
    assert (found and found.step) == wanted


def test_find_step_prefers_a_larger_step_before_the_window_to_one_in_it(impl, tmp_path):
    filler = [step(at, content="x" * KIB) for at in range(200, 300)]
    path = write_lines(tmp_path / "t", [step(9), *filler, step(8)])
    assert impl.find_step(path, 10, slack=2)[0::2] == (9, 0)
    assert impl.find_step(path, 10, slack=1)[0::2] == (9, 0)
    path = write_lines(tmp_path / "t", [step(8, created_at="old"), *filler, step(8, created_at="new")])
    assert impl.find_step(path, 10, slack=2).created_at == "new"


def test_find_step_is_not_taken_in_by_a_broken_line(impl, tmp_path):
    filler = [step(at, content="x" * KIB) for at in range(200, 300)]
    broken = b'{"step_index":7,broken}'
    for order in ([broken, step(6), *filler], [*filler, step(6), broken]):
        path = write_lines(tmp_path / "t", order)
        assert impl.find_step(path, 7) is None
        assert impl.find_step(path, 7, slack=1).step == 6


def test_find_step_without_created_at(impl, tmp_path):
    path = write_lines(tmp_path / "t", [{"step_index": 1, "created_at": 5}])
    assert impl.find_step(path, 1) == (1, None, 0, 1)


@pytest.mark.parametrize("step_", [2**63, 2**70, -(2**63) - 1, -(2**70)])
def test_steps_beyond_64_bits_are_not_found(impl, tmp_path, step_):
    path = write_lines(tmp_path / "t", [step(1), {"step_index": 2**63 - 1}, {"step_index": -(2**63)}])
    assert impl.find_step(path, step_) is None
    assert impl.probe_candidates([path], step_) == [None]
    with pytest.raises(FileNotFoundError):
        impl.find_step(path + "x", step_)


def test_a_slack_beyond_64_bits_reaches_everything(impl, tmp_path):
    path = write_lines(tmp_path / "t", [{"step_index": -(2**63)}])
    assert impl.find_step(path, 2**63 - 1, slack=2**80).step == -(2**63)
    assert impl.find_step(path, 2**65, slack=2**80).step == -(2**63)


def test_a_step_and_a_slack_are_ints_and_the_slack_is_not_below_0(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    for call in (impl.find_step, lambda path, *more, **also: impl.probe_candidates([path], *more, **also)):
        with pytest.raises(ValueError, match="slack"):
            call(path, 1, slack=-1)
        for wrong in ("1", 1.0, None, True):
            with pytest.raises(TypeError):
                call(path, wrong)


def test_candidates_come_in_the_order_of_the_paths(impl, tmp_path):
    paths = []
    for at in range(40):
        paths.append(write_lines(tmp_path / f"t{at}", [step(at, created_at="first"), step(20), step(30 + at)]))
    found = impl.probe_candidates(paths, 20)
    assert found[21:] == [None] * 19
    for at, each in enumerate(found[:21]):
        size = os.path.getsize(paths[at])
        assert each == (
            at,
            "first",
            20,
            step(20)["created_at"],
            offset_of(paths[at], 1),
            30 + at,
            step(30 + at)["created_at"],
            size,
        )


def test_a_file_that_cannot_be_a_parent_is_none(impl, tmp_path):
    good = write_lines(tmp_path / "good", [step(1), step(5), step(9)])
    later = write_lines(tmp_path / "later", [step(6), step(9)])
    gap = write_lines(tmp_path / "gap", [step(1), step(9)])
    empty = write_lines(tmp_path / "empty", [])
    stepless = write_lines(tmp_path / "stepless", [{"a": 1}])
    found = impl.probe_candidates([good, later, gap, empty, stepless], 6, slack=1)
    assert [each and each.step for each in found] == [5, 6, None, None, None]
    assert impl.probe_candidates([], 6) == []


def test_f16_what_cannot_be_read_is_none_and_the_others_are_found(impl, tmp_path):
    good = write_lines(tmp_path / "good", [step(1)])
    gone = str(tmp_path / "gone")
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    found = impl.probe_candidates([gone, good, str(tmp_path), fifo, "/dev/zero", "nul\0in it", os.fsencode(good)], 1)
    assert [each and each.step for each in found] == [None, 1, None, None, None, None, 1]


def test_one_path_is_no_collection_of_paths(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    for wrong in (path, path.encode()):
        with pytest.raises(TypeError, match="paths"):
            impl.probe_candidates(wrong, 1)


def test_paths_may_be_any_iterable(impl, tmp_path):
    path = write_lines(tmp_path / "t", [step(1)])
    assert len(impl.probe_candidates(iter([path, tmp_path / "t"]), 1)) == 2
    with pytest.raises(TypeError):
        impl.probe_candidates([None], 1)
