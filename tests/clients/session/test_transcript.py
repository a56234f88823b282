"""A session is the same conversation to us as to the client whose format it shares."""

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.clients.claude_code import layout as claude_layout
from rehydrate.clients.claude_code import lineage as claude_lineage
from rehydrate.clients.claude_code import listing as claude_listing
from rehydrate.clients.claude_code import transcript as claude_transcript
from rehydrate.clients.session import layout, lineage, listing, transcript
from rehydrate.session import NewerVersion, Place, Session, SessionLog, assistant, fork, result, user
from rehydrate.session.copies import branch
from tests.helpers import write_lines

from .conftest import KEY, SESSION


def ours(path):
    return Reader(layout.place_of(path), transcript, lineage, listing)


def theirs(path):
    return Reader(claude_layout.place_of(path), claude_transcript, claude_lineage, claude_listing)


class Reader:
    """What one client makes of a file."""

    def __init__(self, place, transcript, lineage, listing):
        survey = transcript.survey(place)
        self.lineage = lineage.trace(place, last_step=survey.last_step)
        self.boundaries = survey.boundaries
        ends = [*survey.boundaries, transcript.pending(place), None]
        self.conversations = [transcript.read(place, self.lineage.segments, boundary=end) for end in ends]
        self.summary = listing.summarize(place)

    def told(self):
        return self.lineage, self.boundaries, [replace(each, client="") for each in self.conversations], self.summary


def texts(conversation):
    return [turn.text for turn in conversation.turns]


def call(name):
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": f"/srv/project/{name}.py"}}


STEPS = ["ask", "answer", "call", "result", "compact", "keep", "retract", "snip", "back", "aside", "abort", "replace"]


def write(root, steps):
    """A session in which these things happened one after another; its path."""
    number = itertools.count(1)
    uuids, open_calls = [], []
    with SessionLog(Place(root, KEY, SESSION), cwd="/srv/project") as log:

        def add(entry, **more):
            uuids.append(f"u{next(number)}")
            log.append({**entry, "uuid": uuids[-1], **more})

        add(user("Begin."))
        for step, at in steps:
            earlier = uuids[at % len(uuids)]
            if step == "ask":
                add(user(f"Request {len(uuids)}."))
            elif step == "answer":
                add(assistant(f"Answer {len(uuids)}.", message={"id": f"m{len(uuids)}"}))
            elif step == "call":
                open_calls.append(f"c{len(uuids)}")
                add(assistant([call(open_calls[-1])], message={"id": f"m{len(uuids)}"}))
            elif step == "result" and open_calls:
                add(user([result(open_calls.pop(), "print(1)")]))
            elif step in ("compact", "keep"):
                log.compact("A summary.", trigger=("auto", "manual", "other")[at % 3], preserve=uuids[-2:] * (at % 2))
            elif step == "retract":
                log.retract(earlier)
            elif step == "snip":
                log.snip([earlier])
            elif step == "back":
                add(user(f"Once more {len(uuids)}."), parentUuid=earlier)
            elif step == "aside":
                log.append({**user("Aside."), "isSidechain": True, "agentId": "helper"})
            elif step == "abort":
                log.abort("stopped")
            elif step == "replace":
                log.replace_content([{"messageUuid": earlier, "toolUseId": "c1", "replacement": "(moved)"}])
        return log.path


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 30)), max_size=25))
def test_any_session_is_the_same_conversation_to_both_clients(steps):
    with tempfile.TemporaryDirectory() as folder:
        path = write(str(Path(folder) / "projects"), steps)
        mine, other = ours(path), theirs(path)
        assert mine.told() == other.told()
        assert {each.client for each in mine.conversations} == {"session"}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 30)), max_size=15), st.booleans())
def test_so_is_any_branch_and_fork(steps, is_branch):
    with tempfile.TemporaryDirectory() as folder:
        path = write(str(Path(folder) / "projects"), steps)
        with Session.open(path) as session:
            if session.leaf is None:  # everything was taken back
                return
            if is_branch:
                copy = branch(session).path
            else:
                with fork(session) as log:
                    log.append(user("Go on."))
                copy = log.path
        mine, other = ours(copy), theirs(copy)
        assert mine.told() == other.told()
        assert mine.lineage.segments[0].session == SESSION and mine.lineage.complete


def test_what_was_taken_back_is_not_in_it(root):
    path = write(root, [("answer", 0), ("ask", 0), ("retract", 2), ("ask", 0)])
    assert texts(ours(path).conversations[-1]) == ["Begin.", "Answer 1.", "Request 3."]


def test_what_was_taken_out_of_the_middle_is_not_in_it(root):
    path = write(root, [("answer", 0), ("ask", 0), ("answer", 0), ("snip", 1), ("ask", 0)])
    assert "Answer 1." not in texts(ours(path).conversations[-1])


def test_a_boundary_ends_it_and_history_before_one_is_in_it(root):
    path = write(root, [("answer", 0), ("compact", 0), ("ask", 0), ("compact", 1), ("ask", 0)])
    read = ours(path)
    assert [(each.checkpoint, each.form, each.counts) for each in read.boundaries] == [(1, 1, True), (2, 2, True)]
    first, second, *_ = map(texts, read.conversations)
    assert first == ["Begin.", "Answer 1."] and second == ["Begin.", "Answer 1.", "Request 2."]


def test_a_later_format_is_refused_in_a_sentence(tmp_path):
    place = layout.place_of(write_lines(tmp_path / "a.jsonl", [{"type": "session", "format": 2}]))
    for ask in (transcript.survey, lineage.trace, listing.summarize):
        with pytest.raises(NewerVersion, match="update rehydrate"):
            ask(place)
