"""A compaction that holds only if the session is still what it was seen as."""

import os
from pathlib import Path

import pytest

from rehydrate.session import Compacted, Seen, assistant, user
from rehydrate.session.compacting import adopt
from rehydrate.session.reading import Session

from .conftest import records


@pytest.fixture
def log(make_log):
    made = make_log()
    made.append([user("one", uuid="u1"), assistant("two", uuid="a1")])
    made.flush()
    return made


def seen(log, *line):
    return Seen(os.path.getsize(log.path), log.tip, frozenset(line or ("u1", "a1")))


def compact(log, how, *, preserve=("a1",), **more):
    return log.compact("in short", trigger="auto", preserve=preserve, seen=how, **more)


def active(log):
    with Session.open(log.path) as session:
        return list(session.view("active").uuids)


def test_it_is_written_as_any_other(log):
    uuid = compact(log, seen(log), checkpoint={"id": "x"}, pre_tokens=9)
    mark, told = records(log.path)[-2:]
    assert (mark["uuid"], told["parentUuid"], log.tip) == (uuid, uuid, told["uuid"])
    assert (mark["logicalParentUuid"], mark["checkpoint"], mark["compactMetadata"]["preTokens"]) == (
        "a1",
        {"id": "x"},
        9,
    )
    assert active(log) == [uuid, told["uuid"], "a1"]


def test_what_was_appended_since_by_whomever_stays_in_its_order(log, make_log):
    how = seen(log)
    log.append([user("three", uuid="u2"), {"type": "mode", "mode": "plan"}])
    log.flush()
    other = make_log()
    other.append_durable(assistant("four", uuid="a2"))
    other.append_durable(user("aside", uuid="s1", isSidechain=True))
    compact(log, how)
    assert active(log)[2:] == ["a1", "u2", "a2"]
    assert records(log.path)[-2]["logicalParentUuid"] == "a2"


def test_a_branch_that_others_have_begun_since_is_none_of_it(log, make_log):
    how = seen(log)
    make_log().append_durable(user("elsewhere", uuid="u9", parentUuid="u1"))
    compact(log, how)
    assert active(log)[2:] == ["a1"]


@pytest.mark.parametrize("checkpoint", [None, {"id": "x"}, {}])
def test_after_another_compaction_it_is_not_written(log, make_log, checkpoint):
    how = seen(log)
    make_log().compact("another", trigger="manual", checkpoint={"id": "y"})
    before = records(log.path)
    with pytest.raises(Compacted) as raised:
        compact(log, how, checkpoint=checkpoint)
    assert raised.value.path == log.path and records(log.path) == before
    assert log.append_durable(user("on", uuid="u2")) == "u2"


def test_the_same_compaction_is_written_once(log, make_log):
    how = seen(log)
    uuid = compact(log, how, checkpoint={"id": "x"})
    before = records(log.path)
    assert compact(log, how, checkpoint={"id": "x"}) == uuid
    assert compact(make_log(tip="a1"), how, checkpoint={"id": "x"}) == uuid
    assert records(log.path) == before
    last = log.append_durable(user("on"))
    assert active(log)[2:] == ["a1", last]


def test_when_the_log_has_gone_on_from_elsewhere_it_is_not_written(log):
    how = seen(log)
    log.append_durable(user("not so", uuid="u2", parentUuid="u1"))
    before = records(log.path)
    with pytest.raises(Compacted):
        compact(log, how)
    assert records(log.path) == before


def test_what_waits_in_the_queue_is_written_first(log):
    how = seen(log)
    log.append(user("three", uuid="u2"))
    compact(log, how)
    assert active(log)[2:] == ["a1", "u2"]


def test_a_file_that_has_become_shorter_is_looked_through_as_a_whole(log):
    how = Seen(10_000, "a1", frozenset(("u1", "a1")))
    compact(log, how)
    with pytest.raises(Compacted):
        compact(log, how)


def test_a_log_goes_on_from_what_another_process_has_compacted(log, make_log):
    end = os.path.getsize(log.path)
    other = make_log()
    compact(other, seen(other))
    adopt(log, end=end)
    assert log.tip == other.tip
    log.append_durable(user("three", uuid="u2"))
    assert active(log)[2:] == ["a1", "u2"]


def test_it_goes_on_from_a_compaction_whose_entry_with_the_summary_a_crash_has_cut_off(log, make_log):
    end = os.path.getsize(log.path)
    uuid = compact(make_log(), seen(log))
    data = Path(log.path).read_bytes()
    Path(log.path).write_bytes(data[: data[:-1].rfind(b"\n") + 1])
    adopt(log, end=end)
    assert log.tip == uuid


def test_it_does_not_go_on_from_what_was_known_nor_from_another_line_of_descent(log, make_log):
    end = os.path.getsize(log.path)
    other = make_log()
    other.append_durable(user("elsewhere", uuid="u9"))
    compact(other, Seen(os.path.getsize(log.path), "u9", frozenset({"u1", "a1", "u9"})))
    adopt(log, end=end)
    assert log.tip == "a1"
    log.append_durable(user("three", uuid="u2"))
    uuid = compact(log, Seen(os.path.getsize(log.path), "u2", frozenset({"u1", "a1", "u2"})))
    log.append(user("three", uuid="u2"))  # back to what came before
    adopt(log, end=os.path.getsize(log.path))
    assert uuid and log.tip == "u2"
