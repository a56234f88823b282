"""An engine as a capability of pydantic-ai: the real package, with its own models for tests."""

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
from collections import namedtuple
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pydantic import BaseModel

pytest.importorskip("pydantic_ai", reason="pydantic-ai is for Python 3.11 and later in the environment of the tests")

from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ImageUrl,
    ModelRetry,
)
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    AudioUrl,
    DocumentUrl,
    FilePart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    VideoUrl,
)
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel as AnyModel

from rehydrate.context import ContextError, ContextExhausted, violations
from rehydrate.frameworks.pydantic_ai import Rehydrate, made, viewed
from rehydrate.session import Session

from . import pydantic_program as program
from .asking import boundaries

TURNS = 200
Worked = namedtuple("Worked", "path sent")
AT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=timezone.utc)
IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")


@pytest.fixture
def log(tmp_path):
    with program.open_log(tmp_path / "root") as opened:
        yield opened


@pytest.fixture
def memory(log):
    return program.memory_of(log)


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """The log after 200 requests with tools in parallel, in a window of a few of them: the first one pinned, something
    in the ledger, and a crash on the way, behind which everything is new but the log.
    """
    root, sent, number = tmp_path_factory.mktemp("long"), [], 1
    with program.open_log(root) as log:
        work = program.Work(program.memory_of(log), crashes_at=500)
        asyncio.run(work.ask(program.request(number)))
        with Session.open(log.path) as opened:
            work.memory.engine.pin(next(entry["uuid"] for entry in opened.view("active")))
        work.memory.engine.ledger.put("Decisions and rationale", "the port is 8443")
        with pytest.raises(RuntimeError, match="the disk is full"):
            while number := number + 1:
                asyncio.run(work.ask(program.request(number)))
        sent += work.model.sent
    with program.open_log(root) as log:
        work = program.Work(program.memory_of(log))
        asyncio.run(work.ask(f"Go on: {program.request(number)}"))
        for following in range(number + 1, TURNS + 1):
            asyncio.run(work.ask(program.request(following)))
        return Worked(log.path, [*sent, *work.model.sent])


def scripted(*answers):
    """A model that answers with these, one after another, and what it was sent."""
    left, sent = list(answers), []

    def respond(messages, info):
        sent.append(messages)
        program.refuse(messages)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ModelResponse(parts=[TextPart(answer)] if isinstance(answer, str) else answer)

    return FunctionModel(respond), sent


def call(name, *, id, **given):
    return ToolCallPart(name, given, tool_call_id=id)


def run(agent, request=None, **more):
    return asyncio.run(agent.run(request, **more))


def prompts(messages):
    return [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)]


def kinds(messages):
    return [[part.part_kind for part in message.parts] for message in messages]


# -- a long run -------------------------------------------------------------------------------------------------------


def test_a_long_run_is_compacted_again_and_again(worked):
    assert boundaries(worked.path) > 10


def test_a_long_run_answers_each_request_once_with_a_crash_on_the_way(worked):
    assert program.answered(worked.path) == program.asked(worked.path) == list(range(1, TURNS + 1))


def test_a_long_run_sends_each_request_whole(worked):
    requests = {program.request(number) for number in range(1, TURNS + 1)}
    seen = set()
    for messages in worked.sent:
        said = prompts(messages)
        ids = [getattr(part, "tool_call_id", "") for message in messages[-2:] for part in message.parts]
        number = next(filter(None, reversed(ids)), "").removeprefix("call_").partition("_")[0].removesuffix("b")
        if number:
            request = program.request(int(number))
            assert any(each in (request, f"Go on: {request}") for each in said if isinstance(each, str))
            seen.add(request)
    assert seen == requests


def test_a_long_run_keeps_what_was_pinned_and_put(worked):
    assert program.request(1) in prompts(worked.sent[-1])
    assert "the port is 8443" in str(prompts(worked.sent[-1]))


def test_a_long_run_sends_nothing_that_does_not_fit(worked):
    assert max(map(program.tokens_of, worked.sent)) <= program.WINDOW - program.RESERVE


def test_one_run_of_many_steps_is_compacted_on_the_way(memory):
    count = 45  # of 50 requests that a run may make
    steps = [[call("look", id=f"a{n}", path="a"), call("look", id=f"b{n}", path="b")] for n in range(count)]
    model, sent = scripted(*steps, "done")
    agent = Agent(model, capabilities=[memory])

    @agent.tool_plain
    def look(path: str) -> str:
        return f"{path}: " + "a line of the file, " * 15

    result = run(agent, "Look at all of it.")
    assert result.output == "done"
    assert len(result.all_messages()) == 2 * count + 2  # the run has all of it
    assert boundaries(memory.engine.log.path) > 1
    with Session.open(memory.engine.log.path) as opened:  # of each answer one, those that were condensed among them
        assert sum(entry["type"] == "assistant" for entry in opened.view("raw")) == count + 1
    assert all("Look at all of it." in prompts(messages) for messages in sent)
    assert max(map(len, sent)) < count


def test_killed_with_a_signal_another_process_goes_on(tmp_path):
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])}
    words = [sys.executable, "-m", "tests.frameworks.pydantic_program", str(tmp_path), "24"]
    killed = subprocess.run([*words, "100"], env=environ, capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    path = program.open_log(tmp_path).path
    before = Path(path).read_bytes()
    assert len(program.answered(path)) < len(program.asked(path)) < 24
    assert b"call_17_0_0" in before  # a call is in the log before its tool runs
    again = subprocess.run([*words, "0"], env=environ, capture_output=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert program.answered(path) == program.asked(path) == list(range(1, 25))
    assert Path(path).read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert boundaries(path) > 2


# -- which history counts ---------------------------------------------------------------------------------------------


def test_a_run_without_a_history_goes_on_with_the_log(log, memory):
    model, _ = scripted("one")
    run(Agent(model, capabilities=[memory]), "First.")
    model, sent = scripted("two")
    run(Agent(model, capabilities=[program.memory_of(log)]), "Second.")
    assert prompts(sent[0]) == ["First.", "Second."]


def test_a_history_that_the_log_has_is_not_written_again(log, memory):
    model, sent = scripted("one", "two", "three")
    agent = Agent(model, capabilities=[memory])
    history = run(agent, "First.").all_messages()
    history = run(agent, "Second.", message_history=history).all_messages()
    stored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))
    other = Agent(model, capabilities=[program.memory_of(log)])
    run(other, "Third.", message_history=stored)
    assert prompts(sent[2]) == ["First.", "Second.", "Third."]
    assert Path(log.path).read_bytes().count(b"First.") == 1


def test_a_history_of_elsewhere_is_taken_in(memory):
    model, sent = scripted("two")
    history = [ModelRequest([UserPromptPart("First.")]), ModelResponse([TextPart("one")])]
    run(Agent(model, capabilities=[memory]), "Second.", message_history=history)
    assert prompts(sent[0]) == ["First.", "Second."] == prompts(memory.history())


def test_a_history_that_ends_earlier_takes_back_what_came_after(log, memory):
    model, sent = scripted("one", "two", "another two")
    agent = Agent(model, capabilities=[memory])
    first = run(agent, "First.").all_messages()
    run(agent, "Second.", message_history=first)
    run(agent, "Another second.", message_history=first)
    assert prompts(sent[2]) == ["First.", "Another second."]
    assert b'"Second."' in Path(log.path).read_bytes()


def test_messages_that_have_not_changed_are_the_very_ones(log):
    pairs = []

    class Recording(Rehydrate):
        async def prepare_model_request(self, ctx, request_context):
            given = request_context.messages
            request_context = await super().prepare_model_request(ctx, request_context)
            pairs.append((given, request_context.messages))
            return request_context

    model, sent = scripted([call("look", id="c1", path="a")], "done")
    agent = Agent(model, system_prompt="Be brief.", capabilities=[Recording(program.memory_of(log).engine)])

    @agent.tool_plain
    def look(path: str) -> dict[str, str]:
        return {"in": path}

    run(agent, "Look.")
    assert [len(given) for given, _ in pairs] == [1, 3]
    for given, projected in pairs:
        assert len(given) == len(projected) and all(one is other for one, other in zip(given, projected, strict=True))
    assert [part.content for part in sent[1][0].parts] == ["Be brief.", "Look."]


def test_a_system_prompt_stays_when_its_message_is_condensed(memory):
    model, sent = scripted(*[str(number) for number in range(40)])
    agent, history = Agent(model, system_prompt="Be brief.", capabilities=[memory]), None
    for number in range(40):
        history = run(agent, f"{number}: " + "words " * 100, message_history=history).all_messages()
    assert boundaries(memory.engine.log.path)
    for messages in sent:
        systems = [part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)]
        assert [part.content for part in systems] == ["Be brief."] and systems[0] is messages[0].parts[0]


def test_what_another_capability_leaves_is_what_counts(memory):
    model, sent = scripted("one", "two")
    agent = Agent(model, capabilities=[ProcessHistory(lambda messages: messages[-1:]), memory])
    run(agent, "Second.", message_history=run(agent, "First.").all_messages())
    assert prompts(sent[1]) == ["First.", "Second."]  # the log has not forgotten


def test_a_request_that_cannot_fit_is_not_sent(memory):
    model, sent = scripted("never")
    with pytest.raises(ContextExhausted, match="system"):
        run(Agent(model, instructions="rule " * 5_000, capabilities=[memory]), "Hi.")
    assert not sent


def test_the_count_of_the_provider_is_taken_over(memory):
    model, _ = scripted("one")
    run(Agent(model, capabilities=[memory]), "First.")
    assert memory.engine.explain()["label"] == "provider"


# -- what agents of pydantic-ai do ------------------------------------------------------------------------------------


def test_a_streaming_run_is_the_same(log, memory):
    async def respond(messages, info):
        program.refuse(messages)
        if len(messages) == 1:
            yield {0: DeltaToolCall("look", '{"path": ', tool_call_id="c1")}
            yield {0: DeltaToolCall(json_args='"a"}')}
        else:
            yield "do"
            yield "ne"

    agent = Agent(FunctionModel(stream_function=respond), capabilities=[memory])

    @agent.tool_plain
    def look(path: str) -> str:
        return path

    async def stream():
        async with agent.run_stream("Look.") as result:
            return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]

    assert "".join(asyncio.run(stream())) == "done"
    expected = [["user-prompt"], ["tool-call"], ["tool-return"], ["text"]]
    assert kinds(program.memory_of(log).history()) == expected


def test_an_answer_of_a_type_is_one_and_goes_on(log, memory):
    class Answer(BaseModel):
        port: int

    model, sent = scripted([call("final_result", id="f1", port=8443)], [call("final_result", id="f2", port=1)])
    agent = Agent(model, output_type=Answer, capabilities=[memory])
    assert run(agent, "Which?").output == Answer(port=8443)
    assert kinds(memory.history()) == [["user-prompt"], ["tool-call"], ["tool-return"]]
    run(Agent(model, output_type=Answer, capabilities=[program.memory_of(log)]), "And now?")
    assert program.results_in(sent[1]) == {"f1": "Final result processed."}


def test_a_tool_that_asks_to_be_called_again_is(memory):
    model, sent = scripted([call("look", id="c1", path="a")], [call("look", id="c2", path="b")], "done")
    agent = Agent(model, capabilities=[memory])

    @agent.tool_plain
    def look(path: str) -> str:
        if path == "a":
            raise ModelRetry("look elsewhere")
        return path

    assert run(agent, "Look.").output == "done"
    assert len(sent[2]) == 5 and "look elsewhere" in str(sent[2][2])
    assert "look elsewhere" in str(memory.history())


def deferring(model, memory):
    agent = Agent(model, output_type=[str, DeferredToolRequests], capabilities=[memory])

    @agent.tool_plain
    def look(path: str) -> str:
        return f"nothing in {path}"

    @agent.tool
    def remove(ctx, path: str) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"{path} is gone"

    @agent.tool_plain
    def ask(question: str) -> str:
        raise CallDeferred

    return agent


def test_calls_that_were_approved_or_done_elsewhere_go_on_in_another_process(log, memory):
    model, sent = scripted(
        [call("look", id="c1", path="a"), call("remove", id="c2", path="a"), call("ask", id="c3", question="?")],
        "Gone.",
    )
    waiting = run(deferring(model, memory), "Remove it.").output
    assert [each.tool_call_id for each in (*waiting.approvals, *waiting.calls)] == ["c2", "c3"]
    other = program.memory_of(log)
    results = DeferredToolResults(approvals={"c2": True}, calls={"c3": "yes"})
    result = run(deferring(model, other), message_history=other.history(), deferred_tool_results=results)
    assert result.output == "Gone."
    assert program.results_in(sent[1]) == {"c1": "nothing in a", "c2": "a is gone", "c3": "yes"}
    assert program.results_in(other.history()) == program.results_in(sent[1])


def test_a_request_that_the_model_refuses_is_sent_again_and_not_written_twice(log, memory):
    model, sent = scripted(UnexpectedModelBehavior("no"), "yes")
    agent = Agent(model, capabilities=[memory])
    with pytest.raises(UnexpectedModelBehavior):
        run(agent, "Now.")
    history = memory.history()
    assert prompts(history) == ["Now."]
    run(agent, message_history=history)
    assert prompts(sent[1]) == ["Now."]
    assert Path(log.path).read_bytes().count(b'"Now."') == 1


TOO_LONG = ModelHTTPError(400, "m", {"error": {"type": "invalid_request_error", "message": "prompt is too long"}})


def test_where_the_model_says_that_it_is_too_long_less_is_sent(log):
    answers = [str(number) for number in range(20)]
    model, sent = scripted(*answers, TOO_LONG, "done")
    agent, history = Agent(model, capabilities=[program.memory_of(log, window=200_000)]), None
    for number in range(20):
        history = run(agent, f"{number}: " + "words " * 100, message_history=history).all_messages()
    assert run(agent, "And now?", message_history=history).output == "done"
    assert len(sent[20]) == 41 > len(sent[21]) and boundaries(log.path) == 1
    assert prompts(sent[21])[-1] == "And now?"


def test_another_error_is_raised_and_so_is_one_that_nothing_helps(log, memory):
    for error in (ModelHTTPError(401, "m"), ModelHTTPError(429, "m"), TOO_LONG):
        model, sent = scripted(error)
        with pytest.raises(ModelHTTPError) as raised:
            run(Agent(model, capabilities=[memory]), "Now.")
        assert raised.value is error and len(sent) == 1


def test_an_error_in_the_middle_of_an_answer_is_raised(log):
    calls = []

    async def respond(messages, info):
        calls.append(messages)
        yield "do"
        raise TOO_LONG

    memory = program.memory_of(log, window=200_000)
    history = [ModelRequest([UserPromptPart(f"{number}: " + "words " * 100)]) for number in range(20)]

    async def stream():
        agent = Agent(FunctionModel(stream_function=respond), capabilities=[memory])
        async with agent.run_stream("Now.", message_history=history) as result:
            return await result.get_output()

    with pytest.raises(ModelHTTPError) as raised:
        asyncio.run(stream())
    assert raised.value is TOO_LONG and len(calls) == 1 and not boundaries(log.path)


def test_the_model_for_tests_of_the_package_uses_an_id_again_and_again(log, memory):
    agent = Agent(AnyModel(), capabilities=[memory])

    @agent.tool_plain
    def look(path: str) -> str:
        return "a line of the file, " * 30

    for number in range(30):
        run(agent, f"Request {number}")
    assert boundaries(log.path)
    assert violations(_projected(memory), format="anthropic") == []


def _projected(memory):
    from rehydrate.context import Request

    memory.engine.append({"role": "user", "content": "And?"}, format="anthropic")
    return memory.engine.prepare(Request(model="m", format="anthropic")).messages


def test_two_runs_of_a_conversation_at_once_are_not_mixed(log, memory):
    async def respond(messages, info):
        await asyncio.sleep(0.01)
        return ModelResponse(parts=[TextPart(f"You said {prompts(messages)[-1]}")])

    agent = Agent(FunctionModel(respond), capabilities=[memory])

    async def every():
        return await asyncio.gather(*(agent.run(f"{number}") for number in range(4)), return_exceptions=True)

    first, *others = asyncio.run(every())
    assert first.output == "You said 0"
    assert all(isinstance(each, ContextError) and "another run" in str(each) for each in others)
    assert prompts(memory.history()) == ["0"]
    assert run(agent, "4").output == "You said 4"


@pytest.mark.parametrize("waits", ["model", "tool"])
def test_after_a_run_that_was_cancelled_another_one_goes_on(memory, waits):
    reached, sent = asyncio.Event(), []

    async def forever():
        reached.set()
        await asyncio.Event().wait()

    async def respond(messages, info):
        program.refuse(messages)
        sent.append(messages)
        if waits == "model" and len(sent) == 1:
            await forever()
        return ModelResponse(parts=[call("look", id="c1", path="a") if len(sent) == 1 else TextPart("done")])

    agent = Agent(FunctionModel(respond), capabilities=[memory])

    @agent.tool_plain
    async def look(path: str) -> str:
        await forever()

    async def both():
        task = asyncio.create_task(agent.run("First."))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await agent.run("Second.")

    assert asyncio.run(both()).output == "done"
    assert prompts(sent[-1]) == ["First.", "Second."]
    if waits == "tool":
        (part,) = [part for message in sent[-1] for part in message.parts if isinstance(part, ToolReturnPart)]
        assert part.tool_name == "look" and "is not known" in part.content  # some providers find it by its tool


def test_an_answer_that_says_nothing_is_no_message_of_the_log(log, memory):
    model, _ = scripted([TextPart("")], [TextPart(" "), call("look", id="c1", path="a")], "done", "again")
    agent = Agent(model, capabilities=[memory])

    @agent.tool_plain
    def look(path: str) -> str:
        return path

    assert run(agent, "First.").output == "done"
    assert kinds(program.memory_of(log).history())[-3:] == [["tool-call"], ["tool-return"], ["text"]]
    run(agent, "Second.")
    with Session.open(log.path) as opened:
        assert sum(entry["type"] == "assistant" for entry in opened.view("raw")) == 3


def test_lone_surrogates_do_no_harm(log, memory):
    model, sent = scripted([call("look", id="c1")], "again")
    agent = Agent(model, capabilities=[memory])

    @agent.tool_plain
    def look() -> str:
        return "x \ud83d y"

    run(agent, "First \ud800")
    model, sent = scripted("done")
    run(Agent(model, capabilities=[program.memory_of(log)]), "Second.")
    assert prompts(sent[0]) == ["First \ufffd", "Second."] and program.results_in(sent[0]) == {"c1": "x \ufffd y"}


# -- parts ------------------------------------------------------------------------------------------------------------

MESSAGES = [
    ModelRequest(
        [
            UserPromptPart("hello", timestamp=AT),
            UserPromptPart(
                [
                    "look",
                    IMAGE,
                    ImageUrl("https://example.org/a.png", vendor_metadata={"detail": "low"}),
                    AudioUrl("https://example.org/a.mp3"),
                    VideoUrl("https://example.org/a.mp4"),
                    DocumentUrl("https://example.org/a.pdf"),
                    BinaryContent(b"RIFF", media_type="audio/wav"),
                    "and tell",
                ],
                timestamp=AT,
            ),
        ],
        timestamp=AT,
        run_id="r1",
        conversation_id="k1",
        metadata={"odd": 1},
    ),
    ModelResponse(
        [
            ThinkingPart("hm", id="t1", signature="sig", provider_name="p", provider_details={"odd": [1]}),
            TextPart("I look.", id="m1", provider_name="p"),
            NativeToolCallPart("web_search", {"query": "q"}, tool_call_id="n1", provider_name="p"),
            NativeToolReturnPart("web_search", {"found": 1}, tool_call_id="n1", provider_name="p", timestamp=AT),
            FilePart(IMAGE),
            ToolCallPart("look", '{"path":  "a"}', tool_call_id="c1"),
            ToolCallPart("look", {"path": "b"}, tool_call_id="c2", id="i2", provider_name="p"),
            ToolCallPart("look", None, tool_call_id="c3"),
            ToolCallPart("look", "{broken", tool_call_id="c4"),
            ToolCallPart("look", {}, tool_call_id="c5"),
        ],
        model_name="m",
        provider_name="p",
        provider_response_id="resp_1",
        provider_details={"odd": 2},
        timestamp=AT,
        finish_reason="tool_call",
        metadata={"odd": 3},
    ),
    ModelRequest(
        [
            ToolReturnPart("look", "a text", tool_call_id="c1", timestamp=AT, metadata={"odd": 4}),
            ToolReturnPart("look", {"deep": [1, None]}, tool_call_id="c2", timestamp=AT),
            ToolReturnPart("look", ["seen", IMAGE], tool_call_id="c3", timestamp=AT),
            ToolReturnPart("look", IMAGE, tool_call_id="c4", timestamp=AT, outcome="failed"),
            ToolReturnPart("look", "12", tool_call_id="c5", timestamp=AT),
        ],
        timestamp=AT,
    ),
]


def dumped(messages):
    return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


@pytest.mark.parametrize("message", MESSAGES, ids=["prompts", "answer", "returns"])
def test_parts_come_back_as_they_were_with_members_that_nobody_knows(message):
    view = viewed(message)
    assert dumped(made([view.message()])) == dumped([message])
    assert viewed(made([view.message()])[0]) == view


@pytest.mark.parametrize("message", MESSAGES, ids=["prompts", "answer", "returns"])
def test_parts_come_back_from_the_log(message, log):
    memory = program.memory_of(log, window=None)
    before = MESSAGES[: MESSAGES.index(message) + 1]
    memory._take_in(before)
    assert dumped(program.memory_of(log).history()) == dumped(before)


def test_an_older_prompt_to_try_again_is_a_result_or_a_text():
    part = {"part_kind": "retry-prompt", "content": "no", "timestamp": "2026-01-02T03:04:05Z"}
    parts = [{**part, "tool_name": "look", "tool_call_id": "c1"}, part]
    (older,) = ModelMessagesTypeAdapter.validate_python([{"kind": "request", "parts": parts}])
    found = viewed(older)
    assert [block["type"] for block in found.blocks] == ["tool_result", "text"]
    assert found.blocks[0]["is_error"]
    assert dumped(made([found.message()])) == dumped([older])


def test_bytes_and_texts_stand_in_a_block_once():
    large = "x" * 1_000
    parts = [ToolReturnPart("look", large, tool_call_id="c1"), UserPromptPart([large, IMAGE])]
    text = str(viewed(ModelRequest(parts)).blocks)
    assert text.count(large) == 2 and text.count(IMAGE.base64) == 1


def test_what_stands_in_the_place_of_a_result_is_a_text():
    view = viewed(ModelRequest([ToolReturnPart("look", {"a": 1}, tool_call_id="c1", timestamp=AT)]))
    (block,) = view.message()["content"]
    (found,) = made([{"role": "user", "content": [{**block, "content": "[taken out]"}]}])
    assert found.parts[0] == ToolReturnPart("look", "[taken out]", tool_call_id="c1", timestamp=AT)


def test_a_part_has_the_same_key_in_another_message():
    request = MESSAGES[2]
    merged = ModelRequest([*request.parts, UserPromptPart("and now?", timestamp=AT)], run_id="another")
    assert set(viewed(request).keys) < set(viewed(merged).keys)
    answer = dataclasses.replace(MESSAGES[1], run_id="another", metadata=None)
    assert viewed(answer).keys == viewed(MESSAGES[1]).keys
