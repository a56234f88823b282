"""A compaction of a log, where what it makes is none that may be kept, or next to nothing."""

import pytest

from rehydrate.context import CommitFailed, Request
from rehydrate.context.records import ATTEMPT
from rehydrate.session import Sessions

from .engines import Agent, again, sent, types_in


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


LIMITS = [("MESSAGES_MOST", 10), ("BYTES_MOST", 3_000)]
PINNED = "A rule: " + "never do that. " * 15


def with_pins(log, **more):
    """An agent whose pinned messages, 12 of them, are more than a checkpoint may hold."""
    agent = Agent(log, **more)
    for at in range(12):
        agent.engine.pin(agent.engine.append({"role": "user", "content": f"{PINNED}{at}"}))
        agent.engine.append({"role": "assistant", "content": "Yes."})
    return agent


@pytest.mark.parametrize(("name", "most"), LIMITS)
def test_a_checkpoint_beyond_its_limits_is_not_made_told_once_and_the_turn_goes_on(log, name, most, monkeypatch):
    monkeypatch.setattr(f"rehydrate.context.checkpoint.{name}", most)
    agent = with_pins(log)
    told = []

    def look(projection):
        assert projection.checkpoint is None
        if projection.irreducible:
            told.append(projection.irreducible)
            assert projection.irreducible[0].tokens > 0
            assert "pinned" in [each.what for each in projection.irreducible]

    while not told:
        agent.turn(look=look)
    before = sent(agent.prepare())
    assert agent.prepare().irreducible == ()
    other = again(log)
    assert sent(projection := other.prepare(agent.request)) == before
    assert projection.irreducible == ()
    other.log.close()
    assert (ATTEMPT, "open") not in types_in(log)[-1:]


@pytest.mark.parametrize(("name", "most"), LIMITS)
def test_a_compaction_that_was_asked_for_fails_where_its_checkpoint_is_beyond_the_limits(log, name, most, monkeypatch):
    agent = with_pins(log, window=100_000)
    for _ in range(8):
        agent.turn()
    agent.ask()
    before = sent(agent.prepare())
    with monkeypatch.context() as patched:
        patched.setattr(f"rehydrate.context.checkpoint.{name}", most)
        with pytest.raises(CommitFailed, match="checkpoint") as found:
            agent.engine.compact()
    assert found.value.phase == "checkpoint"
    assert types_in(log)[-1] == (ATTEMPT, "failed")
    assert sent(agent.prepare()) == before
    assert agent.engine.compact() is not None


@pytest.mark.parametrize(
    ("error", "state"), [(OSError(5, "Input/output error"), "failed"), (KeyboardInterrupt(), "interrupted")]
)
def test_what_a_compaction_comes_out_with_ends_its_attempt(log, error, state, monkeypatch):
    def broken(*_, **__):
        raise error

    agent = Agent(log, window=100_000)
    for _ in range(8):
        agent.turn()
    agent.ask()
    with monkeypatch.context() as patched:
        patched.setattr("rehydrate.context.compacting.Task.plan", broken)
        with pytest.raises(type(error)):
            agent.engine.compact()
    assert types_in(log)[-2:] == [(ATTEMPT, "open"), (ATTEMPT, state)]
    assert agent.engine.compact() is not None


@pytest.mark.parametrize("words", range(7_300, 7_800, 60))
def test_next_to_no_room_beside_the_fixed_part_makes_no_compaction_that_cannot_be_kept(log, words):
    agent = Agent(log, window=12_000)
    for _ in range(4):
        agent.turn()
    agent.ask()
    request = Request(model="m", format="anthropic", system="word " * words)
    assert agent.engine.explain(request)["phase"] == "compaction_due"
    projection = agent.engine.prepare(request)
    assert projection.checkpoint is not None
    assert f"Request {agent.script.turn}: " in sent(projection)
