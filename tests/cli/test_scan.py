"""`rehydrate scan`: the records of a file, and a cursor that goes on where the last read ended."""

import json

import pytest


def record(step, type, **more):
    return json.dumps({"step_index": step, "type": type, **more}).encode() + b"\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(record(0, "USER_INPUT") + record(1, "CHECKPOINT") + b"broken\n" + record(2, "USER_INPUT"))
    return path


def lines(done):
    assert done.status == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_json_is_a_line_for_each_record(shell, log):
    told = lines(shell.run("scan", log, "--json"))
    assert told[0] == {"step": 0, "type": "USER_INPUT", "offset": 0, "length": 39}
    assert [each["step"] for each in told] == [0, 1, 2]
    data = log.read_bytes()
    assert all(json.loads(data[e["offset"] : e["offset"] + e["length"]])["step_index"] == e["step"] for e in told)


def test_types_and_steps_say_which_records_are_listed(shell, log):
    assert [e["step"] for e in lines(shell.run("scan", log, "--json", "--types", "USER_INPUT, X"))] == [0, 2]
    assert [e["step"] for e in lines(shell.run("scan", log, "--json", "--steps", "1..2"))] == [1, 2]
    assert [e["step"] for e in lines(shell.run("scan", log, "--json", "--steps", "1.."))] == [1, 2]
    assert [e["step"] for e in lines(shell.run("scan", log, "--json", "--steps", "..0"))] == [0]
    assert [e["step"] for e in lines(shell.run("scan", log, "--json", "--steps", "1"))] == [1]


def test_tail_tells_the_boundaries_and_where_the_file_ends(shell, log):
    told = shell.run("scan", log, "--tail", "--json").json
    assert told.keys() == {"cursor", "boundaries", "last_step", "lines", "damaged", "restarted"}
    assert told["boundaries"] == [{"step": 1, "offset": 40, "length": 39}]
    assert (told["last_step"], told["lines"], told["damaged"], told["restarted"]) == (2, 4, 1, False)


def test_the_cursor_goes_on_where_it_stood(shell, log):
    cursor = json.dumps(shell.run("scan", log, "--tail", "--json").json["cursor"])
    with log.open("ab") as file:
        file.write(record(3, "CHECKPOINT"))
    assert [e["step"] for e in lines(shell.run("scan", log, "--json", "--cursor", cursor))] == [3]
    told = shell.run("scan", log, "--tail", "--json", "--cursor", cursor).json
    assert [each["step"] for each in told["boundaries"]] == [3]


def test_the_cursor_that_tail_prints_for_people_is_taken_too(shell, log):
    cursor = next(line for line in shell.run("scan", log, "--tail").out.splitlines() if "cursor" in line).split()[-1]
    assert lines(shell.run("scan", log, "--json", "--cursor", cursor)) == []


@pytest.mark.parametrize("cursor", ["7", "[1,2]", '[2,0,"00000000"]', '[1,-1,"00000000"]', "[1,0,0]", "x", "[[["])
def test_a_cursor_of_another_shape_is_wrong_usage(shell, log, cursor):
    assert shell.run("scan", log, "--cursor", cursor).status == 2


def test_tail_takes_no_filter(shell, log):
    assert shell.run("scan", log, "--tail", "--types", "X").status == 2


def test_text_says_how_many_lines_were_damaged(shell, log):
    done = shell.run("scan", log)
    assert done.out.splitlines()[1].split() == ["0", "39", "0", "USER_INPUT"]
    assert "1 damaged" in done.err


def test_nothing_is_written(shell, log):
    before = sorted(shell.folder.rglob("*"))
    shell.run("scan", log, "--tail")
    assert sorted(shell.folder.rglob("*")) == before


@pytest.mark.parametrize("steps", ["5..2", "a", "1..b", "1...2", ""])
def test_a_range_that_is_none_is_wrong_usage(shell, log, steps):
    assert shell.run("scan", log, "--steps", steps).status == 2


def test_a_list_that_is_empty_says_so(shell, log):
    done = shell.run("scan", log, "--types", "NOPE")
    assert (done.status, len(done.out.splitlines())) == (0, 1)
    assert "no record is listed" in done.err
    assert shell.run("scan", log, "--types", "NOPE", "--json").err == ""


def test_tail_says_whether_the_cursor_that_was_given_fitted(shell, log):
    cursor = json.dumps(shell.run("scan", log, "--tail", "--json").json["cursor"])
    assert "given cursor" not in shell.run("scan", log, "--tail").out
    assert "fitted" in shell.run("scan", log, "--tail", "--cursor", cursor).out
    log.write_bytes(record(7, "USER_INPUT"))
    assert "did not fit" in shell.run("scan", log, "--tail", "--cursor", cursor).out
