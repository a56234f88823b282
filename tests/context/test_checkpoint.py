"""What a checkpoint may be, and writing one."""

import json
import math
import os

import pytest

from rehydrate.context import checkpoint as checkpoints
from rehydrate.context.checkpoint import Checkpoint, commit, digest_of
from rehydrate.context.errors import BadCheckpoint, Superseded
from rehydrate.context.restore import restore
from rehydrate.session import Session, assistant, user

from .logs import SUMMARY, checkpoint_of, compact, talk, view


@pytest.fixture
def restored(log):
    talk(log, "one", "two", "three")
    return restore(log.path)


# -- what one is ------------------------------------------------------------------------------------------------------


def test_it_says_what_it_covers(log, restored):
    made = checkpoint_of(restored, 4)
    covered = restored.sources[:4]
    assert (made.parent, made.session_id) == (None, log.session_id)
    assert (made.from_seq, made.through_seq, made.through) == (2, 5, covered[-1]["uuid"])
    assert made.digest == digest_of(covered) != digest_of(covered[:3])


def test_it_may_cover_nothing_but_what_its_parent_has_left(log, restored):
    compact(log, keep=2)
    made = checkpoint_of(restore(log.path), 0)
    assert (made.from_seq, made.through_seq, made.through) == (None, None, None) and made.parent


def test_its_id_is_that_of_its_content(restored):
    one, again = checkpoint_of(restored, 4), checkpoint_of(restored, 4)
    assert one == again and one.id == again.id
    assert len({one.id, checkpoint_of(restored, 3).id, checkpoint_of(restored, 4, "other").id}) == 3


def test_it_is_read_as_it_was_made(restored):
    made = checkpoint_of(restored, 4, messages=[{"role": "user", "content": [{"type": "text", "text": "\ud800 é"}]}])
    assert Checkpoint.from_record(json.loads(json.dumps(made.record()))) == made


def test_what_it_was_made_of_can_change_afterwards(restored):
    messages = [{"role": "user", "content": [{"type": "text", "text": "one"}]}]
    made = checkpoint_of(restored, 4, messages=messages)
    messages[0]["content"][0]["text"] = "two"
    assert Checkpoint.from_record(made.record()) == made


@pytest.mark.parametrize("count", [0, 4_097])
def test_it_has_1_to_4096_messages(restored, count):
    with pytest.raises(BadCheckpoint, match=r"1 to 4,096 messages"):
        checkpoint_of(restored, 4, messages=[{"role": "user", "content": "x"}] * count)
    checkpoint_of(restored, 4, messages=[{"role": "user", "content": "x"}] * 4_096)


@pytest.mark.parametrize("letter", ["x", "\n", "ü", "語"])
def test_its_messages_take_16_MiB_at_most(restored, monkeypatch, letter):
    monkeypatch.setattr(checkpoints, "BYTES_MOST", 1_000)
    around = len('[{"role":"user","content":""}]')
    each = len(json.dumps(letter, ensure_ascii=False).encode()) - 2
    most = (1_000 - around) // each
    checkpoint_of(restored, 4, letter * most)
    with pytest.raises(BadCheckpoint, match=r"1,000 bytes at most"):
        checkpoint_of(restored, 4, letter * (most + 1))


def changed(made, **members):
    return {**made.record(), **members}


BROKEN = {
    "no object": lambda made: [made.record()],
    "of a later version": lambda made: changed(made, version=2),
    "of no version": lambda made: {k: v for k, v in made.record().items() if k != "version"},
    "a member is missing": lambda made: {k: v for k, v in made.record().items() if k != "digest"},
    "another text": lambda made: changed(made, messages=[{"role": "user", "content": "other"}]),
    "no messages": lambda made: changed(made, messages=[]),
    "messages are no list": lambda made: changed(made, messages={"role": "user"}),
    "a message is none": lambda made: changed(made, messages=["hello"]),
    "a message has no content": lambda made: changed(made, messages=[{"role": "user"}]),
    "a message of nobody": lambda made: changed(made, messages=[{"role": "host", "content": "x"}]),
    "a block is none": lambda made: changed(made, messages=[{"role": "user", "content": ["x"]}]),
    "a block of no type": lambda made: changed(made, messages=[{"role": "user", "content": [{"type": {}}]}]),
    "a call without an id": lambda made: changed(
        made, messages=[{"role": "assistant", "content": [{"type": "tool_use", "id": [], "name": "ls"}]}]
    ),
    "no reason": lambda made: changed(made, reason="because"),
    "no strategy": lambda made: changed(made, strategy="luck"),
    "no outcome": lambda made: changed(made, outcome=None),
    "a reason that is no text": lambda made: changed(made, reason=["manual"]),
    "the range is upside down": lambda made: changed(made, from_seq=9, through_seq=2),
    "the range is no numbers": lambda made: changed(made, from_seq=True),
    "figures are no numbers": lambda made: changed(made, figures={"before": "many"}),
    "figures of something else": lambda made: changed(made, figures={"price": 1}),
    "figures below nothing": lambda made: changed(made, figures={"before": -1}),
    "the ledger is no list": lambda made: changed(made, ledger={"a": 1}),
    "another id": lambda made: changed(made, id="0" * 64),
    "an id that is none": lambda made: changed(made, id=1),
    "a parent that is none": lambda made: changed(made, parent=1),
    "a digest that is none": lambda made: changed(made, digest="x"),
}


@pytest.mark.parametrize("change", [{"payload": "changed"}, {"status": None}, {"heading": 1}, {"seq": "x"}])
def test_a_ledger_that_no_engine_could_begin_with_is_refused(restored, change):
    made = checkpoint_of(restored, 4)
    (item,) = made.ledger
    with pytest.raises(BadCheckpoint, match=r"the ledger of a checkpoint cannot be read"):
        checkpoint_of(restored, 4, ledger=[{**item, **change}])


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_what_is_none_is_refused_and_says_why(restored, broken):
    with pytest.raises(BadCheckpoint) as raised:
        Checkpoint.from_record(broken(checkpoint_of(restored, 4)))
    assert str(raised.value)[0].islower() and len(str(raised.value)) < 300


@pytest.mark.parametrize("value", [math.nan, object(), {1, 2}], ids=["a number that is none", "an object", "a set"])
def test_messages_that_are_no_json_are_refused(restored, value):
    with pytest.raises(BadCheckpoint):
        checkpoint_of(restored, 4, messages=[{"role": "user", "content": "x", "wire": value}])


def test_it_is_checked_before_it_is_written(log, restored, monkeypatch):
    made = checkpoint_of(restored, 4)
    before = restore(log.path)
    object.__setattr__(made, "messages", ({"role": "user", "content": "other"},))
    with pytest.raises(BadCheckpoint):
        commit(log, made, summary="s", preserve=[], expect=None)
    assert restore(log.path) == before


# -- writing one ------------------------------------------------------------------------------------------------------


def test_it_is_one_entry_of_the_log_with_a_summary_for_other_readers(log, restored):
    uuid, made = compact(log)
    with Session.open(log.path) as session:
        mark = session.messages[uuid]
        assert mark["checkpoint"] == made.record()
        assert (mark["compactMetadata"]["trigger"], mark["compactMetadata"]["preTokens"]) == ("manual", 100)
        assert session.view("active").boundary == uuid
        told = [record["message"]["content"] for record in session.view("active") if "message" in record]
        assert told[0] == SUMMARY


def test_what_it_covers_is_replaced_and_what_it_keeps_stays(log, restored):
    compact(log, keep=2, text="in short")
    assert view(restore(log.path)) == ["in short", "three", "three!"]
    assert view(restored) == ["one", "one!", "two", "two!", "three", "three!"]


def test_t39_what_is_neither_covered_nor_to_be_preserved_stays_too(log, restored):
    made = checkpoint_of(restored, 2, "in short")
    commit(log, made, summary="s", preserve=[], expect=None)
    assert view(restore(log.path)) == ["in short", "two", "two!", "three", "three!"]


def test_t39_a_range_that_the_log_does_not_hold_is_not_replaced(log, restored):
    made = checkpoint_of(restored, 4)
    for wrong in ({"digest": digest_of(restored.sources[:3])}, {"through": restored.sources[2]["uuid"]}):
        record = {**made.record(), **wrong}
        other = Checkpoint.from_record({**record, "id": checkpoints._id_of(record)})
        with pytest.raises(Superseded):
            commit(log, other, summary="s", preserve=[], expect=None)
    assert restore(log.path) == restored


@pytest.mark.parametrize("knows", [True, False], ids=["of what was made of it", "of the log as it is"])
def test_what_was_appended_while_the_summary_was_made_stays(log, open_log, restored, knows):
    made = checkpoint_of(restored, 4, "in short")
    talk(log, "meanwhile")
    given = {"restored": restored} if knows else {}
    commit(log, made, summary="s", preserve=[each["uuid"] for each in restored.entries[4:]], expect=None, **given)
    log.append_durable(user("afterwards"))
    words = ["in short", "three", "three!", "meanwhile", "meanwhile!", "afterwards"]
    assert view(restore(log.path)) == words


def test_what_another_process_appended_while_the_summary_was_made_stays(log, open_log, restored):
    made = checkpoint_of(restored, 4, "in short")
    other = open_log()
    talk(other, "from elsewhere")
    commit(log, made, summary="s", preserve=[], expect=None, restored=restored)
    assert view(restore(log.path)) == ["in short", "three", "three!", "from elsewhere", "from elsewhere!"]
    talk(other, "still")
    assert view(restore(log.path))[-2:] == ["still", "still!"] and restore(log.path).checkpoint == made


def test_of_two_that_commit_the_second_is_superseded_and_writes_nothing(log, open_log, restored):
    other = open_log()
    one, two = checkpoint_of(restored, 4, "one"), checkpoint_of(restored, 2, "two")
    commit(log, one, summary="one", preserve=[], expect=restored.newest)
    with open(log.path, "rb") as file:
        before = file.read()
    for given in ({}, {"restored": restored}):
        with pytest.raises(Superseded):
            commit(other, two, summary="two", preserve=[], expect=restored.newest, **given)
    with open(log.path, "rb") as file:
        assert file.read() == before
    assert restore(log.path).checkpoint == one


def test_a_compaction_without_a_checkpoint_counts_as_another_one(log, restored):
    log.compact("by hand", trigger="manual")
    with pytest.raises(Superseded):
        commit(log, checkpoint_of(restored, 4), summary="s", preserve=[], expect=None, restored=restored)


def test_nothing_is_committed_when_the_user_has_turned_to_something_else(log, restored):
    log.append_durable(user("not so", parentUuid=restored.entries[1]["uuid"]))
    for given in ({}, {"restored": restored}):
        with pytest.raises(Superseded):
            commit(log, checkpoint_of(restored, 4), summary="s", preserve=[], expect=None, **given)
    assert view(restore(log.path)) == ["one", "one!", "not so"]


def test_t41_a_commit_that_was_not_told_to_have_worked_can_be_made_again(log, open_log, restored):
    uuid, made = compact(log)
    with open(log.path, "rb") as file:
        before = file.read()
    for again in (log, open_log()):
        assert commit(again, made, summary="s", preserve=[], expect=None) == uuid
        assert commit(again, made, summary="s", preserve=[], expect=None, restored=restored) == uuid
    with open(log.path, "rb") as file:
        assert file.read() == before
    talk(log, "more")
    assert view(restore(log.path))[-2:] == ["more", "more!"]


def test_t41_nor_is_it_written_again_when_others_were_written_since(log, restored):
    uuid, made = compact(log)
    talk(log, "four")
    compact(log)
    assert commit(log, made, summary="s", preserve=[], expect=None) == uuid


def test_the_same_compaction_can_be_made_again_when_it_was_undone(log, restored):
    uuid, made = compact(log)
    log.append_durable(user("not so", parentUuid=made.through))
    now = restore(log.path)
    assert now.checkpoint is None and now.newest == uuid
    again = checkpoint_of(now, 4)
    assert again == made
    assert commit(log, again, summary="s", preserve=[], expect=now.newest) != uuid
    assert view(restore(log.path)) == [SUMMARY, "not so"]


def test_each_goes_on_from_the_one_before(log, restored):
    ids = [None]
    for round in range(5):
        talk(log, f"round {round}")
        _, made = compact(log, text=f"summary {round}")
        assert made.parent == ids[-1]
        ids.append(made.id)
    assert view(restore(log.path)) == ["summary 4", "round 4", "round 4!"]


def test_t51_an_older_checkpoint_is_never_changed(log, restored):
    first, made = compact(log)
    between = talk(log, "four", "five")
    compact(log)
    with Session.open(log.path) as session:
        assert Checkpoint.from_record(session.messages[first]["checkpoint"]) == made
    log.append_durable(user("rather so", parentUuid=between[1]))
    found = restore(log.path)
    assert found.checkpoint == made and view(found)[0] == SUMMARY


def test_an_open_call_and_what_follows_it_stays_when_it_is_kept(log):
    talk(log, "one")
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    log.append([user("look"), assistant([call], message={"id": "m"})])
    compact(log, keep=2)
    log.append_durable(user([{"type": "tool_result", "tool_use_id": "c1", "content": "README.md"}]))
    assert view(restore(log.path))[1:] == ["look", "tool_use", "README.md"]


def test_there_is_nothing_to_commit_in_a_log_that_was_not_begun(log):
    restored = restore(log.path)
    assert (restored.entries, restored.checkpoint, restored.tip, restored.newest) == ((), None, None, None)


def test_it_is_on_disk_when_the_commit_returns(log, restored, monkeypatch):
    calls = []
    for name in ("write", "fsync"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: (real(*given), calls.append(name))[0])
    for _ in range(2):  # also when it was there already: whoever wrote it need not have come that far
        commit(log, checkpoint_of(restored, 4), summary="s", preserve=[], expect=None)
        assert calls and calls[-1] == "fsync"
        calls.clear()
