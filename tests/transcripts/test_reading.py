import hashlib
import os
import random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.clients.claude_code import layout, lineage, transcript
from rehydrate.conversation import Agent, Segment
from tests.entries import strategies
from tests.entries.making import assistant, attachment, boundary, call, chat, meta, result, summary, system, text, user
from tests.helpers import DATA, dump, write_lines

PARENT = "0b0b0b0b-0000-4000-8000-00000000000b"
SESSION = "0a0a0a0a-0000-4000-8000-00000000000a"


@pytest.fixture
def place_of(tmp_path):
    """The place of a transcript with these records."""
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)

    def make(*records, session=SESSION):
        return layout.place_of(write_lines(folder / f"{session}.jsonl", records))

    return make


def read(place, *, at=None, segments=None):
    """The conversation up to a boundary by its uuid; None: to the end."""
    judged = transcript.boundaries(place)
    mark = next(each for each in judged if each.step == at) if at else transcript.pending(place)
    own = segments or [Segment(place.session, place.path, None, None)]
    return transcript.read(place, own, boundary=mark)


def said(conversation):
    return [(turn.step, turn.text) for turn in conversation.turns]


def real(case, name="[0-9a-f]*"):
    (path,) = (DATA / "claude-code" / case).glob(f"{name}.jsonl")
    return layout.place_of(str(path))


def named(place, number, uuid):
    return hashlib.sha256(f"{place.session}\0{number}\0{uuid}".encode()).hexdigest()[:8]


# -- boundaries -------------------------------------------------------------------------------------------------------


def test_boundaries_are_numbered_from_1_and_named_by_what_came_before(place_of):
    first = [*chat("a", "b"), boundary("B", logical="b"), summary("s", "B")]
    place = place_of(*first, *chat("c", "d", parent="s"), boundary("C", logical="d"), summary("t", "C"))
    assert [(each.step, each.checkpoint, each.id, each.counts) for each in transcript.boundaries(place)] == [
        ("B", 1, named(place, 1, "b"), True),
        ("C", 2, named(place, 2, "d"), True),
    ]


def test_a_replayed_boundary_is_not_counted(place_of):
    first = [*chat("a", "b"), boundary("B", logical="b"), summary("s", "B")]
    place = place_of(*first, *first, *chat("c", parent="s"))
    assert [each.checkpoint for each in transcript.boundaries(place)] == [1]
    assert transcript.pending(place).checkpoint == 2


def test_a_boundary_on_a_branch_that_was_left_does_not_count_but_keeps_its_number(place_of):
    place = place_of(*chat("a", "b", "c"), boundary("B"), summary("s", "B"), user("d", "b"))
    (judged,) = transcript.boundaries(place)
    assert (judged.counts, judged.checkpoint, transcript.pending(place).checkpoint) == (False, 1, 2)
    assert transcript.survey(place).newest is None


@pytest.mark.parametrize("seed", range(30))
def test_the_newest_is_the_last_that_counts_of_all(place_of, seed):
    chance = random.Random(seed)
    uuids, entries = ["a"], [user("a", None)]
    for number in range(chance.randrange(1, 9)):
        at = chance.choice(uuids)
        kind = chance.randrange(3)
        if kind == 0:
            entries += [boundary(f"B{number}", logical=at), summary(f"s{number}", f"B{number}")]
            uuids.append(f"s{number}")
        else:
            entries.append(user(f"u{number}", at) if kind == 1 else assistant(f"u{number}", at))
            uuids.append(f"u{number}")
    place = place_of(*entries)
    counting = [each for each in transcript.boundaries(place) if each.counts]
    assert transcript.survey(place).newest == (counting[-1] if counting else None)


def test_a_boundary_with_nothing_behind_it_counts(place_of):
    (judged,) = transcript.boundaries(place_of(*chat("a", "b"), boundary("B", logical="b")))
    assert judged.counts


def test_a_command_does_not_name_a_delivery(place_of):
    command = user("c", "b", "<command-name>/compact</command-name>")
    place = place_of(*chat("a", "b"), command, system("d", "c"))
    assert transcript.pending(place).id == named(place, 1, "b")


def test_an_empty_transcript_has_a_delivery_all_the_same(place_of):
    place = place_of()
    survey = transcript.survey(place)
    assert (survey.boundaries, survey.last_step, transcript.pending(place).id) == ((), None, named(place, 1, ""))


@pytest.mark.parametrize("case", ["auto-compact", "manual-compact"])
def test_what_the_hook_says_is_the_same_before_and_after_the_boundary_is_written(case, tmp_path):
    place = real(case)
    (judged,) = transcript.boundaries(place)
    with open(place.path, "rb") as file:
        before = file.read(judged.offset)
    (tmp_path / os.path.basename(place.path)).write_bytes(before)
    earlier = layout.place_of(str(tmp_path / os.path.basename(place.path)))
    pending = transcript.pending(earlier)
    assert (pending.checkpoint, pending.id) == (judged.checkpoint, judged.id)
    then, now = read(earlier), read(place, at=judged.step)
    assert (then.turns, then.touches, then.agents) == (now.turns, now.touches, now.agents)


# -- conversations ----------------------------------------------------------------------------------------------------


def test_requests_and_answers_are_turns_whatever_was_compacted(place_of):
    records = [
        user("a", None, "Fix it."),
        meta("m", "a"),
        assistant("b", "m", text("Fixed.")),
        boundary("B", logical="b"),
        summary("s", "B"),
        user("c", "s", "<command-name>/x</command-name>"),
        attachment("d", "c", "queued_command", prompt="And test."),
        assistant("e", "d", text("Tested.")),
    ]
    conversation = read(place_of(*records))
    assert said(conversation) == [("a", "Fix it."), ("b", "Fixed."), ("d", "And test."), ("e", "Tested.")]
    assert conversation.compacted == (2,)


def test_up_to_a_boundary_is_what_stood_in_the_file_before_it(place_of):
    first = [*chat("a", "b"), boundary("B", logical="b"), summary("s", "B")]
    place = place_of(*first, *chat("c", "d", parent="s"))
    assert [step for step, _ in said(read(place, at="B"))] == ["a", "b"]


def test_what_a_fork_copied_behind_the_summary_belongs_before_its_boundary(place_of):
    mark = boundary("B", parent="b", preserved=("s", ["c", "d"]))
    place = place_of(*chat("a", "b"), mark, summary("s", "B"), *chat("c", "d", parent="b"), user("e", "d"))
    assert [step for step, _ in said(read(place, at="B"))] == ["a", "b", "c", "d"]


def test_the_records_of_one_answer_are_one_turn(place_of):
    rows = [
        assistant("b", "a", text("One."), id="m"),
        assistant("c", "b", call("1", "Read", file_path="/p/x"), id="m"),
        assistant("d", "c", call("2", command="ls"), id="m"),
    ]
    place = place_of(*chat("a"), *rows, result("r1", "c", "1"), result("r2", "d", "2"), assistant("e", "r2"))
    turns = read(place).turns
    assert [turn.step for turn in turns] == ["a", "b", "e"]
    assert [(each.name, each.path, each.command, each.pending) for each in turns[1].calls] == [
        ("Read", "/p/x", None, False),
        ("Bash", None, "ls", False),
    ]


def test_a_call_whose_result_never_came_is_pending(place_of):
    place = place_of(*chat("a"), assistant("b", "a", call("1", command="make")))
    assert [each.pending for each in read(place).turns[-1].calls] == [True]


def test_touches_stand_in_order_with_the_time_of_their_result(place_of):
    records = [
        user("a", None),
        assistant("b", "a", call("1", "Read", file_path="/p/x"), timestamp="2026-01-01T00:00:00Z"),
        result("r", "b", "1", timestamp="2026-01-01T00:00:05Z"),
        assistant("c", "r", call("2", "Write", file_path="/p/y"), call("3", "Edit", file_path="/p/x")),
    ]
    found = [(each.path, each.step, each.order, each.kind) for each in read(place_of(*records)).touches]
    assert found == [("/p/x", "b", 0, "read"), ("/p/y", "c", 1, "modified"), ("/p/x", "c", 2, "modified")]
    assert read(place_of(*records)).touches[0].time_s == 1_767_225_605.0


def test_failed_and_empty_answers_are_told_and_not_shown(place_of):
    failed = assistant("b", "a", text("API Error: limit"), isApiErrorMessage=True)
    conversation = read(place_of(*chat("a"), failed, assistant("c", "b", text("")), user("d", "c")))
    assert [step for step, _ in said(conversation)] == ["a", "d"]
    assert conversation.notes == (
        "1 answer is empty in the log.",
        "1 answer is only the report of a failed request.",
    )


def test_4252_answers_emptied_by_a_rate_limit_are_told(place_of):
    emptied = [assistant(f"e{n}", f"e{n - 1}" if n else "a", text("")) for n in range(4_252)]
    conversation = read(place_of(*chat("a"), *emptied, user("z", "e4251")))
    assert (len(conversation.turns), conversation.notes) == (2, ("4,252 answers are empty in the log.",))


def test_of_the_texts_the_newest_are_kept(place_of, monkeypatch):
    monkeypatch.setattr("rehydrate.transcripts.kept.TEXT_CHARS", 25)
    records = []
    for at, uuid in enumerate("abcd"):
        records.append(assistant(uuid, records[-1]["uuid"] if records else None, text(f"{at}" * 10)))
    assert [turn.text for turn in read(place_of(*records)).turns] == [None, None, "2" * 10, "3" * 10]


def launched(id, uuid, parent):
    told = {"isAsync": True, "status": "async_launched", "agentId": id, "description": "Look"}
    return result(uuid, parent, f"t-{id}", toolUseResult=told)


def test_running_agents_are_not_forgotten(place_of):
    calls = [call(f"t-{name}", "Agent", subagent_type="Explore") for name in ("x", "y")]
    records = [*chat("a"), assistant("b", "a", *calls), launched("x", "r1", "b"), launched("y", "r2", "r1")]
    note = user("n", "r2", "<task-notification>\n<task-id>x</task-id>\n</task-notification>", promptSource="system")
    assert read(place_of(*records, note)).agents == (Agent("Explore", "Look", "y"),)


def test_a_command_in_the_background_is_told_until_it_is_stopped(place_of):
    told = {"backgroundTaskId": "bash_1"}
    records = [*chat("a"), assistant("b", "a", call("1", command="serve")), result("r", "b", "1", toolUseResult=told)]
    stop = assistant("c", "r", call("2", "KillShell", shell_id="bash_1"))
    assert read(place_of(*records)).agents == (Agent("Bash", "serve", "bash_1", "command"),)
    assert read(place_of(*records, stop)).agents == ()


def test_a_real_agent_has_ended():
    assert read(real("subagent")).agents == ()


def test_in_a_subagents_own_file_it_is_who_is_spoken_to():
    (path,) = (DATA / "claude-code" / "subagent").glob("*/subagents/agent-*.jsonl")
    turns = read(layout.place_of(str(path))).turns
    assert [turn.text for turn in turns] == [
        "Look at calc.py and report. RIG:helper",
        "Looking.",
        "HELPER-REPORT calc.py has one function.",
    ]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.records, max_size=12), st.lists(strategies.records, max_size=6), strategies.uuids)
def test_any_tree_is_read_up_to_each_of_its_boundaries(rows, more, fork):
    with TemporaryDirectory() as folder:
        for name, written in ((PARENT, rows), (SESSION, rows + more)):
            with open(f"{folder}/{name}.jsonl", "wb") as file:
                file.write(b"".join(dump(row) + b"\n" for row in written))
        place = layout.place_of(f"{folder}/{SESSION}.jsonl")
        step = fork if isinstance(fork, str) else None
        segments = [Segment(PARENT, f"{folder}/{PARENT}.jsonl", None, step), Segment(SESSION, place.path, step, None)]
        for mark in (*transcript.boundaries(place), transcript.pending(place), None):
            conversation = transcript.read(place, segments, boundary=mark)
            steps = [turn.step for turn in conversation.turns]
            assert len(set(steps)) == len(steps)
            assert all(0 <= at <= len(steps) for at in conversation.compacted)
            assert {touch.step for touch in conversation.touches} <= set(steps)


def test_a_team_members_own_conversation_is_read(place_of):
    place = place_of(*({**each, "teamName": "red"} for each in chat("a", "b")))
    assert said(read(place)) == [("a", "Do it."), ("b", "Done.")]


def test_a_compaction_whose_cause_is_no_text_is_one_all_the_same(place_of):
    place = place_of(*chat("a", "b"), boundary("B", logical="b", compactMetadata={"trigger": ["auto"]}))
    assert [(each.form, each.why) for each in transcript.boundaries(place)] == [(3, "unknown compaction")]


# -- ancestors --------------------------------------------------------------------------------------------------------


def forked(place_of, *own):
    """A parent that went on, its fork, and the fork's segments."""
    shared = chat("a", "b")
    parent = place_of(*shared, *chat("c", "d", parent="b"), session=PARENT)
    child = place_of(*shared, *own)
    first, last = (own[0]["uuid"], own[-1]["uuid"]) if own else (None, None)
    segments = [Segment(PARENT, parent.path, "a", "b"), Segment(SESSION, child.path, first, last)]
    return child, segments


def test_a_forks_rehydration_never_shows_what_the_source_did_afterwards(place_of):
    child, segments = forked(place_of, *chat("x", "y", parent="b"))
    conversation = read(child, segments=segments)
    assert [(turn.step, turn.segment) for turn in conversation.turns] == [("a", 0), ("b", 0), ("x", 1), ("y", 1)]


def test_a_result_in_the_fork_answers_the_sources_call(place_of):
    shared = [user("a", None), assistant("b", "a", call("1", command="make"))]
    parent, child = place_of(*shared, session=PARENT), place_of(*shared, result("r", "b", "1"), user("x", "r"))
    segments = [Segment(PARENT, parent.path, "a", "b"), Segment(SESSION, child.path, "r", "x")]
    assert [each.pending for each in read(child, segments=segments).turns[1].calls] == [False]


def test_a_result_that_came_in_the_source_after_the_fork_is_none_of_the_forks(place_of):
    shared = [user("a", None), assistant("b", "a", call("1", command="make"))]
    parent = place_of(*shared, result("r", "b", "1", words="size = 9"), *chat("c", "d", parent="r"), session=PARENT)
    child = place_of(*shared, *chat("x", "y", parent="b"))
    segments = [Segment(PARENT, parent.path, "a", "b"), Segment(SESSION, child.path, "x", "y")]
    assert [(each.pending, each.noted) for each in read(child, segments=segments).turns[1].calls] == [(True, ())]


@pytest.mark.parametrize("renamed", [False, True])
def test_a_result_beside_the_fork_point_that_was_copied_is_the_forks(place_of, renamed):
    answer = [assistant("b", "a", call("1"), id="m"), assistant("c", "b", call("2"), id="m")]
    shared = [user("a", None), *answer, result("s", "c", "2"), result("r", "b", "1")]
    parent = place_of(*shared, *chat("d", "e", parent="s"), session=PARENT)

    def copy(record):
        source = {"forkedFrom": {"sessionId": PARENT, "messageUuid": record["uuid"]}}
        parent = record["parentUuid"] and f"n{record['parentUuid']}"
        return {**record, **source, "uuid": f"n{record['uuid']}", "parentUuid": parent}

    child = place_of(*map(copy, shared), *chat("x", "y", parent="ns")) if renamed else None
    child = child or place_of(*shared, *chat("x", "y", parent="s"))
    segments = [Segment(PARENT, parent.path, "a", "s"), Segment(SESSION, child.path, "x", "y")]
    assert [each.pending for each in read(child, segments=segments).turns[1].calls] == [False, False]


def test_a_fork_that_said_nothing_yet_is_all_its_sources(place_of):
    child, segments = forked(place_of)
    assert [(turn.step, turn.segment) for turn in read(child, segments=segments).turns] == [("a", 0), ("b", 0)]


def test_where_the_source_cannot_be_read_the_copies_stand_in_for_it(place_of):
    child, segments = forked(place_of, *chat("x", "y", parent="b"))
    os.unlink(segments[0].path)
    conversation = read(child, segments=segments)
    assert [(turn.step, turn.segment) for turn in conversation.turns] == [("a", 0), ("b", 0), ("x", 1), ("y", 1)]
    assert PARENT in conversation.notes[0]


def test_a_fork_that_holds_only_what_a_compaction_left_is_read_with_its_source(place_of):
    early = [*chat("a", "b"), boundary("B", logical="b"), summary("s", "B")]
    parent = place_of(*early, *chat("c", parent="s"), session=PARENT)
    child = place_of(*early[2:], *chat("x", "y", parent="s"))
    segments = [Segment(PARENT, parent.path, "a", "s"), Segment(SESSION, child.path, "x", "y")]
    conversation = read(child, segments=segments)
    assert [(turn.step, turn.segment) for turn in conversation.turns] == [("a", 0), ("b", 0), ("x", 1), ("y", 1)]


def test_up_to_a_boundary_that_was_copied_the_source_is_read_to_there(place_of):
    shared = [*chat("a", "b"), boundary("B", logical="b"), summary("s", "B"), *chat("c", parent="s")]
    parent = place_of(*shared, session=PARENT)
    child = place_of(*shared, assistant("x", "c"))
    segments = [Segment(PARENT, parent.path, "a", "c"), Segment(SESSION, child.path, "x", "x")]
    assert [turn.step for turn in read(child, at="B", segments=segments).turns] == ["a", "b"]


def test_a_real_fork_is_read_along_its_lineage():
    place = real("fork-session", "2cff*")
    segments = lineage.trace(place).segments
    asked = [turn.text for turn in read(place, segments=segments).turns if turn.role == "user"]
    assert asked == ["Fix add in calc.py. RIG:tools", "Left branch. RIG:two"]


def test_the_conversations_own_file_must_be_readable(place_of):
    place = place_of(*chat("a"))
    os.unlink(place.path)
    with pytest.raises(FileNotFoundError):
        transcript.read(place, [Segment(SESSION, place.path, None, None)], boundary=None)
