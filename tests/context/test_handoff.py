"""What a model is told once, before its older messages are condensed."""

import json
import time
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.context import Engine, Policy, Request, records, verify
from rehydrate.context.handoff import BYTES_MOST, Handoff, message_id
from rehydrate.context.ledger import HEADINGS, Ledger
from rehydrate.context.messages import is_request
from rehydrate.context.meter import TOKENS_MOST, line_at
from rehydrate.context.restore import restore
from rehydrate.context.state import read
from rehydrate.session import Session, SessionLog, Sessions, user
from rehydrate.session.copies import branch, fork

from .engines import FORMATS, Agent, again, engine_of, is_handoff, sent

WIDE = Policy(reserve=1_000, handoff_percent=1, compaction_percent=99)
"""With a band that everything is in."""
MEMBERS = [
    *("version", "messageId", "observedPromptTokens", "availableForInput"),
    *("handoffThreshold", "compactionThreshold", "createdAt"),
]


def given_in(log):
    """The records of handoffs in a log."""
    log.flush()
    with Session.open(log.path) as session:
        return [record for record in session.view("raw") if record["type"] == records.HANDOFF]


def told(projection):
    return sum(map(is_handoff, projection.messages))


def in_the_band(log, format="anthropic", *, words=60, **more):
    """An agent that was just told; and what it is sent.  `words`: of its results."""
    agent = Agent(log, format, **more)
    agent.script.words = words
    while True:
        agent.ask()
        for calls in (2, 1, 0):
            projection = agent.prepare()
            if told(projection):
                return agent, projection
            assert projection.checkpoint is None
            made = agent.answer(projection, calls=calls)
            if made:
                agent.engine.append(*agent.script.results(made))


# -- when, and what ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_it_is_told_last_in_the_band_and_stays_where_it_is(log, format):
    agent, first = in_the_band(log, format)
    assert is_handoff(first.messages[-1]) and first.messages[-1]["role"] == "user"
    snapshot = first.snapshot
    assert snapshot.phase == "handoff_band" and snapshot.handoff_line <= snapshot.tokens < snapshot.compaction_line
    agent.answer(first)
    agent.ask()
    second = agent.prepare()
    assert second.messages[: len(first.messages)] == first.messages and told(second) == 1
    assert agent.engine.explain()["handoff"] == "given"


def test_the_record_has_exactly_the_seven_members_and_says_what_was_measured(log):
    agent = Agent(log)
    while True:
        agent.ask()
        before = agent.engine.explain(agent.request)
        projection = agent.prepare()
        if told(projection):
            break
        agent.answer(projection)
    (record,) = given_in(log)
    meter = agent.engine._stage.meter
    said = record["handoff"]
    assert sorted(said) == sorted(MEMBERS) and said["version"] == 1
    assert (record["after"], record["checkpoint"]) == (log.tip, None)
    assert said["observedPromptTokens"] == before["tokens"]
    assert said["availableForInput"] == before["available"] == 7_000
    assert (said["handoffThreshold"], said["compactionThreshold"]) == (4_900, 5_600)
    assert said["messageId"] == message_id(after=log.tip, checkpoint=None)
    assert said["createdAt"] == "1970-01-01T00:00:00.000Z"
    assert projection.snapshot.tokens == before["tokens"] + meter.message(Handoff.from_record(record).message())


def test_it_is_told_once_in_an_epoch_and_a_compaction_opens_the_next(log):
    agent = Agent(log)
    for _ in range(40):
        agent.turn(look=lambda projection: told(projection) <= 1 or pytest.fail("told twice"))
    boundaries = [record["checkpoint"] for record in given_in(log)]
    assert len(boundaries) == len(set(boundaries)) >= 3
    assert verify(log.path).findings == ()


def test_below_the_band_and_without_a_window_nothing_is_told(log):
    agent = Agent(log, window=None)
    for _ in range(20):
        agent.turn()
    other = engine_of(SessionLog(log.place, cwd="/"), window=1_000_000)
    other.prepare(agent.request)
    none_left = engine_of(SessionLog(log.place, cwd="/"), window=1_000, policy=Policy(reserve=1_000))
    none_left.prepare(agent.request)
    assert given_in(log) == []


def test_a_policy_without_a_line_for_compactions_tells_what_is_left_until_the_window_is_full(log):
    policy = Policy(reserve=1_000, compaction_percent=None)
    in_the_band(log, policy=policy)
    (record,) = given_in(log)
    assert record["handoff"]["compactionThreshold"] == record["handoff"]["availableForInput"] == 7_000
    assert Handoff.from_record(record) is not None


def test_lines_of_another_policy_are_sound(log):
    in_the_band(log, policy=Policy(reserve=1_000, handoff_percent=33, compaction_percent=57))
    (record,) = given_in(log)
    assert Handoff.from_record(record) is not None


def test_while_a_call_runs_nothing_is_told(log):
    agent = Agent(log, policy=WIDE)
    answer, made = agent.script.answer(calls=2)
    agent.engine.append(agent.script.request(), {"role": "assistant", "content": answer["content"]})
    (message,) = agent.script.results(made)
    first, second = ({"role": "user", "content": [block]} for block in message["content"])
    for results in ((), (first,)):
        agent.engine.append(*results)
        assert told(agent.prepare()) == 0
    agent.engine.append(second)
    assert is_handoff(agent.prepare().messages[-1])


def test_behind_an_answer_nothing_is_told(log):
    """Where a host lets the model go on with its own words."""
    agent = Agent(log, policy=WIDE)
    agent.engine.append({"role": "user", "content": "Begin."}, {"role": "assistant", "content": "It begins"})
    assert told(agent.prepare()) == 0
    agent.ask()
    assert told(agent.prepare()) == 1


def test_where_the_model_is_to_go_on_with_its_answer_nothing_else_is_told(log):
    agent = Agent(log, policy=WIDE)
    agent.engine.append({"role": "user", "content": "Begin."}, {"role": "assistant", "content": "It begins"})
    log.append(records.go_on(after=log.tip))
    assert told(agent.prepare()) == 0


def test_it_never_leads_to_the_line_for_a_compaction(log):
    """The band is narrower than what would be told."""
    agent = Agent(log, policy=Policy(reserve=1_000, handoff_percent=79, compaction_percent=80))
    for _ in range(30):
        agent.turn(look=lambda projection: told(projection) and pytest.fail("told"))
    assert given_in(log) == []


def test_prunes_and_another_model_open_no_epoch(log):
    policy = Policy(reserve=1_000, prune_percent=100)
    agent, first = in_the_band(log, window=30_000, policy=policy, words=400)
    other = Request("another", "openai-chat")
    assert told(agent.engine.prepare(other)) == told(engine_of(log, window=29_000, policy=policy).prepare(other)) == 1
    later = Engine(log, window=30_000, policy=policy, clock=lambda: time.time() + 301)
    pruned = later.prepare(agent.request)
    assert pruned.pruned and told(pruned) == 1 and pruned.snapshot.tokens < first.snapshot.tokens
    assert len(given_in(log)) == 1


# -- the text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 190_000, TOKENS_MOST])
def test_the_text_is_of_2000_bytes_at_most_and_no_record_of_its_own(number):
    message = Handoff(number, number, number).message()
    assert len(message["content"].encode()) <= BYTES_MOST == 2_000
    assert all(heading in message["content"] for heading in HEADINGS)
    assert Ledger().absorb([{"role": "user", "content": message["content"]}]).items == ()
    assert not is_request(message)


def test_what_the_model_then_writes_down_is_in_the_ledger_after_the_compaction(log):
    agent, _ = in_the_band(log)
    line = "EXACT CONTINUATION RECORD [Exact next action] :: read src/file_3.py again"
    content = [{"type": "text", "text": f"{line}\nI go on."}]
    agent.engine.observe({"input_tokens": 5_000, "output_tokens": 9}, {"role": "assistant", "content": content})
    made = agent.engine.compact()
    assert [item["payload"] for item in made.ledger if item["heading"] == "Exact next action"] == [
        "read src/file_3.py again"
    ]
    assert "A note of the program" not in json.dumps(made.record())
    assert told(agent.prepare()) == 0


def test_a_compaction_is_the_same_as_if_nothing_had_been_told(log):
    in_the_band(log)
    log.flush()
    with open(log.path, "rb") as file:
        lines = file.readlines()
    made = [again(log).compact()]
    with open(log.path, "wb") as file:
        file.writelines(line for line in lines if b'"context-handoff"' not in line)
    made.append(again(log).compact())
    assert made[0] == made[1]
    assert "A note of the program" not in json.dumps(made[0].record())


# -- what is not sound ------------------------------------------------------------------------------------------------


def mutations(record):
    """Records that are not quite this one, by what is wrong with them."""
    for name in MEMBERS:
        lacking = deepcopy(record)
        del lacking["handoff"][name]
        yield f"no {name}", lacking
        for value in (None, True, "", [], -1, 0, 1.5, "7"):
            other = deepcopy(record)
            other["handoff"][name] = value
            yield f"{name} {value!r}", other
    for name in ("observedPromptTokens", "availableForInput", "handoffThreshold", "compactionThreshold"):
        for by in {"observedPromptTokens": (-700, 700), "availableForInput": (-37, 37)}.get(name, (-1, 1)):
            other = deepcopy(record)
            other["handoff"][name] += by
            yield f"{name} {by}", other
    yield "one more", {**record, "handoff": {**record["handoff"], "more": 1}}
    yield "another version", {**record, "handoff": {**record["handoff"], "version": 2}}
    yield "no time", {**record, "handoff": {**record["handoff"], "createdAt": "2026-13-01T00:00:00.000Z"}}
    yield "a list", {**record, "handoff": [record["handoff"]]}
    yield "nothing", {**record, "handoff": None}
    yield "no handoff", {name: value for name, value in record.items() if name != "handoff"}
    yield "no place", {name: value for name, value in record.items() if name != "after"}
    yield "no epoch", {name: value for name, value in record.items() if name != "checkpoint"}
    yield "an odd epoch", {**record, "checkpoint": 7}


SOUND = {
    "type": records.HANDOFF,
    "after": "x",
    "checkpoint": None,
    "handoff": {
        "version": 1,
        "messageId": message_id(after="x", checkpoint=None),
        "observedPromptTokens": 5_000,
        "availableForInput": 7_000,
        "handoffThreshold": 4_900,
        "compactionThreshold": 5_600,
        "createdAt": "2026-01-01T00:00:00.000Z",
    },
}


UNSOUND = dict(mutations(SOUND))


def test_a_sound_record_is_read():
    assert Handoff.from_record(SOUND) == Handoff(5_000, 7_000, 5_600)


@pytest.mark.parametrize("record", list(UNSOUND.values()), ids=list(UNSOUND))
def test_what_is_not_exactly_what_was_written_is_not_sound(record):
    assert Handoff.from_record(record) is None


@pytest.mark.parametrize(
    "what", ["no version", "messageId ''", "observedPromptTokens 700", "one more", "nothing", "no place", "no epoch"]
)
def test_a_record_that_is_not_sound_silences_its_epoch(log, what):
    agent = Agent(log, policy=WIDE)
    after = agent.ask()
    record = deepcopy(UNSOUND[what])
    if "after" in record:
        record["after"] = after
    if isinstance(said := record.get("handoff"), dict) and said.get("messageId") == SOUND["handoff"]["messageId"]:
        said["messageId"] = message_id(after=after, checkpoint=None)
    log.append(record)
    projection = agent.prepare()
    assert told(projection) == 0 and agent.engine.explain()["handoff"] == "suppressed"
    assert sent(again(log, policy=WIDE).prepare(agent.request)) == sent(projection)
    assert len(given_in(log)) == 1


def test_a_second_record_silences_the_epoch_until_the_next_compaction(log):
    agent, projection = in_the_band(log)
    (record,) = given_in(log)
    log.append({name: record[name] for name in ("type", "after", "checkpoint", "handoff")})
    assert told(agent.prepare()) == 0 and agent.engine.explain()["handoff"] == "suppressed"
    assert told(again(log).prepare(agent.request)) == 0
    assert agent.engine.compact() is not None
    assert agent.engine.explain()["handoff"] == "none"
    agent.answer(agent.prepare())
    while not told(projection := agent.prepare()):
        assert projection.checkpoint is None
        agent.answer(projection)
        agent.ask()
    assert len(given_in(log)) == 3


@pytest.mark.parametrize("what", ["no epoch", "an odd epoch", "no place", "no version"])
def test_no_record_silences_more_than_the_epoch_it_stands_in(log, what):
    agent = Agent(log, policy=WIDE)
    for _ in range(8):
        agent.turn()
    after = agent.ask()  # which the compaction leaves, and what stands behind it
    record = deepcopy(UNSOUND[what])
    log.append({**record, "after": after} if "after" in record else record)
    assert agent.engine.compact() is not None
    assert after in {entry["uuid"] for entry in restore(log.path).entries}
    assert agent.engine.explain()["handoff"] == "none"
    assert told(agent.prepare()) == 1
    log.append({**record, "after": after} if "after" in record else record)
    names_its_epoch = record.get("checkpoint", 0) is None
    assert told(agent.prepare()) == names_its_epoch


def test_one_of_another_epoch_or_another_line_does_not_count(log):
    agent = Agent(log, policy=WIDE)
    first = agent.ask()
    agent.answer(agent.prepare())
    log.append({**user("Something else."), "parentUuid": None})
    projection = agent.prepare()
    assert told(projection) == 1 and is_handoff(projection.messages[-1])
    assert [each["after"] for each in given_in(log)] == [first, log.tip]
    log.append({"type": records.HANDOFF, "after": log.tip, "checkpoint": "another", "handoff": {}})
    assert told(agent.prepare()) == 1


# -- what may go wrong ------------------------------------------------------------------------------------------------


def test_one_that_cannot_be_written_fails_no_turn(log, monkeypatch):
    agent = Agent(log, policy=WIDE)
    agent.ask()
    append = log.append_durable

    def full(entries):
        if isinstance(entries, dict) and entries.get("type") == records.HANDOFF:
            raise OSError(28, "No space left on device")
        return append(entries)

    monkeypatch.setattr(log, "append_durable", full)
    projection = agent.prepare()
    assert told(projection) == 0 and len(projection.messages) == 1
    monkeypatch.undo()
    assert told(agent.prepare()) == 1


def test_no_copy_has_it_and_each_is_told_for_itself(log):
    agent, projection = in_the_band(log)
    agent.answer(projection)
    agent.ask()
    log.flush()
    helper = log.sidechain("one", type="helper", inherits=True)
    helper.append(user("And you?"))
    helper.flush()
    with Session.open(log.path) as session:
        branched = branch(session).path
        with fork(session) as forked:
            forked.append(user("And now?"))
            forked.flush()
            copies = [forked.path, branched, helper.path]
    for path in copies:
        with open(path, "rb") as file:
            assert b"context-handoff" not in file.read()
        state = read(path, tip=None)
        assert state.handoff == "none"
        assert "A note of the program" not in json.dumps([*state.inherited, *(each.message for each in state.said)])


def test_a_record_on_its_way_is_no_part_of_the_conversation(log):
    """Of what is restored, and of every view of people."""
    in_the_band(log)
    assert not any("handoff" in str(entry) for entry in restore(log.path).entries)
    with Session.open(log.path) as session:
        for kind in ("scrollback", "active", "wire"):
            assert "A note of the program" not in json.dumps(list(session.view(kind)))


# -- properties -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_new_engine_sends_the_same_after_any_beginning_of_a_conversation(tmp_path_factory, format, data):
    root = tmp_path_factory.mktemp("root")
    with Sessions(root).new("/srv/project") as log:
        agent = Agent(log, format, seed=data.draw(st.integers(0, 5)))
        before = []
        is_new = data.draw(st.lists(st.booleans(), min_size=20, max_size=20))
        for at in range(20):
            if is_new[at]:
                agent.engine = again(agent.engine.log)
            agent.ask()
            for calls in data.draw(st.sampled_from([(0,), (1, 0), (2, 2, 0)])):
                projection = agent.prepare()
                if is_new[at]:
                    assert sent(again(agent.engine.log).prepare(agent.request)) == sent(projection)
                if projection.checkpoint is None:
                    assert list(projection.messages[: len(before)]) == before
                before = list(projection.messages)
                assert told(projection) <= 1
                made = agent.answer(projection, calls=calls)
                if made:
                    agent.engine.append(*agent.script.results(made))
        boundaries = [record["checkpoint"] for record in given_in(agent.engine.log)]
        assert len(boundaries) == len(set(boundaries))
        assert verify(log.path).findings == ()


@given(st.integers(1, 10**9), st.integers(1, 98), st.data())
def test_whatever_the_window_and_the_policy_what_is_written_is_read(available, handoff, data):
    compaction = data.draw(st.integers(handoff + 1, 100))
    low, high = line_at(available, handoff), line_at(available, compaction)
    if low >= high:
        return
    observed = data.draw(st.integers(low, high - 1))
    said = SOUND["handoff"] | {
        "observedPromptTokens": observed,
        "availableForInput": available,
        "handoffThreshold": low,
        "compactionThreshold": high,
    }
    assert Handoff.from_record({**SOUND, "handoff": said}) == Handoff(observed, available, high)


def test_an_engine_that_only_looks_writes_nothing(log):
    agent = Agent(log, policy=WIDE)
    agent.ask()
    assert agent.engine.explain(agent.request)["phase"] == "handoff_band" and given_in(log) == []


@pytest.mark.parametrize("now_s", [float("nan"), float("inf"), float("-inf"), -1e18, 1e18, 10**400, 253_402_300_800])
def test_a_clock_that_is_anywhere_ends_no_turn(log, now_s):
    at = [0.0]
    engine = Engine(log, window=20_000, policy=Policy(reserve=1_000), clock=lambda: at[0])
    for word in "abcd":
        engine.append(
            {"role": "user", "content": f"{word} " * 900}, {"role": "assistant", "content": f"{word}! " * 900}
        )
    engine.append({"role": "user", "content": "Go on."})
    tokens = engine.explain(Request(model="m", format="anthropic"))["tokens"]
    at[0] = now_s
    engine = Engine(log, window=tokens * 4 // 3 + 1_000, policy=Policy(reserve=1_000), clock=lambda: at[0])
    projection = engine.prepare(Request(model="m", format="anthropic"))
    assert projection.snapshot.phase == "handoff_band"
    assert engine.explain()["handoff"] == "given"
    other = Engine(log, window=tokens * 4 // 3 + 1_000, policy=Policy(reserve=1_000))
    assert other.prepare(projection.request).messages == projection.messages
