"""A log held against itself: damage, checkpoints that are not what they say, and what a provider would refuse."""

from pathlib import Path

import pytest

from rehydrate.context import verify
from rehydrate.context import verifying as looking
from rehydrate.context.checkpoint import _id_of
from rehydrate.context.restore import restore
from rehydrate.session import (
    Place,
    Session,
    SessionLog,
    assistant,
    branch,
    export,
    fork,
    import_session,
    result,
    user,
)
from rehydrate.session.line import bare, sealed

from .logs import checkpoint_of, compact, talk
from .test_engine import Agent


@pytest.fixture
def twice(log):
    """Compacted twice: the uuids of what was said before, between and after."""
    before = talk(log, "one", "two")
    compact(log, text="first")
    between = talk(log, "three", "four")
    compact(log, text="second")
    return before, between, talk(log, "five")


def codes(path):
    return [each.code for each in verify(path).findings]


def change(path, old, new, *, seal=True):
    """Another content in the only line that has `old`, with a check that is right again, or not."""
    lines = Path(path).read_bytes().splitlines(keepends=True)
    (number,) = [at for at, line in enumerate(lines) if old in line]
    line = lines[number].replace(old, new)
    lines[number] = sealed(bare(line), number + 1) if seal else line
    Path(path).write_bytes(b"".join(lines))


def test_of_a_sound_log_everything_was_looked_at_and_nothing_is_wrong(log, twice):
    found = verify(log.path)
    assert (found.path, found.checkpoints, found.projections, found.findings) == (log.path, 2, 5, ())
    with Session.open(log.path) as session:
        assert found.records == len(session.log)


def test_a_log_without_a_checkpoint_is_looked_at_too(log):
    talk(log, "one")
    log.compact("They counted.", trigger="manual")
    found = verify(log.path)
    assert (found.checkpoints, found.projections, found.findings) == (0, 1, ())


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_what_an_engine_has_written_is_sound(log, format):
    agent = Agent(log, format)
    for _ in range(25):
        agent.turn()
    log.flush()
    found = verify(log.path)
    assert found.checkpoints > 1 and found.findings == ()


def test_what_happened_after_a_checkpoint_does_not_make_it_wrong(log, twice):
    before, between, _ = twice
    log.retract(before[0])
    log.snip([between[0]])
    log.append_durable(user("rather so", parentUuid=between[1]))
    compact(log, text="third", keep=1)
    assert verify(log.path).checkpoints == 3
    assert codes(log.path) == []


def test_a_copy_has_sound_checkpoints_though_its_lines_have_other_numbers(log, twice, tmp_path):
    with Session.open(log.path) as session:
        branched = branch(session).path
        with fork(session, cwd="/") as forked:
            forked.append_durable(user("asked in the fork"))
    with SessionLog(Place.of(branched), cwd="/") as other:
        talk(other, "six")
        compact(other, text="third")
    log.close()
    export(log.path, str(tmp_path / "talk.zip"))
    taken = import_session(str(tmp_path / "talk.zip"), root=str(tmp_path / "elsewhere")).path
    for path in (branched, forked.path, taken):
        found = verify(path)
        assert found.checkpoints >= 2 and (found.findings, found.unproven) == ((), ())


def test_in_a_copy_without_what_was_taken_back_a_checkpoint_is_unproven_and_not_wrong(log, twice):
    before, _, _ = twice
    log.retract(before[0])
    log.flush()
    with Session.open(log.path) as session:
        path = branch(session).path
    assert (codes(log.path), verify(log.path).unproven) == ([], ())
    first, second = [mark["uuid"] for mark in boundaries_of(path)]
    assert (codes(path), verify(path).unproven) == ([], (first,))
    assert second != first  # that covers what is here


def test_a_checkpoint_that_was_changed_is_told_in_a_copy_too(log, twice):
    log.flush()
    with Session.open(log.path) as session:
        path = branch(session).path
    change(path, b'[{"role":"user","content":"first"}]', b'[{"role":"user","content":"FIRST"}]')
    found = verify(path)
    assert ([each.code for each in found.findings], found.unproven) == (["checkpoint"], ())


def boundaries_of(path):
    with Session.open(path) as session:
        return [each for each in session.view("raw") if each.get("subtype") == "compact_boundary"]


def test_a_damaged_line_is_told_with_its_place(log, twice):
    change(log.path, b'"five"', b'"FIVE"', seal=False)
    (found,) = verify(log.path).findings
    assert (found.code, found.boundary) == ("damage", None)
    assert found.line is not None and found.line.line == 14 and "check is wrong" in found.text


def test_a_checkpoint_that_was_changed_is_told_and_the_next_is_not_blamed(log, twice):
    change(log.path, b'[{"role":"user","content":"first"}]', b'[{"role":"user","content":"FIRST"}]')
    (found,) = verify(log.path).findings
    assert found.code == "checkpoint" and "its id is that of another content" in found.text


def test_covered_entries_that_were_changed_are_told_though_the_checks_of_their_lines_are_right(log, twice):
    change(log.path, b'"content":"one"', b'"content":"ONE"')
    (found,) = verify(log.path).findings
    assert found.code == "digest" and found.boundary is not None and found.boundary[:8] in found.text


@pytest.mark.parametrize(
    ("member", "value", "code", "told"),
    [
        ("from_seq", 1, "range", "says that it covers the lines 1 to"),
        ("parent", "0" * 64, "checkpoint", "goes on from another one"),
        ("through", "gone", "range", "gone, which is not before it"),
        ("digest", "0" * 64, "digest", "was made of other entries"),
    ],
)
def test_a_checkpoint_that_is_whole_but_says_what_is_not_so_is_told(log, twice, member, value, code, told):
    restored = restore(log.path)
    record = {**checkpoint_of(restored, 2).record(), member: value}
    record["id"] = _id_of(record)
    log.compact("third", trigger="manual", preserve=[each["uuid"] for each in restored.entries[2:]], checkpoint=record)
    (found,) = verify(log.path).findings
    assert found.code == code and told in found.text


def test_what_a_provider_would_refuse_is_told_once(log, twice, monkeypatch):
    """Nothing that is repaired should be: so the repair is taken out."""
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    log.append([assistant([call]), user("Never mind."), assistant("Fine.")])
    log.flush()
    assert codes(log.path) == []
    monkeypatch.setattr(looking, "assemble", lambda _, said: Unrepaired(said))
    found = verify(log.path).findings
    assert {each.code for each in found} == {"projection"} and len(set(found)) == len(found)
    assert any("at the end anthropic would refuse" in each.text and "c1" in each.text for each in found)


class Unrepaired:
    def __init__(self, said):
        self.messages = [each.message for each in said]


def test_open_calls_and_results_alone_are_no_fault(log):
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {}}
    log.append([user([result("gone", "?")]), user("hi"), assistant([call])])
    log.flush()
    assert codes(log.path) == []


def test_it_has_where_lines_are_left_out_that_hold_for_one_session(log, twice, tmp_path):
    log.append_durable({"type": "context-handoff", "after": log.tip})
    talk(log, "six", "seven")
    compact(log, text="third")
    log.close()
    export(log.path, str(tmp_path / "talk.zip"))
    taken = import_session(str(tmp_path / "talk.zip"), root=str(tmp_path / "elsewhere")).path
    assert verify(taken).checkpoints == 3 and codes(taken) == []


def test_nothing_is_written(log, twice, tmp_path):
    log.flush()
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    verify(log.path)
    assert {path: path.stat() for path in tmp_path.rglob("*")} == before


def test_a_compaction_that_was_interrupted_leaves_nothing_wrong(log):
    talk(log, "one")
    log.append_durable({"type": "compaction-attempt", "attempt": "a", "state": "open", "after": None})
    assert codes(log.path) == []


def test_who_has_gone_back_to_a_call_neither_covers_nor_keeps_its_result(log):
    talk(log, "one")
    called = log.append(assistant([{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]))
    log.append(user([result("c", "README.md")]))
    log.close()
    with SessionLog(log.place, cwd="/", tip=called) as again:
        made = checkpoint_of(restore(log.path, at=called), 1)
        kept = [each["uuid"] for each in restore(log.path, at=called).entries[1:]]
        again.compact("s", trigger="manual", preserve=kept, checkpoint=made.record())
    assert verify(log.path).checkpoints == 1 and codes(log.path) == []


def test_t39_a_checkpoint_that_neither_covers_nor_keeps_an_entry_is_told(log):
    talk(log, "one", "two")
    restored = restore(log.path)
    made = checkpoint_of(restored, 2)
    log.compact("s", trigger="manual", preserve=[restored.entries[-1]["uuid"]], checkpoint=made.record())
    found = verify(log.path).findings
    assert [each.code for each in found] == ["range"] and "neither covers nor keeps 1 entries" in found[0].text
