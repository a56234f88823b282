"""What is done about a request that its provider has refused."""

import asyncio
import json
from concurrent import futures
from pathlib import Path

import pytest

from rehydrate.context import (
    Aborted,
    AsyncEngine,
    CommitFailed,
    CompactionBlocked,
    Meter,
    Policy,
    Refused,
    Violation,
    violations,
)
from rehydrate.context.breaker import LIMIT
from rehydrate.context.reactive import is_delivered
from rehydrate.context.records import ATTEMPT, HANDOFF
from rehydrate.context.restore import restore
from rehydrate.session import Place, Session, SessionLog
from rehydrate.session.copies import branch

from .agents import usage
from .engines import FORMATS, Agent, again, engine_of, is_handoff, request_of, sent, types_in
from .summarisers import FAULTS, GOOD, REQUEST, WINDOW, Scripted, copied, grow
from .talk import assistant, result, text, thought, user

TOO_LONG = "prompt is too long: 200251 tokens > 200000 maximum"
NO_NUMBER = "Your input exceeds the context window of this model."
METER = Meter()


class TooLong(Exception):
    """As the library of a provider raises it."""

    status_code = 413


def at_work(log, format="anthropic", *, turns=4, **more):
    """An agent in the middle of a conversation, about to send a request that is refused."""
    agent = Agent(log, format, **{"window": 100_000, **more})
    agent.script.words = 400  # so that results are worth a prune
    for _ in range(turns):
        agent.turn(steps=4)
    agent.ask()
    agent.prepare()
    return agent


def size(engine, request):
    """What the next request counts, by the meter."""
    return METER.messages(engine._look(request).messages)


def raises(engine, error, **more):
    with pytest.raises(type(error) if isinstance(error, BaseException) else Refused) as found:
        engine.overflow(error, **more)
    return found.value


@pytest.mark.parametrize("format", FORMATS)
def test_a_request_that_is_too_large_is_sent_again_smaller_and_for_good(log, format):
    agent = at_work(log, format)
    before = size(agent.engine, agent.request)
    projection = agent.engine.overflow(TooLong("no words"))
    assert size(agent.engine, agent.request) < before
    assert projection.snapshot.tokens <= projection.snapshot.available
    assert not violations(projection.messages, format=format)
    assert projection.checkpoint == agent.engine._follow().checkpoint == restore(log.path).checkpoint
    assert projection.checkpoint.reason == "context_limit"
    assert sent(again(log, window=100_000).prepare(agent.request)) == sent(projection)
    agent.answer(projection)
    agent.turn()


def test_prunes_are_committed_with_the_compaction_or_nowhere(log):
    agent = at_work(log)
    projection = agent.engine.overflow(TOO_LONG)
    with Session.open(log.path) as session:
        kinds = [record["type"] for record in session.view("raw")]
    assert "content-replacement" not in kinds
    assert {each.kind for each in projection.pruned} == {"prune"}
    checkpoint = restore(log.path).checkpoint
    assert (checkpoint.reason, checkpoint.strategy, checkpoint.outcome) == ("context_limit", "fallback", "completed")


def test_it_helps_once_until_there_is_an_answer(log):
    agent = at_work(log, turns=8)
    first, second = TooLong("one"), TooLong("two")
    projection = agent.engine.overflow(first)
    assert raises(agent.engine, second) is second
    engine = prepared(again(log, window=100_000), agent.request)
    assert raises(engine, second) is second
    engine.observe(usage("anthropic", 1_000, 60), agent.script.answer(calls=0)[0])
    agent.turn(steps=6)
    agent.turn(steps=6)
    agent.ask()
    assert len(agent.prepare().messages) > len(projection.messages)
    agent.engine.overflow(first)


def prepared(engine, request):
    engine.prepare(request)
    return engine


@pytest.mark.parametrize(
    "then",
    [
        {"type": "user", "message": {"role": "user", "content": "Stop hook: do not stop yet."}},
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": "prompt is too long"},
            "isApiErrorMessage": True,
        },
    ],
    ids=["stop hook", "report of the error"],
)
def test_what_is_no_answer_does_not_let_it_help_again(log, then):
    agent = at_work(log, turns=8)
    agent.engine.overflow(TooLong())
    log.append(then)
    agent.prepare()
    raises(agent.engine, TooLong())
    raises(prepared(again(log, window=100_000), agent.request), TooLong())


def test_what_was_refused_is_forgotten_by_no_compaction(log):
    agent = at_work(log, turns=8)
    agent.engine.overflow(TooLong())
    for _ in range(12):  # so that the request that was refused is covered
        agent.engine.append(user("word " * 2_000))
    assert agent.engine.compact() is not None
    agent.prepare()
    raises(agent.engine, TooLong())


@pytest.mark.parametrize(
    "error",
    [
        "Error code: 429 - too many tokens per minute",
        "Internal server error",
        "invalid x-api-key",
        ValueError("something else"),
        {"error": {"message": "The model does not exist"}},
    ],
)
def test_what_is_no_request_that_is_too_large_is_raised_again(log, error):
    agent = at_work(log)
    before = log.path, restore(log.path).end
    found = raises(agent.engine, error)
    assert found is error or str(error) in str(found)
    assert (log.path, restore(log.path).end) == before


@pytest.mark.parametrize(
    "partial",
    [
        {"content": [{"type": "text", "text": "I"}]},
        [{"type": "thinking", "thinking": "Hm"}],
        {"usage": {"input_tokens": 5}},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c"}]}}]},
    ],
)
def test_nothing_is_done_where_something_of_an_answer_has_come(log, partial):
    agent = at_work(log)
    before = restore(log.path).end
    error = TooLong()
    assert raises(agent.engine, error, partial=partial) is error
    assert restore(log.path).end == before


@pytest.mark.parametrize(
    "partial",
    [
        None,
        "",
        [],
        {},
        {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 0}},
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 5,
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}],
        },
        {"id": "resp_1", "created_at": 5, "temperature": 1.0, "tools": [{"name": "f"}], "output": [], "usage": None},
        {"candidates": [{"content": {"role": "model", "parts": []}}], "usageMetadata": {"promptTokenCount": 0}},
        {"input_tokens": 0, "output_tokens": 0},
        [{"type": "text", "text": ""}],
    ],
)
def test_a_response_that_has_only_begun_is_nothing_delivered(partial):
    assert not is_delivered(partial)


@pytest.mark.parametrize(
    "partial",
    [
        "I",
        {"usage": {"output_tokens": 1}},
        {"output_tokens": 1},
        {"content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]},
        {"type": "function_call", "name": "ls", "arguments": ""},
        {"output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}]},
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "ls", "args": {}}}]}}]},
        [assistant(thought())],
        object(),
    ],
)
def test_a_text_a_thought_a_call_and_a_count_are_something_delivered(partial):
    assert is_delivered(partial)


def test_an_error_that_is_no_exception_is_raised_as_one(log):
    agent = at_work(log)
    agent.engine.overflow(NO_NUMBER)
    assert NO_NUMBER in str(raises(agent.engine, NO_NUMBER))


def test_before_anything_was_prepared_there_is_nothing_to_send_again(log):
    with pytest.raises(ValueError, match="nothing was prepared"):
        engine_of(log).overflow(TOO_LONG)


def test_a_conversation_that_cannot_be_made_smaller_is_refused(log):
    engine = engine_of(log, window=100_000)
    engine.append({"role": "user", "content": "Hello"})
    engine.prepare(request_of())
    error = TooLong()
    assert raises(engine, error) is error


def test_what_the_provider_allows_is_what_is_compacted_for(log):
    agent = at_work(log, turns=12, window=200_000)
    projection = agent.engine.overflow("This model's maximum context length is 4000 tokens.")
    assert projection.snapshot.tokens < 4_000 - 1_000


def test_nobody_knows_the_window_and_it_is_compacted_all_the_same(log):
    agent = at_work(log, turns=8, window=None)
    before = size(agent.engine, agent.request)
    agent.engine.overflow(TooLong())
    assert size(agent.engine, agent.request) < before


# -- where it cannot be compacted -------------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch):
    """Planning a compaction fails."""

    def fail(*_, **__):
        raise RuntimeError("no plan")

    monkeypatch.setattr("rehydrate.context.plan.plan", fail)


@pytest.mark.parametrize("format", FORMATS)
def test_where_the_compaction_fails_the_prunes_are_committed_alone(log, format, broken):
    agent = at_work(log, format)
    before = agent.prepare()
    projection = agent.engine.overflow(TooLong())
    checkpoint = restore(log.path).checkpoint
    assert (checkpoint.reason, checkpoint.strategy, checkpoint.outcome) == ("context_limit", "snip", "failed")
    assert projection.checkpoint == checkpoint and projection.pruned
    assert len(projection.messages) == len(before.messages)
    assert "was taken out to save room" in sent(projection)
    assert not violations(projection.messages, format=format)
    assert sent(again(log, window=100_000).prepare(agent.request)) == sent(projection)
    agent.answer(projection)
    agent.turn()


def test_where_it_fails_and_no_prune_frees_anything_the_error_is_raised_again(log, broken):
    engine = engine_of(log, window=100_000)
    engine.append({"role": "user", "content": "word " * 5_000})
    engine.prepare(request_of())
    with pytest.raises(RuntimeError, match="no plan"):
        engine.overflow(TooLong())


def test_a_hook_that_forbids_it_leaves_the_context_as_it_is(log):
    def forbid(_):
        raise CompactionBlocked("not now")

    agent = at_work(log, before_compaction=forbid)
    before = sent(agent.prepare())
    with pytest.raises(CompactionBlocked, match="not now"):
        agent.engine.overflow(TooLong())
    assert sent(agent.prepare()) == before
    assert restore(log.path).checkpoint is None


def test_what_cannot_be_written_ends_the_turn_and_changes_nothing(log, monkeypatch):
    agent = at_work(log)
    before = sent(agent.prepare())

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(log), "compact", full)
        with pytest.raises(CommitFailed) as found:
            agent.engine.overflow(TooLong())
    assert found.value.phase == "checkpoint"
    assert sent(agent.prepare()) == before
    agent.engine.overflow(TooLong())


def test_pinned_messages_stay_word_for_word_through_a_snip(log, broken):
    agent = Agent(log, window=100_000)
    agent.script.words = 400
    agent.engine.pin(agent.engine.append({"role": "user", "content": "Never push to main."}))
    for _ in range(4):
        agent.turn(steps=4)
    agent.prepare()
    agent.engine.overflow(TooLong())
    agent.ask()
    assert agent.engine.explain()["pinned"] == 1


def test_a_pinned_message_that_a_checkpoint_keeps_behind_its_summary_stays_word_for_word(log):
    def step(name, words):
        engine.append(assistant({"type": "tool_use", "id": name, "name": "x", "input": {}}), user(result(name, words)))

    engine = engine_of(log, window=100_000)
    engine.append(user("Begin."), assistant("word " * 8_000))
    step("old", "one " * 800)
    engine.pin(engine.append(user("Never push to main.")))
    engine.append(assistant("Yes."))
    for name in ("pruned", "a", "b", "c"):
        step(name, "two " * 800 if name == "pruned" else "few")
    engine.prepare(request_of())
    kept = engine.overflow(TooLong()).checkpoint or restore(log.path).checkpoint
    assert [each["role"] for each in kept.messages][-2:] == ["assistant", "user"]  # up to what was pruned
    assert {"role": "user", "content": "Never push to main."}.items() <= kept.messages[-4].items()
    engine.append(assistant("word " * 8_000), user("Go on."), assistant("word " * 8_000), user("Go on."))
    assert engine.compact() is not None
    assert "Never push to main." in sent(again(log, window=100_000).prepare(request_of()))
    assert engine.explain()["pinned"] == 1


# -- with a model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("stop", [Aborted, KeyboardInterrupt, asyncio.CancelledError, futures.CancelledError])
def test_what_the_user_stops_leaves_the_bytes_though_a_prune_would_free_something(log, stop, at):
    agent = at_work(log)
    before = sent(agent.prepare())
    engine = prepared(again(log, window=100_000, summariser=Scripted(*([""] * (at - 1)), stop())), agent.request)
    with pytest.raises(stop):
        engine.overflow(TooLong())
    assert restore(log.path).checkpoint is None
    assert types_in(engine.log)[-1] == (ATTEMPT, "interrupted")
    assert sent(again(log, window=100_000).prepare(agent.request)) == before
    engine.prepare(agent.request)
    with pytest.raises(stop):  # for it counts as nothing
        engine.overflow(TooLong())


def test_a_model_improves_the_prose_of_what_is_sent_again(log):
    agent = at_work(log)
    engine = prepared(again(log, window=100_000, summariser=Scripted(GOOD)), agent.request)
    projection = engine.overflow(TooLong())
    assert (projection.checkpoint.strategy, projection.failure) == ("llm", None)
    assert "all went well" in sent(projection)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_model_is_told_and_makes_nothing_worse(due, tmp_path, fault, soon):
    answer, code = FAULTS[fault]
    plain = prepared(engine_of(copied(due, tmp_path / "plain"), window=10 * WINDOW), REQUEST).overflow(TooLong())
    model = Scripted(answer)
    log = copied(due, tmp_path / "model")
    projection = prepared(engine_of(log, window=10 * WINDOW, summariser=model), REQUEST).overflow(TooLong())
    assert (projection.failure, len(model.requests)) == (code, 3)
    assert projection.checkpoint.outcome == "fallback"
    assert sent(projection) == sent(plain)


def test_what_a_provider_allows_is_no_other_window_that_lets_a_model_be_asked_again(due, tmp_path):
    log = copied(due, tmp_path)
    model = Scripted("")
    engine = engine_of(log, window=10 * WINDOW, summariser=model)
    for _ in range(LIMIT):
        grow(engine)
        assert engine.compact() is not None
    asked = len(model.requests)
    grow(engine)
    engine.prepare(REQUEST)
    projection = engine.overflow("prompt is too long: 60251 tokens > 50000 maximum")
    assert (projection.failure, len(model.requests)) == ("circuit_open", asked)


# -- epochs ------------------------------------------------------------------------------------------


def test_a_snip_opens_an_epoch_in_which_the_model_is_told_again(log, broken):
    wide = Policy(reserve=1_000, handoff_percent=1, compaction_percent=99)
    agent = at_work(log, policy=wide)
    assert any(map(is_handoff, agent.prepare().messages))
    projection = agent.engine.overflow(TooLong())
    assert projection.checkpoint.strategy == "snip"
    told = [each for each in projection.messages if is_handoff(each)]
    assert len(told) == 1
    with Session.open(log.path) as session:
        epochs = [record["checkpoint"] for record in session.view("raw") if record["type"] == HANDOFF]
    assert epochs == [None, restore(log.path).boundary]


# -- images -----------------------------------------------------------------------------------------------------------


def picture(name, size=100):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": f"{name}{'A' * size}"}}


MEDIA = "messages.2.content.1.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes"


def pictures_in(projection):
    return [name for name in ("old", "small", "large") if f'"{name}AAA' in sent(projection)]


def looking(log, *, new=True):
    """An engine with an old picture, which the model has seen, and two new ones."""
    engine = engine_of(log, window=100_000)
    engine.append(user(text("Look:"), picture("old", 5_000)))
    engine.prepare(request_of())
    engine.observe(None, assistant("I see."))
    if new:
        engine.append(user(text("And these:"), picture("small"), picture("large", 900)))
    else:
        engine.append(user("And?"))
    engine.prepare(request_of())
    return engine


def test_the_largest_of_the_pictures_that_are_new_is_left_out_for_good(log):
    engine = looking(log)
    projection = engine.overflow(MEDIA)
    assert pictures_in(projection) == ["old", "small"]
    assert "An image was left out" in sent(projection)
    assert sent(again(log, window=100_000).prepare(request_of())) == sent(projection)
    assert "largeAAA" in Path(log.path).read_text("utf-8")
    raises(engine, MEDIA)


def test_where_no_picture_is_new_the_largest_of_all_is_left_out(log):
    assert pictures_in(looking(log, new=False).overflow(MEDIA)) == []


def test_a_picture_in_a_result_is_left_out(log):
    agent = at_work(log)
    made = agent.answer(agent.prepare(), calls=1)
    agent.engine.append(user(result(made[0][0], [text("Seen."), picture("large")])))
    agent.prepare()
    projection = agent.engine.overflow(MEDIA)
    assert pictures_in(projection) == [] and "Seen." in sent(projection)


def test_a_picture_that_was_left_out_stays_so_after_a_compaction_and_in_a_fork(log, tmp_path):
    engine = looking(log)
    engine.overflow(MEDIA)
    engine.observe(None, assistant("Well."))
    engine.append(user("Go on."))
    log.flush()
    with Session.open(log.path) as session, SessionLog(Place.of(branch(session).path), cwd="/") as copy:
        assert sent(engine_of(copy, window=100_000).prepare(request_of())) == sent(engine.prepare(request_of()))
    engine.pin(engine._follow().said[2].uuid)
    engine.append(user("word " * 4_000))
    assert engine.compact() is not None
    assert "largeAAA" not in sent(engine.prepare(request_of()))
    assert sent(again(log, window=100_000).prepare(request_of())) == sent(engine.prepare(request_of()))


def test_a_picture_that_comes_again_stays_left_out_through_a_compaction(log):
    engine = looking(log)
    engine.overflow(MEDIA)
    for _ in range(12):  # so that the decision is covered
        engine.observe(None, assistant("Well."))
        engine.append(user("word " * 2_000))
    engine.append(user(text("Again:"), picture("large", 900)))
    assert "largeAAA" not in sent(engine.prepare(request_of()))
    assert engine.compact() is not None
    assert "Again:" in sent(engine.prepare(request_of()))
    assert "largeAAA" not in sent(engine.prepare(request_of()))


def test_a_request_of_too_many_bytes_that_are_mostly_pictures_loses_pictures(log):
    engine = looking(log)
    assert pictures_in(engine.overflow(TooLong())) == ["old", "small"]
    assert restore(log.path).checkpoint is None


def test_a_request_of_too_many_tokens_is_compacted_though_it_has_pictures(log):
    agent = at_work(log)
    agent.engine.append(user(text("Look:"), picture("large", 900_000)))
    agent.prepare()
    agent.engine.overflow(TOO_LONG)
    assert restore(log.path).checkpoint is not None


def test_a_pinned_picture_is_not_left_out(log):
    engine = engine_of(log, window=100_000)
    engine.pin(engine.append(user(text("Look:"), picture("large", 900))))
    engine.prepare(request_of())
    raises(engine, MEDIA)


@pytest.mark.parametrize("said", [MEDIA, "messages.1.content.0: Invalid `signature` in `thinking` block"])
def test_nothing_is_left_out_where_the_rest_would_not_be_valid(log, monkeypatch, said):
    agent = at_work(log)
    agent.engine.append(user(text("Look:"), picture("large", 900)))
    before = sent(agent.prepare())
    wrong = [Violation("empty", 0, "there is no message of the user")]
    with monkeypatch.context() as patch:
        patch.setattr("rehydrate.context.reactive.violations", lambda *_, **__: wrong)
        raises(agent.engine, said)
    assert sent(agent.prepare()) == before
    assert sent(agent.engine.overflow(said)) != before


def test_where_there_is_no_picture_the_error_is_raised_again(log):
    raises(at_work(log).engine, MEDIA)


# -- thoughts ---------------------------------------------------------------------------------------------------------

MALFORMED = "messages.1.content.0: Invalid `signature` in `thinking` block"


def thoughts_in(projection):
    return sum(
        block.get("type") == "thinking"
        for each in projection.messages
        for block in each["content"]
        if isinstance(block, dict)
    )


def test_thoughts_that_are_not_taken_are_left_out_until_the_loop_has_ended(log):
    agent = at_work(log)
    made = agent.answer(agent.prepare(), calls=2)
    agent.engine.append(*agent.script.results(made))
    assert thoughts_in(agent.prepare()) > 1
    projection = agent.engine.overflow(MALFORMED)
    assert thoughts_in(projection) == 0 and not violations(projection.messages, format="anthropic")
    made = agent.answer(projection, calls=1)
    agent.engine.append(*agent.script.results(made))
    assert thoughts_in(agent.prepare()) == 0
    agent.answer(agent.prepare())
    agent.turn()
    agent.ask()
    assert thoughts_in(agent.prepare()) > 0
    assert sent(again(log, window=100_000).prepare(agent.request)) == sent(agent.prepare())


def test_thoughts_that_were_left_out_stay_so_after_a_compaction(log):
    agent = at_work(log)
    agent.engine.overflow(MALFORMED)
    agent.answer(agent.prepare())
    agent.ask()
    assert thoughts_in(agent.prepare()) == 0
    agent.answer(agent.prepare())
    agent.ask()
    assert thoughts_in(agent.prepare()) == 1
    assert agent.engine.compact() is not None
    assert thoughts_in(agent.prepare()) <= 1
    agent.answer(agent.prepare())
    agent.turn()


@pytest.mark.parametrize(
    "said",
    [
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Function call is missing a thought_signature in functionCall parts.",
    ],
)
def test_where_the_provider_says_that_thoughts_are_missing_none_are_left_out(log, said):
    agent = at_work(log)
    assert thoughts_in(agent.prepare()) > 0
    raises(agent.engine, said)


@pytest.mark.parametrize("format", ["openai-responses", "anthropic"])
def test_what_is_sent_without_thoughts_is_valid(log, format):
    agent = at_work(log, format)
    projection = agent.engine.overflow(
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item"
    )
    assert not violations(projection.messages, format=format)
    assert "reasoning" not in json.dumps(projection.messages) and "thinking" not in json.dumps(projection.messages)


@pytest.mark.parametrize("format", ["openai-chat", "gemini"])
def test_where_there_are_no_thoughts_a_list_in_no_order_is_refused(log, format):
    agent = at_work(log, format)
    raises(agent.engine, MALFORMED)


# -- from asyncio -----------------------------------------------------------------------------------------------------


def test_it_is_the_same_from_asyncio(log):
    agent = at_work(log)
    projection = asyncio.run(AsyncEngine(agent.engine).overflow(TooLong()))
    assert sent(projection) == sent(agent.prepare())
