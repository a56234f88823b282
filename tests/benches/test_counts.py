"""Counts of instructions are held against what was recorded for the same compiler and processor, and no other."""

import pytest

from benches import counts

KEY = "kernels: some compiler"
RECORDED = {counts.INPUT: 7, "walk": 1_000, "probe": 1_000}


def test_three_percent_more_is_let_pass_and_what_is_above_is_named():
    found = {counts.INPUT: 7, "walk": 1_030, "probe": 1_031}
    (fault,) = counts.compare(KEY, found, RECORDED)
    assert "probe takes 1,031 instructions, 3.1% more" in fault


def test_fewer_are_no_fault():
    assert counts.compare(KEY, {**RECORDED, "walk": 10}, RECORDED) == []


def test_nothing_is_compared_where_nothing_is_recorded_and_that_is_said(capsys):
    assert counts.compare(KEY, RECORDED, None) == []
    assert "nothing is recorded for this compiler and processor" in capsys.readouterr().out


def test_another_transcript_than_the_recorded_one_is_a_fault():
    (fault,) = counts.compare(KEY, {**RECORDED, counts.INPUT: 8}, RECORDED)
    assert "another one than the counts were recorded with" in fault


@pytest.mark.parametrize("program", ["valgrind", "cargo"])
def test_where_a_program_is_missing_that_is_said_and_nothing_fails(program, monkeypatch, capsys):
    monkeypatch.setattr(counts.shutil, "which", lambda name: None if name == program else f"/usr/bin/{name}")
    monkeypatch.setattr(counts.sys, "argv", ["counts"])
    monkeypatch.setattr(counts, "count_kernels", lambda: pytest.fail("it was counted"))
    counts.main()
    assert f"{program} is not here: no instructions were counted." in capsys.readouterr().out


def test_recorded_counts_are_for_the_transcript_that_is_generated_now(tmp_path):
    import json
    import zlib

    from benches.transcript import write_transcript

    write_transcript(tmp_path / "log", counts.MB, checkpoint=True)
    recorded = json.loads(counts.RECORDED.read_text())
    kernels = [each for key, each in recorded.items() if key.startswith("kernels: ")]
    assert kernels and all(each[counts.INPUT] == zlib.crc32((tmp_path / "log").read_bytes()) for each in kernels)
