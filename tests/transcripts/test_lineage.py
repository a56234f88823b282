"""Whose fork a conversation is, and where its source's part of it ends."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.clients.claude_code import layout
from rehydrate.transcripts import lineage
from tests.clients.claude_code.making import Home, Talk, session_id
from tests.helpers import DATA

A, B, C = map(session_id, (0xA, 0xB, 0xC))
REAL = DATA / "claude-code" / "fork-session"
ROOT, LEFT, RIGHT = (
    "2520cb6b-c5d9-4e7b-be12-25e826ed8b4d",
    "2cff5501-04a4-472e-8178-72fdf4e31231",
    "44ce74b9-d67d-4934-b9a7-e2e9f11c05c1",
)
FORK_POINT = "ac16b6af-b2f7-4bbc-9685-e84082ee5a60"


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def traced(home, *talks, of=None, **more):
    """The lineage of the last of these conversations, all of them written."""
    for talk in talks:
        home.write(talk)
    return lineage.trace(layout.find(home.environ, of or talks[-1].session), **more)


def spans(found):
    return [(each.session, each.min_step, each.max_step) for each in found.segments]


def uuids(talk):
    return [row["uuid"] for row in talk.rows if "uuid" in row]


def source(*texts, session=A):
    made = Talk(session)
    made.talk(*(texts or ("one", "two", "three", "four")))
    return made


class TestAlone:
    def test_it_is_one_segment_from_its_first_entry_to_its_last(self, home):
        talk = source()
        found = traced(home, talk)
        assert spans(found) == [(A, uuids(talk)[0], talk.last)] and found.complete and not found.why

    def test_a_compaction_does_not_begin_it_anew(self, home):
        talk = source()
        talk.compact()
        talk.talk("five", "six")
        assert spans(traced(home, talk)) == [(A, uuids(talk)[0], talk.last)]

    def test_without_an_entry_it_has_no_steps(self, home):
        talk = Talk(A)
        talk.meta("summary", summary="x", leafUuid="y")
        assert spans(traced(home, talk)) == [(A, None, None)]

    def test_outside_the_known_layout_no_source_is_looked_for(self, tmp_path):
        home = Home(tmp_path)
        home.write(source())
        path = home.write(source().fork(B, proof=True), project=tmp_path / "saved")
        found = lineage.trace(layout.place_of(path))
        assert [each.session for each in found.segments] == [B] and found.complete

    def test_a_subagent_is_nobodys_fork(self, home):
        home.write(source(session=B))
        agent = Talk(A)
        agent.user("Look.", isSidechain=True, requestSessionId=B)
        folder = home.project() / A / "subagents"
        folder.mkdir(parents=True)
        os.rename(home.write(agent), folder / "agent-a1.jsonl")
        found = lineage.trace(layout.place_of(str(folder / "agent-a1.jsonl")))
        assert spans(found) == [("agent-a1", agent.last, agent.last)] and found.complete

    def test_what_cannot_be_read_is_an_error(self, home):
        place = layout.place_of(home.write(source()))
        os.unlink(place.path)
        with pytest.raises(FileNotFoundError):
            lineage.trace(place)


class TestProof:
    def test_a_branch_ends_the_sources_part_at_the_fork(self, home):
        talk = source()
        at = talk.last
        fork = talk.fork(B, proof=True)
        fork.talk("left", "right")
        talk.talk("later", "much later")
        found = traced(home, talk, fork)
        assert spans(found) == [(A, uuids(talk)[0], at), (B, uuids(fork)[4], fork.last)]
        assert found.complete and "its entries say so" in found.why[0]

    def test_a_branch_in_the_middle_takes_only_what_came_before(self, home):
        talk = source()
        fork = talk.fork(B, at=uuids(talk)[1], proof=True)
        fork.talk("left", "right")
        assert spans(traced(home, talk, fork))[0] == (A, uuids(talk)[0], uuids(talk)[1])

    def test_renamed_entries_are_those_of_the_source_in_the_sources_part(self, home):
        talk = source()
        fork = talk.fork(B, renamed=True)
        fork.talk("left", "right")
        found = traced(home, talk, fork)
        assert spans(found) == [(A, uuids(talk)[0], talk.last), (B, uuids(fork)[4], fork.last)]

    def test_rows_written_twice_with_and_without_it_are_one(self, home):
        talk = source()
        plain, proven = talk.fork(B), talk.fork(B, proof=True)
        plain.rows = [*plain.rows, *proven.rows]
        plain.talk("left", "right")
        assert spans(traced(home, talk, plain)) == [(A, uuids(talk)[0], talk.last), (B, uuids(plain)[8], plain.last)]

    def test_a_fork_of_a_fork_is_followed_to_the_root(self, home):
        a = source()
        b = a.fork(B, proof=True)
        b.talk("b1", "b2")
        c = b.fork(C, proof=True)
        c.talk("c1", "c2")
        found = traced(home, a, b, c)
        assert spans(found) == [
            (A, uuids(a)[0], a.last),
            (B, uuids(b)[4], b.last),
            (C, uuids(c)[6], c.last),
        ]

    def test_a_source_that_gave_nothing_of_its_own_is_no_segment(self, home):
        a = source()
        b = a.fork(B, proof=True)
        c = b.fork(C, proof=True)
        c.talk("c1", "c2")
        b.talk("b1", "b2")
        assert [each.session for each in traced(home, a, b, c).segments] == [A, C]

    def test_where_the_source_is_gone_the_copy_stands_in(self, home):
        fork = source().fork(B, proof=True)
        fork.talk("left", "right")
        found = traced(home, fork)
        assert spans(found) == [(A, uuids(fork)[0], uuids(fork)[3]), (B, uuids(fork)[4], fork.last)]
        assert found.segments[0].path == found.segments[1].path
        assert found.complete and "gone" in found.why[0]

    def test_an_empty_stub_of_the_source_is_no_source(self, home):
        fork = source().fork(B, proof=True)
        fork.talk("left", "right")
        path = home.write(fork)
        (home.project() / f"{A}.jsonl").touch()
        assert {each.path for each in traced(home, of=B).segments} == {path}

    def test_a_source_that_lacks_the_last_copied_entries_ends_with_what_it_has(self, home):
        talk = source()
        fork = talk.fork(B, proof=True)
        fork.talk("left", "right")
        short = source("one", "two")
        found = traced(home, short, fork)
        assert spans(found) == [(A, uuids(talk)[0], uuids(talk)[1]), (B, uuids(talk)[2], fork.last)]

    def test_a_fork_with_nothing_new_has_no_steps_of_its_own(self, home):
        talk = source()
        assert spans(traced(home, talk, talk.fork(B, proof=True)))[1] == (B, None, None)

    def test_a_source_in_another_project_is_found(self, home):
        talk = source()
        home.write(talk, project=home.project("/srv/other"))
        fork = talk.fork(B, proof=True)
        fork.talk("left", "right")
        assert str(home.project("/srv/other")) in traced(home, fork).segments[0].path

    def test_two_that_name_each_other_end(self, home):
        a, b = source(session=A), source(session=B)
        for one, other in ((a, b), (b, a)):
            for row in one.rows:
                row["forkedFrom"] = {"sessionId": other.session, "messageUuid": row["uuid"]}
        assert len(traced(home, a, b).segments) <= 2

    @pytest.mark.parametrize(
        "value", [7, "x", [], {}, {"sessionId": "../..", "messageUuid": "x"}, {"sessionId": A, "messageUuid": None}]
    )
    def test_what_is_no_proof_proves_nothing(self, home, value):
        talk = source(session=B)
        for row in talk.rows:
            row["forkedFrom"] = value
        assert [each.session for each in traced(home, source(), talk).segments] == [B]


class TestHints:
    @pytest.mark.parametrize("hint", ["requestSessionId", "session_id"])
    def test_a_background_fork_is_confirmed_by_the_entries_it_shares(self, home, hint):
        talk = source()
        fork = talk.fork(B, hint=hint)
        fork.talk("left", "right")
        at = talk.last
        talk.talk("later", "much later")
        assert spans(traced(home, talk, fork)) == [(A, uuids(talk)[0], at), (B, uuids(fork)[4], fork.last)]

    def test_a_stale_id_without_a_shared_entry_is_no_source(self, home):
        talk = source(session=B)
        talk.assistant("copied from nowhere", requestSessionId=A)
        other = Talk(A, salt="other")
        other.talk("one", "two")
        assert [each.session for each in traced(home, other, talk).segments] == [B]

    def test_of_several_the_one_that_shares_most_is_the_source(self, home):
        a = source()
        b = a.fork(B, hint="session_id")
        b.talk("b1", "b2")
        c = b.fork(C, hint="session_id")
        c.talk("c1", "c2")
        assert [each.session for each in traced(home, a, b, c).segments] == [A, B, C]

    def test_a_background_fork_of_a_branch_is_that_branchs(self, home):
        a = source()
        b = a.fork(B, proof=True)
        b.talk("b1", "b2")
        c = b.fork(C, hint="session_id")
        c.talk("c1", "c2")
        assert [each.session for each in traced(home, a, b, c).segments] == [A, B, C]

    def test_a_source_that_is_gone_needs_no_ancestor_as_the_copy_is_whole(self, home):
        fork = source().fork(B, hint="requestSessionId")
        fork.talk("left", "right")
        found = traced(home, fork)
        assert [each.session for each in found.segments] == [B] and found.complete

    def test_the_sources_own_word_that_it_went_on_there_is_enough(self, home):
        talk = source()
        fork = talk.fork(B)
        talk.meta("continued-in", continuedInSessionId=B)
        fork.talk("left", "right")
        assert [each.session for each in traced(home, talk, fork).segments] == [A, B]

    def test_a_conversation_that_went_on_in_another_is_not_its_fork(self, home):
        talk = source()
        fork = talk.fork(B)
        talk.meta("continued-in", continuedInSessionId=B)
        fork.talk("left", "right")
        assert [each.session for each in traced(home, talk, fork, of=A).segments] == [A]

    def test_a_fork_that_only_says_that_it_is_one_comes_from_what_begins_so_and_is_none(self, home):
        talk = source()
        forks = [talk.fork(session) for session in (B, C)]
        for fork in forks:
            fork.meta("history-suppression", cause="fork_inherit")
            fork.talk("left", "right")
        assert [each.session for each in traced(home, talk, *forks).segments] == [A, C]

    def test_files_that_merely_begin_alike_are_no_forks(self, home):
        assert [each.session for each in traced(home, source(), source(session=B)).segments] == [B]

    def test_a_sibling_that_cannot_be_read_is_said(self, home, monkeypatch):
        talk = source()
        fork = talk.fork(B, hint="session_id")
        fork.talk("left", "right")
        opened = lineage.Log

        def refuse(path):
            if A in path:
                raise PermissionError(13, "Permission denied", path)
            return opened(path)

        monkeypatch.setattr(lineage, "Log", refuse)
        found = traced(home, talk, fork)
        assert [each.session for each in found.segments] == [B] and "Permission denied" in found.why[0]


class TestReachingFurtherBack:
    def left_by_a_compaction(self):
        """A conversation that was compacted, and a fork that holds only what the compaction left."""
        talk = source()
        boundary = talk.compact()
        talk.talk("five", "six")
        fork = talk.fork(B, hint="session_id")
        fork.rows = fork.rows[uuids(fork).index(boundary) :]
        fork.talk("left", "right")
        return talk, fork

    def test_the_sources_part_begins_where_the_source_does(self, home):
        talk, fork = self.left_by_a_compaction()
        found = traced(home, talk, fork)
        assert spans(found)[0] == (A, uuids(talk)[0], talk.last) and found.complete

    def test_without_the_source_an_ancestor_is_missing(self, home):
        _, fork = self.left_by_a_compaction()
        found = traced(home, fork)
        assert [each.session for each in found.segments] == [B]
        assert not found.complete and "compaction" in found.why[-1]

    def test_a_parent_that_was_never_written_makes_nobody_missing(self, home):
        talk = Talk(A)
        talk.user("one", parent="99999999-0000-4000-8000-000000000000")
        talk.assistant("two")
        assert traced(home, talk).complete

    def test_the_entry_before_the_first_one_may_be_all_that_is_shared(self, home):
        talk = source()
        on = Talk(B)
        on.user("five", parent=talk.last, session_id=A)
        on.assistant("six")
        assert spans(traced(home, talk, on)) == [(A, uuids(talk)[0], talk.last), (B, uuids(on)[0], on.last)]


def test_at_most_eight_ancestors_are_followed_and_nothing_is_lost(home):
    talks = [source(session=session_id(0x10))]
    for number in range(0x11, 0x1B):
        talks.append(talks[-1].fork(session_id(number), proof=True))
        talks[-1].talk(f"ask {number}", f"answer {number}")
    found = traced(home, *talks)
    assert len(found.segments) == 9 and found.complete and "Only 8" in found.why[-1]
    assert found.segments[0].min_step == uuids(talks[0])[0]


class TestReal:
    @pytest.fixture
    def forked(self, home):
        home.project().mkdir(parents=True)
        for path in REAL.glob("*-*.jsonl"):
            shutil.copy(path, home.project())
        return home

    @pytest.mark.parametrize("session", [LEFT, RIGHT])
    def test_a_fork_of_a_session_is_cut_where_it_left(self, forked, session):
        found = traced(forked, of=session)
        assert [each.session for each in found.segments] == [ROOT, session]
        assert found.segments[0].max_step == FORK_POINT and found.complete

    def test_the_source_is_nobodys_fork(self, forked):
        assert [each.session for each in traced(forked, of=ROOT).segments] == [ROOT]

    @pytest.mark.parametrize("name", sorted(each.name for each in REAL.parent.iterdir()))
    def test_any_other_is_one_whole_segment_or_has_its_source(self, home, name):
        home.project().mkdir(parents=True)
        for path in (REAL.parent / name).glob("*-*.jsonl"):
            shutil.copy(path, home.project())
        for place in layout.every(home.environ):
            found = lineage.trace(place)
            assert found.complete and all(each.min_step and each.max_step for each in found.segments)


NAMES = [session_id(number) for number in range(1, 5)]
IDS = st.sampled_from([f"{number:08x}-0000-4000-8000-000000000000" for number in range(6)])
ANYTHING = st.one_of(st.none(), st.integers(), IDS, st.sampled_from(NAMES), st.lists(st.none(), max_size=2))
SOURCES = st.one_of(ANYTHING, st.fixed_dictionaries({"sessionId": st.sampled_from(NAMES), "messageUuid": IDS}))
ROWS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "continued-in", "history-suppression", "summary"])},
    optional={
        "uuid": IDS,
        "parentUuid": st.one_of(IDS, ANYTHING),
        "logicalParentUuid": ANYTHING,
        "sessionId": ANYTHING,
        "session_id": ANYTHING,
        "requestSessionId": ANYTHING,
        "continuedInSessionId": ANYTHING,
        "forkedFrom": SOURCES,
        "subtype": st.sampled_from(["compact_boundary", "x"]),
        "isCompactSummary": st.booleans(),
        "isSidechain": st.booleans(),
        "cwd": st.sampled_from(["/home/user/project", "", "x"]),
    },
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.lists(ROWS, max_size=8), min_size=1, max_size=4))
def test_whatever_the_records_say_there_is_an_answer_within_the_files(worlds):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        for name, rows in zip(NAMES, worlds, strict=False):
            talk = Talk(name)
            talk.rows = rows
            home.write(talk)
        for place in layout.every(home.environ):
            found = lineage.trace(place)
            assert found.segments[-1].session == place.session
            names = [each.session for each in found.segments]
            assert len(set(names)) == len(names) <= lineage.LEVELS + 1
            for each in found.segments:
                text = Path(each.path).read_text()
                assert all(step is None or step in text for step in (each.min_step, each.max_step))
                assert each is found.segments[-1] or each.min_step is not None
