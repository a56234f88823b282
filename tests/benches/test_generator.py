"""What the benchmarks measure on: a small one of each is read by the clients as it was generated."""

import json

import pytest

from benches.folders import write_brain, write_project
from benches.transcript import write_entries, write_transcript
from rehydrate.clients import module

SIZE = 3_000_000


def read(client, path):
    """Survey, lineage and conversation, as the client sees them."""
    place = module(client, "layout").place_of(str(path))
    survey = module(client, "transcript").survey(place)
    lineage = module(client, "lineage").trace(place, last_step=survey.last_step)
    conversation = module(client, "transcript").read(place, lineage.segments, boundary=None)
    return survey, lineage, conversation


@pytest.fixture(params=["ascending", "as they ended"])
def steps(request, tmp_path):
    path = tmp_path / "brain" / "one" / ".system_generated" / "logs" / "transcript_full.jsonl"
    path.parent.mkdir(parents=True)
    return path, write_transcript(path, SIZE, ascending=request.param == "ascending", checkpoint=True)


@pytest.fixture
def entries(tmp_path):
    path = tmp_path / "projects" / "-srv-project" / "c0ffee00-0000-4000-8000-000000000000.jsonl"
    path.parent.mkdir(parents=True)
    return path, write_entries(path, SIZE, checkpoint=True)


def test_antigravity_finds_the_steps_requests_and_boundaries_that_were_generated(impl, steps):
    path, made = steps
    tail = impl.scan_tail(path)
    assert (tail.last_step, tail.lines, tail.damaged, tail.cursor[1]) == (made.last, made.lines, 0, made.size)
    assert [tuple(mark) for mark in tail.boundaries] == made.boundaries
    kinds = [step.type for step in impl.iter_steps(path, types={"USER_INPUT", "PLANNER_RESPONSE"})]
    assert (kinds.count("USER_INPUT"), kinds.count("PLANNER_RESPONSE")) == (made.requests, made.answers)
    survey, lineage, conversation = read("antigravity", path)
    assert (survey.last_step, len(lineage.segments), conversation.damaged) == (made.last, 1, 0)
    assert sum(turn.role == "user" for turn in conversation.turns) == made.requests


def test_claude_code_finds_the_entries_requests_and_boundaries_that_were_generated(impl, entries):
    path, made = entries
    tree = impl.read_tree(path)
    assert [tuple(entry) for entry in tree.entries] == made.rows
    assert (tree.lines, tree.damaged, tree.size) == (made.lines, 0, made.size)
    survey, lineage, conversation = read("claude-code", path)
    assert [(each.step, each.offset, each.length) for each in survey.boundaries] == made.boundaries
    assert (len(lineage.segments), conversation.damaged) == (1, 0)
    assert sum(turn.role == "user" for turn in conversation.turns) == made.requests


@pytest.mark.parametrize("write", [write_transcript, write_entries])
def test_the_same_seed_gives_the_same_bytes_and_every_line_is_an_object(write, tmp_path):
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    made = write(one, 500_000)
    write(two, 500_000)
    write(other, 500_000, seed=2)
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()
    lines = one.read_bytes().splitlines()
    assert len(lines) == made.lines and all(type(json.loads(line)) is dict for line in lines)
    assert one.stat().st_size == made.size >= 500_000


def test_lines_are_as_long_and_boundaries_and_requests_as_frequent_as_is_said(tmp_path):
    for write in (write_transcript, write_entries):
        made = write(tmp_path / "log", 40_000_000)
        assert 4_000 < made.size / made.lines < 6_000
        assert 0.003 < len(made.boundaries) / made.lines < 0.005
        assert 0.004 < made.requests / made.lines < 0.008


def test_both_orders_of_members_and_both_kinds_of_text_are_there(tmp_path):
    for write, first in ((write_transcript, b'{"step_index"'), (write_entries, b'{"parentUuid"')):
        write(tmp_path / "log", SIZE)
        data = (tmp_path / "log").read_bytes()
        usual = sum(line.startswith(first) for line in data.splitlines())
        assert 0.05 < 1 - usual / data.count(b"\n") < 0.2
        assert "汉字".encode() in data


def test_a_chain_of_forks_is_found_among_its_siblings(tmp_path):
    for client, chain in (
        ("antigravity", write_brain(tmp_path / "app", 50, hops=3)),
        ("claude-code", write_project(tmp_path / "projects" / "-srv-project", 5, hops=2)),
    ):
        _, lineage, _ = read(client, chain.path)
        assert lineage.complete
        assert [(each.session, each.min_step, each.max_step) for each in lineage.segments] == chain.segments
