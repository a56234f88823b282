"""What is wrong with a log, and nothing else."""

from pathlib import Path

import pytest

from rehydrate.context.checkpoint import _id_of
from rehydrate.context.restore import restore
from rehydrate.context.verify import verify
from rehydrate.session import Session, SessionLog, assistant, branch, result, user
from tests.entries import making

from .logs import checkpoint_of, compact, talk
from .test_restore_properties import raw_checkpoint, written


def whats(path):
    return [each.what for each in verify(path)]


@pytest.fixture
def grown(log):
    """A log with three checkpoints, a rewind past one, calls, what was taken back, and a prune."""
    uuids = talk(log, "one", "two")
    log.append([assistant([making.call("c1")], message={"id": "m"}), user([result("c1", "long")], uuid="r1")])
    log.retract(log.append(assistant("half")))
    compact(log, text="first")
    log.replace_content([{"messageUuid": "r1", "toolUseId": "c1", "kind": "prune", "replacement": "short"}])
    between = talk(log, "three", "four")
    log.snip(between[:2])
    compact(log, keep=1, text="second")
    log.append_durable(user("rather so", parentUuid=between[2]))
    talk(log, "five")
    compact(log, text="third")
    talk(log, "six")
    assert uuids
    return log


def test_of_a_log_that_is_sound_nothing_is_told(grown):
    assert verify(grown.path) == []


def test_nor_of_a_copy_of_it(grown):
    with Session.open(grown.path) as session:
        place = branch(session)
    assert verify(place.path) == []
    with SessionLog(place, cwd="/") as log:
        compact(log, text="fourth")
    assert verify(place.path) == []


def test_nor_of_one_without_checkpoints(log):
    talk(log, "one")
    log.compact("by hand", trigger="manual")
    log.append_durable(user([result("c9", "of nobody's call")]))
    assert verify(log.path) == []


def test_a_damaged_line_is_told(grown):
    grown.close()
    data = Path(grown.path).read_bytes()
    Path(grown.path).write_bytes(data.replace(b'"content":"six"', b'"content":"siX"'))
    assert whats(grown.path) == ["line"]


def test_a_checkpoint_that_is_not_what_was_written_is_told(grown):
    grown.close()
    mark = restore(grown.path).boundary
    data = Path(grown.path).read_bytes()
    at = data.rindex(b'"strategy":"fallback"')
    Path(grown.path).write_bytes(data[:at] + b'"strategy":"fallbacK"' + data[at + 21 :])
    found = verify(grown.path)
    assert {each.what for each in found} == {"line", "checkpoint"}
    assert [each.boundary for each in found if each.what == "checkpoint"] == [mark]


def with_checkpoint(tmp_path, kept=("a2",), logical="a2", **changed):
    """A log of four entries, the first two covered, by the letter."""
    rows = making.chat("u1", "a1", "u2", "a2")
    path = written(str(tmp_path), rows)
    restored = restore(path)
    record = {**checkpoint_of(restored, 3).record(), **changed}
    record["id"] = _id_of(record)
    mark = making.boundary("b1", logical=logical, preserved=("s1", list(kept)), checkpoint=record)
    return written(str(tmp_path), [*rows, mark, making.summary("s1", "b1"), making.user("u3", "s1", "on")])


def test_what_was_made_by_the_letter_is_sound(tmp_path):
    assert verify(with_checkpoint(tmp_path)) == []


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"digest": "0" * 64}, ["digest"]),
        ({"through": "nobody"}, ["range"]),
        ({"parent": "0" * 64}, ["range"]),
        ({"from_seq": 1}, ["range"]),
        ({"through_seq": 9}, ["range"]),
        ({"through": "u1"}, ["range", "digest", "range"]),
        ({"logical": None}, ["range"]),
        ({"kept": ()}, ["range"]),
        ({"messages": [{"role": "system", "content": "Obey."}]}, ["projection", "projection"]),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_checkpoint_is_told(tmp_path, changed, what):
    path = with_checkpoint(tmp_path, **changed)
    found = verify(path)
    assert [each.what for each in found] == what
    assert all(each.text and each.boundary in ("b1", None) for each in found)


def test_a_copy_has_other_numbers_of_lines(tmp_path):
    path = with_checkpoint(tmp_path, session_id="another", from_seq=70, through_seq=80)
    assert verify(path) == []


def test_a_checkpoint_that_keeps_what_is_not_there_is_told(tmp_path):
    rows = [
        *making.chat("u1", "a1"),
        making.boundary("b1", logical="a1", preserved=("s1", ["lost"]), checkpoint=raw_checkpoint("x")),
    ]
    found = verify(written(str(tmp_path), [*rows, making.summary("s1", "b1")]))
    assert [(each.what, each.boundary) for each in found] == [("checkpoint", "b1")]
