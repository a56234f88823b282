import json
import time
from pathlib import Path

import pytest

from rehydrate.context import (
    CommitFailed,
    ContextExhausted,
    Engine,
    Policy,
    Request,
    WindowFull,
    check,
)
from rehydrate.context.records import ATTEMPT
from rehydrate.context.restore import restore
from rehydrate.session import Session, SessionLog, Sessions, fork

from .agents import SYSTEM, tools, usage
from .engines import FORMATS, POLICY, Agent, again, engine_of, request_of, sent


@pytest.fixture
def log(tmp_path):
    with Sessions(tmp_path).new(str(tmp_path)) as opened:
        yield opened


@pytest.mark.parametrize("format", FORMATS)
def test_an_agent_of_many_turns_is_sent_valid_requests_within_budget(log, format):
    agent = Agent(log, format)
    compacted = []

    def look(projection):
        check(projection.messages, format=format)
        assert projection.snapshot.tokens <= projection.snapshot.available
        assert f"Request {agent.script.turn}: " in sent(projection)
        if projection.checkpoint is not None:
            compacted.append(projection.checkpoint.id)

    for _ in range(300):
        agent.turn(look=look)
    assert len(set(compacted)) == len(compacted) >= 20


@pytest.mark.parametrize("format", FORMATS)
def test_results_are_sent_with_their_calls(log, format):
    agent = Agent(log, format)
    agent.ask()
    made = agent.answer(agent.prepare(), calls=3)
    results = agent.script.results(made)
    for each in results:
        agent.engine.append(each)
    projection = agent.prepare()
    assert projection.repaired == ()
    assert json.dumps(results)[1:-1] in json.dumps(projection.messages)


def test_nothing_changes_between_compactions_but_at_the_end(log):
    agent = Agent(log)
    before = []

    def look(projection):
        if projection.checkpoint is None and before:
            assert list(projection.messages[: len(before)]) == before
        before[:] = projection.messages

    for _ in range(40):
        agent.turn(look=look)


def test_a_reply_that_the_provider_has_counted_is_not_counted_again(log):
    agent = Agent(log)
    agent.ask()
    projection = agent.prepare()
    assert projection.snapshot.label == "local_estimate"
    agent.engine.observe(usage("anthropic", 3_000, 500), agent.script.answer(calls=0)[0])
    agent.engine.append({"role": "user", "content": "Go on."})
    snapshot = agent.prepare().snapshot
    assert snapshot.label == "provider_plus_estimate"
    assert 3_500 < snapshot.tokens < 3_520


@pytest.mark.parametrize("is_observed", [True, False], ids=["observed", "appended by the host"])
def test_no_message_of_a_reply_of_several_is_counted_again(log, is_observed):
    agent = Agent(log)
    agent.ask()
    agent.prepare()
    call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "x" * 400}}
    reply = [{"role": "assistant", "content": each} for each in ("I look. " * 50, "Now. " * 50, [call])]
    if is_observed:
        agent.engine.observe(usage("anthropic", 3_000, 500), reply)
    else:
        agent.engine.append(*reply)
        agent.engine.observe(usage("anthropic", 3_000, 500))
    agent.engine.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]})
    for engine in (agent.engine, again(log)):
        assert 3_500 < engine.prepare(agent.request).snapshot.tokens < 3_520
    agent.engine.append({"role": "user", "content": "Go on."})
    assert 3_500 < agent.prepare().snapshot.tokens < 3_540


def test_an_answer_that_the_provider_has_not_counted_is_counted(log):
    agent = Agent(log)
    agent.ask()
    agent.prepare()
    agent.engine.observe(usage("anthropic", 3_000, 500), {"role": "assistant", "content": "Yes."})
    agent.engine.append({"role": "assistant", "content": "And more. " * 100})
    agent.engine.append({"role": "user", "content": "Go on."})
    assert agent.prepare().snapshot.tokens > 3_600


def test_a_reply_that_the_host_has_appended_is_not_appended_again(log):
    agent = Agent(log)
    agent.ask()
    projection = agent.prepare()
    agent.engine.append({"role": "assistant", "content": "Yes."})
    agent.engine.observe(usage("anthropic", 3_000, 500))
    agent.engine.append({"role": "user", "content": "Go on."})
    after = agent.prepare()
    assert len(after.messages) == len(projection.messages) + 2
    assert 3_500 < after.snapshot.tokens < 3_520


def test_the_providers_count_is_dropped_where_another_model_or_no_reply_follows(log):
    agent = Agent(log)
    agent.ask()
    agent.prepare()
    agent.engine.observe(usage("anthropic", 3_000, 500))  # the reply was lost
    agent.engine.append({"role": "user", "content": "Again?"})
    assert agent.prepare().snapshot.label == "local_estimate"
    agent.answer(agent.prepare())
    agent.engine.append({"role": "user", "content": "Go on."})
    assert agent.prepare().snapshot.label == "provider_plus_estimate"
    other = Request(model="other", format="anthropic", system=SYSTEM, tools=tools("anthropic"))
    assert agent.engine.prepare(other).snapshot.label == "local_estimate"


def test_a_compaction_clears_the_providers_count(log):
    agent = Agent(log)
    for _ in range(5):
        agent.turn()
    agent.ask()
    assert agent.prepare().snapshot.label == "provider_plus_estimate"
    assert agent.engine.compact() is not None
    assert agent.prepare().snapshot.label == "local_estimate"


def test_a_host_compacts_when_it_likes(log):
    agent = Agent(log, window=100_000)
    for _ in range(8):
        agent.turn()
    agent.ask()
    before = agent.prepare()
    made = agent.engine.compact("turn_limit")
    assert made.reason == "turn_limit"
    after = agent.prepare()
    assert after.snapshot.tokens < before.snapshot.tokens
    assert "Request 9: " in sent(after)


def test_a_compaction_commits_what_it_was_made_of_and_reads_the_log_no_second_time_for_it(log, monkeypatch):
    agent = Agent(log, window=100_000)
    for _ in range(8):
        agent.turn()
    agent.ask()
    agent.prepare()

    looked = []

    def look(path, **at):
        looked.append(path)
        return restore(path, **at)

    monkeypatch.setattr("rehydrate.context.restore.restore", look)
    assert agent.engine.compact() is not None
    assert len(looked) == 2  # for what the file ends with, and for what the log goes on from


def test_a_small_conversation_is_not_compacted(log):
    agent = Agent(log, window=100_000)
    agent.ask()
    assert agent.engine.compact() is None


def test_a_policy_without_a_line_says_that_the_window_is_full(log):
    agent = Agent(log, policy=Policy(reserve=1_000, compaction_percent=None))
    with pytest.raises(WindowFull, match="compact"):
        for _ in range(200):
            agent.turn()
    assert agent.engine.compact() is not None
    assert agent.prepare().snapshot.tokens < 7_000


def test_a_request_that_nothing_can_make_fit_is_refused_with_what_holds_the_space(log):
    agent = Agent(log)
    agent.ask()
    large = Request(model="m", format="anthropic", system="word " * 9_000)
    with pytest.raises(ContextExhausted) as found:
        agent.engine.prepare(large)
    assert found.value.holders[0].what == "system"


def test_a_commit_that_fails_fails_the_turn_and_leaves_all_as_it_was(log, monkeypatch):
    agent = Agent(log, window=100_000)
    for _ in range(4):
        agent.turn()
    agent.ask()
    before = sent(agent.prepare())

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("rehydrate.context.compactor.commit", fail)
        with pytest.raises(CommitFailed) as found:
            agent.engine.compact()
    assert found.value.phase == "checkpoint"
    assert sent(agent.prepare()) == before
    assert agent.engine.compact() is not None


def test_a_pinned_message_is_the_same_after_many_compactions(log):
    agent = Agent(log)
    uuid = agent.engine.append({"role": "user", "content": "Rule: <b>never</b> touch\n\n  main."})
    agent.engine.pin(uuid)
    for _ in range(60):
        agent.turn()
    assert agent.engine.explain()["pinned"] == 1
    assert {"role": "user", "content": "Rule: <b>never</b> touch\n\n  main."} in agent.prepare().messages


def test_only_what_the_model_is_sent_can_be_pinned(log):
    agent = Agent(log)
    agent.ask()
    with pytest.raises(LookupError, match="before it is compacted"):
        agent.engine.pin("nobody")


def test_an_item_of_the_ledger_survives_until_it_is_closed(log):
    agent = Agent(log)
    agent.ask()
    item = agent.engine.ledger.put("Decisions and rationale", "we keep SQLite")
    for _ in range(40):
        agent.turn()
    assert "we keep SQLite" in sent(agent.prepare())
    assert [each.id for each in again(log).ledger.open if each.payload == "we keep SQLite"] == [item]
    agent.engine.ledger.close(item)
    assert "we keep SQLite" not in [each.payload for each in agent.engine.ledger.open]
    with pytest.raises(ValueError, match="id"):
        agent.engine.ledger.close("nobody")


def test_what_was_put_on_another_branch_does_not_hold_here(log):
    agent = Agent(log, window=100_000)
    first = agent.ask()
    agent.answer(agent.prepare())
    agent.engine.ledger.put("Decisions and rationale", "of the other branch")
    agent.engine.ledger.put("Open risks or blockers", "too")
    log.flush()
    back = SessionLog(log.place, cwd="/", tip=first)
    other = engine_of(back)
    assert other.ledger.items == ()
    back.close()


def test_an_open_call_and_what_follows_it_are_never_compacted(log):
    agent = Agent(log, window=100_000)
    for _ in range(6):
        agent.turn()
    agent.ask()
    made = agent.answer(agent.prepare(), calls=2)
    assert agent.engine.compact() is not None
    agent.engine.append(*agent.script.results(made))
    projection = agent.prepare()
    assert projection.repaired == ()
    assert [block["type"] for block in projection.messages[-1]["content"]] == ["tool_result"] * 2


def test_a_result_that_is_too_long_is_replaced_once_and_its_text_kept(log):
    agent = Agent(log, window=40_000)
    agent.ask()
    made = agent.answer(agent.prepare(), calls=1)
    block = {"type": "tool_result", "tool_use_id": made[0][0], "content": "word of a long result " * 4_000}
    agent.engine.append({"role": "user", "content": [block]})
    projection = agent.prepare()
    assert [each.kind for each in projection.pruned] == ["result-budget"]
    (kept,) = Path(log.place.folder, "tool-results").iterdir()
    assert kept.read_text() == block["content"]
    repeated = agent.prepare()
    assert repeated.pruned == () and sent(repeated) == sent(projection)


def test_old_results_are_pruned_together_and_seldom(log):
    agent = Agent(log, window=30_000)
    agent.script.words = 400
    passes = []
    for _ in range(30):
        agent.turn(look=lambda projection: passes.append([each.kind for each in projection.pruned]))
    found = [each for each in passes if "prune" in each]
    assert 1 <= len(found) <= len(passes) // 6
    assert min(map(len, found)) > 3


def test_a_log_is_explained_without_writing_to_it(log):
    agent = Agent(log, window=20_000)
    for _ in range(3):
        agent.turn()
    agent.ask()
    agent.prepare()
    log.append({"type": ATTEMPT, "attempt": "a1", "state": "open", "after": log.tip})
    log.flush()
    with open(log.path, "rb") as file:
        before = file.read()
    found = agent.engine.explain()
    assert found["next"]["line"] == "handoff"
    assert found["next"]["left"] == found["lines"]["handoff"] - found["tokens"]
    assert sum(found["holders"].values()) > 0.9 * found["tokens"] - 400
    with open(log.path, "rb") as file:
        assert file.read() == before


def test_after_a_pause_that_no_cache_outlives_more_is_pruned_and_once(log):
    agent = Agent(log, window=100_000)
    agent.script.words = 400
    for _ in range(4):
        agent.turn()
    agent.ask()
    assert agent.prepare().pruned == ()
    later = Engine(log, window=100_000, policy=POLICY, clock=lambda: time.time() + 301)
    projection = later.prepare(agent.request)
    assert {each.kind for each in projection.pruned} == {"prune"}
    assert later.prepare(agent.request).pruned == ()
    assert sent(agent.prepare()) == sent(projection)


def test_control_messages_are_sent_and_not_kept(log):
    agent = Agent(log)
    agent.ask()
    control = [{"role": "user", "content": "Be brief."}]
    assert agent.engine.prepare(request_of(control=control)).messages[-1] == control[0]
    assert "Be brief." not in sent(agent.prepare())


def test_a_subagents_compaction_touches_nothing_of_its_parent(log):
    agent = Agent(log)
    agent.turn()
    log.flush()
    with open(log.path, "rb") as file:
        before = file.read()
    helper = Agent(log.sidechain("one", type="helper"))
    for _ in range(20):
        helper.turn()
    assert helper.engine.explain()["checkpoint"] is not None
    with open(log.path, "rb") as file:
        assert file.read() == before


@pytest.mark.parametrize("begun", [b"", b'{"type":"session","for'])
def test_a_subagent_whose_first_writer_was_killed_as_it_began_begins_anew(log, begun):
    Agent(log).ask()
    path = Path(log.place.agent_path("one"))
    path.parent.mkdir(parents=True)
    path.write_bytes(begun)
    helper = Agent(log.sidechain("one", type="helper"))
    helper.ask()
    assert "Request 1: " in sent(helper.prepare())


def test_a_forked_subagent_is_sent_what_its_parent_was_sent(log):
    agent = Agent(log)
    for _ in range(14):
        agent.turn()
    agent.ask()
    projection = agent.prepare()
    assert agent.engine.explain()["checkpoint"] is not None
    made = agent.answer(projection, calls=2)
    helper = Agent(log.sidechain("one", type="helper", inherits=True), seed=7)
    helper.ask()
    theirs = helper.prepare()
    count = len(projection.messages)
    assert list(theirs.messages[:count]) == list(projection.messages)
    assert [block.get("tool_use_id") for block in theirs.messages[count + 1]["content"]] == [each[0] for each in made]
    assert theirs.repaired == ()
    agent.engine.append(*agent.script.results(made))
    agent.engine.compact()  # of which the helper knows nothing
    assert list(helper.prepare().messages) == list(theirs.messages)
    for _ in range(14):
        helper.turn()
    assert helper.engine.explain()["checkpoint"] is not None


def test_nothing_is_prepared_of_an_empty_log(log):
    with pytest.raises(ValueError, match="append a request"):
        engine_of(log).prepare(request_of())


def test_without_a_window_nothing_is_compacted(log):
    agent = Agent(log, window=None)
    for _ in range(60):
        agent.turn(look=lambda projection: projection.snapshot.phase == "unknown" or pytest.fail())
    assert agent.engine.explain()["checkpoint"] is None


def test_a_fork_takes_along_what_the_host_has_put_and_pinned(log):
    agent = Agent(log, window=100_000)
    agent.engine.ledger.put("Objective and constraints", "from the beginning")
    first = agent.ask()
    agent.engine.pin(first)
    done = agent.engine.ledger.put("Active tasks and background work", "done by now")
    agent.engine.ledger.close(done)
    agent.answer(agent.prepare())
    agent.ask()
    agent.engine.ledger.put("Open risks or blockers", "not on the way of the fork")
    log.flush()
    with Session.open(log.path) as session, fork(session, at=first) as forked:
        forked.append_durable({"type": "user", "message": {"role": "user", "content": "And elsewhere?"}})
        other = engine_of(forked, window=100_000)
        assert {item.payload: item.status for item in other.ledger.items} == {
            "from the beginning": "open",
            "done by now": "done",
        }
        assert other.explain()["pinned"] == 1


def test_what_is_closed_stays_closed_in_a_fork_behind_a_compaction(log):
    agent = Agent(log, window=100_000)
    item = agent.engine.ledger.put("Objective and constraints", "from the beginning")
    for _ in range(5):
        agent.turn()
    agent.engine.ledger.close(item)
    agent.ask()
    agent.prepare()
    assert agent.engine.compact() is not None
    with Session.open(log.path) as session, fork(session) as forked:
        forked.append_durable({"type": "user", "message": {"role": "user", "content": "And elsewhere?"}})
        assert [each.status for each in engine_of(forked).ledger.items] == ["done"]


def test_a_compaction_tells_files_of_the_workspace_and_none_of_a_session(log, tmp_path):
    (tmp_path / "plan.md").write_text("the plan as it is now")
    kept = Path(log.place.folder, "tool-results", "c9.txt")
    kept.parent.mkdir(parents=True)
    kept.write_text("the text of a result")
    engine = engine_of(log, policy=Policy(reserve=1_000, workspace=str(tmp_path)))
    for number, path in enumerate((kept, tmp_path / "plan.md")):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read_file", "input": {"path": str(path)}}
        engine.append({"role": "user", "content": f"Read {number}. {'word ' * 300}"})
        engine.append({"role": "assistant", "content": [call]})
        engine.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": "?"}]}
        )
        engine.append({"role": "assistant", "content": "Read."})
    engine.append({"role": "user", "content": "Go on."})
    made = json.dumps(engine.compact().record())
    assert "the plan as it is now" in made
    assert "the text of a result" not in made


def reading(engine, number, *, words=300):
    """One step of an agent that reads; the projection that it was sent, and the uuid of the result."""
    projection = engine.prepare(request_of())
    block = {"type": "tool_use", "id": "call_0", "name": "read_file", "input": {"path": f"f{number}"}}
    engine.observe(None, {"role": "assistant", "content": [block]})
    block = {"type": "tool_result", "tool_use_id": "call_0", "content": f"result {number} " + "word " * words}
    return projection, engine.append({"role": "user", "content": [block]})


def test_of_an_id_that_a_model_uses_again_in_every_answer_each_result_is_shortened_and_pruned(log):
    engine = engine_of(log, window=40_000)
    engine.append({"role": "user", "content": "Read them all."})
    kinds = []
    for number in range(60):
        projection, _ = reading(engine, number, words=9_000 if number % 20 == 19 else 300)
        kinds += [each.kind for each in projection.pruned]
    assert kinds.count("result-budget") == 2
    assert kinds.count("prune") > 20


def test_results_of_a_pinned_entry_are_never_pruned(log):
    engine = engine_of(log, window=40_000)
    engine.append({"role": "user", "content": "Read them all."})
    _, kept = reading(engine, 0)
    engine.pin(kept)
    pruned = 0
    for number in range(1, 60):
        projection, _ = reading(engine, number)
        pruned += len(projection.pruned)
        assert "result 0 word word" in sent(projection)
    assert pruned > 20


def test_what_a_compaction_of_another_program_has_left_stays_whole_and_is_not_what_the_user_said(log):
    engine = engine_of(log)
    told = "The user wants the shop on 3.12. Never touch the database. " + "It went on and on. " * 60
    engine.append({"role": "user", "content": "Migrate the shop."})
    log.compact(told, trigger="auto")
    engine.append({"role": "user", "content": "And now the tests."})
    for number in range(30):
        projection, _ = reading(engine, number)
        assert told in sent(projection)
    checkpoint = engine.compact()
    assert checkpoint is not None and checkpoint.parent is not None
    (summary,) = [each["content"] for each in checkpoint.messages if each.get("rehydrate", {}).get("kind") == "summary"]
    assert "Never touch" not in summary and "And now the tests." in sent(engine.prepare(request_of()))
    assert told in sent(engine.prepare(request_of()))
