"""What a provider counts of requests teaches an engine of its vocabulary, and a new engine knows it, too."""

import pytest

from rehydrate.context import Request
from rehydrate.context.tokens import Learnt
from rehydrate.session import Sessions

from .agents import SYSTEM, tools, usage
from .engines import FORMATS, Agent, again, sent, types_in
from .talk import user


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


class Dear(Agent):
    """An agent whose provider counts more than we do: `percent` of it."""

    percent = 150

    def answer(self, projection, *, calls=0):
        reply, made = self.script.answer(calls=calls)
        scene = self.engine._look(projection.request)
        ours = self.engine._stage.plain.messages(scene.work.messages) + self.engine._stage.fixed(projection.request)
        self.engine.observe(usage(self.format, ours * self.percent // 100, 60), reply)
        return made


def local(engine, format="anthropic"):
    """What is counted of the next request where no count of a provider is its base; the model is the same."""
    snapshot = engine.explain(Request(model="m", format=format, system=SYSTEM, tools=tools(format)))
    assert snapshot["label"] == "local_estimate"
    return snapshot["tokens"]


@pytest.mark.parametrize("format", FORMATS)
def test_after_a_compaction_a_request_counts_as_the_provider_counts(log, format):
    agent = Dear(log, format, window=100_000)
    for _ in range(12):
        agent.turn()
    agent.ask()
    assert agent.engine.compact() is not None
    stage = agent.engine._stage
    scene = agent.engine._look(agent.request)
    plain = stage.plain.messages(scene.work.messages) + stage.fixed(agent.request)
    assert 1.45 * plain < local(agent.engine, format) < 1.55 * plain
    assert sum(agent.engine.explain()["holders"].values()) >= 1.4 * plain


@pytest.mark.parametrize("percent", [70, 100, 150, 250])
def test_a_new_engine_sends_the_same_at_every_request(log, percent):
    window = 6_500 * percent // 100
    agent = Dear(log, window=window)
    agent.percent = percent
    compacted = 0

    def look(projection):
        nonlocal compacted
        compacted += projection.checkpoint is not None
        assert projection.snapshot.tokens <= projection.snapshot.available
        other = again(log, window=window)
        same = other.prepare(agent.request)
        assert sent(same) == sent(projection)
        assert same.snapshot == other.prepare(agent.request).snapshot == agent.engine.prepare(agent.request).snapshot
        other.log.close()

    for _ in range(25):
        agent.turn(look=look)
    assert compacted >= 2


def test_a_provider_that_counts_less_lowers_nothing(log):
    agent = Dear(log, window=100_000)
    agent.percent = 40
    for _ in range(12):
        agent.turn()
    agent.ask()
    agent.engine.compact()
    assert agent.engine._stage.meter is agent.engine._stage.plain


def test_what_was_learnt_is_of_one_model(log):
    agent = Dear(log, window=100_000)
    for _ in range(12):
        agent.turn()
    other = Request(model="other", format="anthropic", system=SYSTEM, tools=tools("anthropic"))
    agent.engine.prepare(other)
    assert agent.engine._stage.meter is agent.engine._stage.plain
    agent.engine.prepare(agent.request)
    assert agent.engine._stage.meter is not agent.engine._stage.plain


def test_the_fixed_part_does_not_grow_by_what_was_learnt(log):
    agent = Dear(log, window=100_000)
    large = Request(model="m", format="anthropic", system="word " * 4_000)
    agent.ask()
    agent.engine.prepare(large)
    agent.engine.observe({"input_tokens": 8_000, "output_tokens": 60}, agent.script.answer(calls=0)[0])
    snapshot = agent.engine.prepare(large).snapshot
    assert (snapshot.label, snapshot.tokens) == ("provider", 8_060)


def test_images_teach_nothing(log):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    for content in ([image], [{"type": "tool_result", "tool_use_id": "c", "content": [image]}]):
        agent = Dear(log, window=100_000)
        if content[0]["type"] == "tool_result":
            agent.engine.append(
                user("Look."),
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "see", "input": {}}]},
            )
        agent.engine.append(user(*content))
        agent.engine.prepare(agent.request)
        agent.engine.observe({"input_tokens": 9_000, "output_tokens": 60}, agent.script.answer(calls=0)[0])
        agent.ask()
        agent.engine.prepare(agent.request)
        assert agent.engine._stage.meter is agent.engine._stage.plain


def test_of_requests_of_a_size_the_greatest_ratio_counts_and_one_of_twice_the_size_alone():
    learnt = Learnt(Characters())
    told = []
    counted = [(1_000, 3_000), (1_500, 1_600), (2_000, 2_200), (3_000, 3_900), (1_400, 5_000), (6_000, 6_000)]
    for ours, theirs in counted:
        learnt.learn(ours=ours, theirs=theirs)
        told.append(learnt.count("x" * 100))
    assert told == [300, 300, 110, 130, 130, 100]


ODD = [None, [], [1], [1, 2, 3], [0, 1], [1, 0], [-5, 3], [True, 1], ["1", 2], {"m": 1}, "m", [1.5, 1], [10**30, 5]]


@pytest.mark.parametrize("odd", ODD)
def test_a_record_that_is_odd_teaches_nothing_or_little(log, odd):
    agent = Agent(log, window=100_000)
    agent.turn()
    agent.engine.log.append(
        [
            {"type": "context-usage", "after": log.tip, "model": "m", "format": "anthropic", "sample": odd},
            {"type": "compaction-attempt", "after": log.tip, "attempt": "x", "state": "done", "learnt": {"m": odd}},
            {"type": "compaction-attempt", "after": log.tip, "attempt": "x", "state": "done", "learnt": odd},
        ]
    )
    agent.ask()
    plain = agent.engine._stage.plain.messages(agent.engine._look(agent.request).work.messages)
    assert agent.prepare().snapshot.tokens <= Learnt.MOST * (plain + agent.engine._stage.fixed(agent.request)) + 100
    assert types_in(log)


class Characters:
    name, is_exact = "characters", True

    def count(self, text):
        return len(text)
