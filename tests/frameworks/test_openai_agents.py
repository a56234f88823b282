"""An engine as a session of the OpenAI Agents SDK: the real package, with a scripted model."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
from agents import Agent, RunConfig, Runner, RunState, function_tool, handoff
from agents.extensions.handoff_filters import remove_all_tools
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

from rehydrate.context import FORMATS, ContextExhausted, Engine, Meter, violations
from rehydrate.frameworks.openai_agents import RehydrateSession
from rehydrate.session import Session

from . import openai_program as program
from .asking import boundaries

FORMAT = "openai-responses"
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}
TURNS = 200
Worked = namedtuple("Worked", "path sent")


@pytest.fixture
def log(tmp_path):
    with program.open_log(tmp_path / "root") as opened:
        yield opened


@pytest.fixture
def session(log):
    return program.session_of(log)


@pytest.fixture(scope="module")
def worked(tmp_path_factory):
    """The log after 200 requests with tools in parallel, in a window of a few of them: the first one pinned, something
    in the ledger, and a crash on the way, behind which everything is new but the log.
    """
    root, sent, number = tmp_path_factory.mktemp("long"), [], 1
    with program.open_log(root) as log:
        work = program.Work(program.session_of(log), crashes_at=500)
        asyncio.run(work.ask(program.request(number)))
        with Session.open(log.path) as opened:
            work.session.engine.pin(next(entry["uuid"] for entry in opened.view("active")))
        work.session.engine.ledger.put("Decisions and rationale", "the port is 8443")
        with pytest.raises(Exception, match="the disk is full"):
            while number := number + 1:
                asyncio.run(work.ask(program.request(number)))
        sent += work.model.sent
    with program.open_log(root) as log:
        work = program.Work(program.session_of(log))
        asyncio.run(work.ask(f"Go on: {program.request(number)}"))
        for following in range(number + 1, TURNS + 1):
            asyncio.run(work.ask(program.request(following)))
        return Worked(log.path, [*sent, *work.model.sent])


def get(session, limit=None):
    return asyncio.run(session.get_items(limit))


def add(session, *items):
    asyncio.run(session.add_items(list(items)))


def pop(session):
    return asyncio.run(session.pop_item())


def user(text):
    return {"role": "user", "content": text}


def call(name):
    return {"type": "function_call", "call_id": name, "name": "look", "arguments": "{ }", "id": f"fc_{name}"}


def output(name, said="seen"):
    return {"type": "function_call_output", "call_id": name, "output": said}


def thought(name):
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": "zz"}


def scripted(*steps):
    """A model that answers with these, one after another, and what it was sent."""
    model = ScriptedModel(steps)
    return model, lambda: [each.input for each in model.calls]


def run(agent, given, session, **more):
    config = RunConfig(call_model_input_filter=session.fit, tracing_disabled=True)
    return asyncio.run(Runner.run(agent, given, session=session, run_config=config, **more))


def says(text, name="msg_1"):
    return [assistant_message(text, item_id=name)]


def calls(name, *, id, **given):
    return [function_call(name, given, call_id=id)]


# -- a long run -------------------------------------------------------------------------------------------------------


def test_a_long_run_is_compacted_again_and_again(worked):
    assert boundaries(worked.path) > 10


def test_a_long_run_answers_each_request_once_with_a_crash_on_the_way(worked):
    assert program.answered(worked.path) == program.asked(worked.path) == list(range(1, TURNS + 1))


def test_a_long_run_sends_each_request_whole(worked):
    requests = [program.request(number) for number in range(1, TURNS + 1)]
    said = [[item["content"] for item in items if item.get("role") == "user"] for items in worked.sent]
    for number, request in enumerate(requests, 1):
        names = (f"call_{number}_0_", f"call_{number}b_0_")
        where = [at for at, items in enumerate(worked.sent) if items[-1].get("call_id", "").startswith(names)]
        assert where and all(request in said[at] or f"Go on: {request}" in said[at] for at in where)


def test_a_long_run_keeps_what_was_pinned_and_put(worked):
    assert program.request(1) in [item.get("content") for item in worked.sent[-1]]
    assert "the port is 8443" in str(worked.sent[-1])


def test_a_long_run_sends_nothing_that_does_not_fit(worked):
    meter = Meter()
    for items in worked.sent:
        assert meter.messages(FORMATS[FORMAT].read(items)) <= program.WINDOW - program.RESERVE


def test_one_run_of_many_steps_is_compacted_on_the_way(session):
    count = 60
    steps = [calls("look", id=f"c{n}", path=f"f{n}.py") for n in range(count)]
    model, sent = scripted(*steps, says("done"))

    @function_tool
    def look(path: str) -> str:
        """Look into a file."""
        return f"{path}: " + "a line of the file, " * 30

    agent = Agent(name="agent", model=model, tools=[look])
    assert run(agent, "Look at all of it.", session, max_turns=count + 1).final_output == "done"
    assert boundaries(session.engine.log.path) > 1
    for items in sent():
        assert violations(items, format=FORMAT) == []
        assert user("Look at all of it.") in items
    assert max(map(len, sent())) < count


def test_killed_with_a_signal_another_process_goes_on(tmp_path):
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])}
    words = [sys.executable, "-m", "tests.frameworks.openai_program", str(tmp_path), "24"]
    killed = subprocess.run([*words, "100"], env=environ, capture_output=True, timeout=300)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    path = program.open_log(tmp_path).path
    before = Path(path).read_bytes()
    assert len(program.answered(path)) < len(program.asked(path)) < 24
    again = subprocess.run([*words, "0"], env=environ, capture_output=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert program.answered(path) == program.asked(path) == list(range(1, 25))
    assert Path(path).read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert boundaries(path) > 2


def test_a_session_that_is_new_gives_the_same_items(log, session):
    for number in range(30):
        add(
            session, user(f"Request {number}: " + "words " * 40), call(f"c{number}"), output(f"c{number}", "line " * 40)
        )
    found = get(session)
    assert len(found) < 60
    assert get(program.session_of(log)) == found == get(session)


# -- what a session of the SDK does -----------------------------------------------------------------------------------


def test_items_come_back_as_they_were_with_members_that_nobody_knows(log):
    session = program.session_of(log, window=None)
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look", "odd": 1}, IMAGE]},
        {**thought("rs_1"), "odd": [1]},
        {**call("c1"), "status": "completed", "odd": {"deep": None}},
        {**call("c2"), "arguments": '{"a":  1}'},
        {**output("c2"), "odd": 2},
        {**output("c1"), "output": [{"type": "input_text", "text": "x"}, IMAGE]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {
            "type": "message",
            "role": "assistant",
            "id": "m",
            "content": [{"type": "output_text", "text": "A", "odd": 3}],
        },
    ]
    add(session, *items)
    assert get(session) == [*items[:4], items[5], items[4], *items[6:]]  # results go in the order of their calls
    assert get(session, 3) == items[-3:]


def test_with_a_limit_the_newest_items_are_given(session):
    add(session, user("one"), user("two"))
    assert get(session, 1) == [user("two")]
    assert get(session, 9) == [user("one"), user("two")]
    assert get(session, 0) == []


def test_nothing_was_said_yet(session):
    assert get(session) == get(session, 2) == []
    assert pop(session) is None
    asyncio.run(session.clear_session())
    assert get(session) == []


def test_items_are_popped_one_by_one(log, session):
    items = [user("look"), thought("rs_1"), call("c1"), call("c2"), output("c1"), output("c2")]
    add(session, *items)
    for left in range(len(items) - 1, -1, -1):
        assert pop(session) == items[left]
        assert get(session, 9) == get(program.session_of(log), 9)
        assert [item for item in get(session, 9) if item.get("type") != "reasoning"] == [
            item for item in items[:left] if item.get("type") != "reasoning"
        ]
    assert pop(session) is None


def test_a_retry_pops_what_it_has_added_and_adds_it_again(session):
    add(session, user("one"), {"role": "assistant", "content": "1"})
    add(session, user("two"))
    assert pop(session) == user("two")
    add(session, user("three"))
    assert get(session) == [user("one"), {"role": "assistant", "content": "1"}, user("three")]


def test_a_session_that_is_cleared_begins_anew_and_its_log_has_everything(log, session):
    add(session, user("the old request"))
    session.engine.ledger.put("Decisions and rationale", "an old decision")
    asyncio.run(session.clear_session())
    assert get(session) == get(session, 5) == get(program.session_of(log)) == []
    add(session, user("new"))
    assert get(session) == get(program.session_of(log)) == [user("new")]
    assert not session.engine.explain()["ledger"]
    assert b"the old request" in Path(log.path).read_bytes()


def test_a_conversation_that_was_compacted_can_be_cleared(log, session):
    add(session, *(user(f"Request {number}: " + "words " * 200) for number in range(30)))
    assert len(get(session)) < 30 and boundaries(log.path)
    asyncio.run(session.clear_session())
    add(session, user("new"))
    assert get(session) == get(program.session_of(log)) == [user("new")]


# -- what agents of the SDK do ----------------------------------------------------------------------------------------


@function_tool
def look(path: str) -> str:
    """Look into a file."""
    return f"nothing in {path}"


@function_tool(needs_approval=True)
def remove(path: str) -> str:
    """Remove a file."""
    return f"{path} is gone"


def test_a_run_without_the_filter_goes_on_with_what_was_said(session):
    model, sent = scripted(says("hello"), says("still here", "msg_2"))
    agent = Agent(name="agent", model=model)
    for request in ("Hi.", "And now?"):
        asyncio.run(Runner.run(agent, request, session=session, run_config=RunConfig(tracing_disabled=True)))
    assert [item["role"] for item in sent()[1]] == ["user", "assistant", "user"]
    assert [item["role"] for item in get(session)] == ["user", "assistant", "user", "assistant"]


def test_a_streaming_run_is_the_same(session):
    model, sent = scripted(calls("look", id="c1", path="a"), says("done"), says("again", "msg_2"))
    agent = Agent(name="agent", model=model, tools=[look])

    async def stream(request):
        config = RunConfig(call_model_input_filter=session.fit, tracing_disabled=True)
        result = Runner.run_streamed(agent, request, session=session, run_config=config)
        return [event.type async for event in result.stream_events()]

    assert "raw_response_event" in asyncio.run(stream("Look."))
    asyncio.run(stream("Again."))
    assert [item.get("type", item.get("role")) for item in sent()[2]] == [
        *("user", "function_call", "function_call_output", "message", "user")
    ]
    assert all(violations(items, format=FORMAT) == [] for items in sent())


def test_a_handoff_goes_on_with_the_same_conversation(session):
    model, sent = scripted(calls("transfer_to_second", id="h1"), says("I am the second"))
    second = Agent(name="second", model=model, instructions="You are the second.")
    first = Agent(name="first", model=model, handoffs=[handoff(second)])
    assert run(first, "Get me the second.", session).last_agent.name == "second"
    assert [item.get("call_id") for item in sent()[1]] == [None, "h1", "h1"]
    assert get(session)[:3] == sent()[1]


def test_what_a_filter_of_a_handoff_leaves_is_sent_and_not_more(session):
    model, sent = scripted(
        calls("look", id="c1", path="a"), calls("transfer_to_second", id="h1"), says("I am the second")
    )
    second = Agent(name="second", model=model)
    first = Agent(name="first", model=model, tools=[look], handoffs=[handoff(second, input_filter=remove_all_tools)])
    run(first, "Look, and get me the second.", session)
    assert sent()[2] == [user("Look, and get me the second.")]
    assert {item.get("call_id") for item in get(session)} == {None, "c1"}  # of the handoff the filter has left nothing


def test_what_a_filter_of_a_handoff_leaves_fits(session):
    add(session, *(user(f"Request {number}: " + "words " * 50) for number in range(40)))

    def shuffled(data):
        return data.clone(input_history=tuple(reversed(data.input_history)))

    model, sent = scripted(calls("transfer_to_second", id="h1"), says("I am the second"))
    second = Agent(name="second", model=model)
    run(Agent(name="first", model=model, handoffs=[handoff(second, input_filter=shuffled)]), "Go.", session)
    assert violations(sent()[1], format=FORMAT) == []
    assert Meter().messages(FORMATS[FORMAT].read(sent()[1])) <= program.WINDOW - program.RESERVE


def test_a_call_that_was_approved_goes_on_in_another_process(log, session):
    model, sent = scripted(
        [*calls("look", id="c1", path="a"), *calls("remove", id="c2", path="a")], says("It is gone.")
    )
    agent = Agent(name="agent", model=model, tools=[look, remove])
    waiting = run(agent, "Remove it.", session)
    assert [each.name for each in waiting.interruptions] == ["remove"]
    state = waiting.to_state().to_json()

    async def approve():
        restored = await RunState.from_json(agent, state)
        restored.approve(restored.get_interruptions()[0])
        return restored

    other = program.session_of(log)
    assert run(agent, asyncio.run(approve()), other).final_output == "It is gone."
    assert violations(sent()[1], format=FORMAT) == []
    outputs = {item["call_id"]: item["output"] for item in sent()[1] if item.get("type") == "function_call_output"}
    assert outputs == {"c1": "nothing in a", "c2": "a is gone"}
    kinds = [item.get("type", "message") for item in get(other)]
    assert kinds == ["message", *["function_call"] * 2, *["function_call_output"] * 2, "message"]


def test_runs_at_once_are_each_sent_what_they_ask(session):
    async def echo(asked):
        await asyncio.sleep(0.01)
        return says(f"You said {asked.input[-1]['content']}", f"msg_{len(model.calls)}")

    model = ScriptedModel(ModelStep.respond(echo) for _ in range(10))
    agent, config = Agent(name="agent", model=model), RunConfig(call_model_input_filter=session.fit)

    async def every():
        return await asyncio.gather(
            *(Runner.run(agent, f"{number}", session=session, run_config=config) for number in range(6))
        )

    said = [f"{number}" for number in range(6)]
    assert [result.final_output for result in asyncio.run(every())] == [f"You said {each}" for each in said]
    assert sorted(item["content"] for item in get(session) if item.get("role") == "user") == said


@pytest.mark.parametrize("waits", ["model", "tool"])
def test_after_a_run_that_was_cancelled_another_one_goes_on(session, waits):
    reached = asyncio.Event()

    async def forever():
        reached.set()
        await asyncio.Event().wait()

    async def respond(asked):
        if waits == "model" and len(model.calls) == 1:
            await forever()
        return calls("look", id="c1", path="a") if len(model.calls) == 1 else says("done")

    @function_tool
    async def look(path: str) -> str:
        """Look into a file."""
        await forever()

    model = ScriptedModel(ModelStep.respond(respond) for _ in range(10))
    agent = Agent(name="agent", model=model, tools=[look])
    config = RunConfig(call_model_input_filter=session.fit, tracing_disabled=True)

    async def both():
        task = asyncio.create_task(Runner.run(agent, "First.", session=session, run_config=config))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await Runner.run(agent, "Second.", session=session, run_config=config)

    assert asyncio.run(both()).final_output == "done"
    assert model.calls[-1].input == [user("First."), user("Second.")]


def test_lone_surrogates_do_no_harm(log, session):
    model, sent = scripted(calls("look_odd", id="c1"), says("a \udcff"), says("again", "msg_2"))

    @function_tool
    def look_odd() -> str:
        """Look."""
        return "x \ud83d y"

    agent = Agent(name="agent", model=model, tools=[look_odd])
    run(agent, "First \ud800", session)
    run(agent, "Second.", program.session_of(log))
    assert [item.get("content", item.get("output")) for item in sent()[2]][:3] == ["First \ufffd", None, "x \ufffd y"]


def test_a_request_with_an_image_is_sent_as_it_is(session):
    request = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is it?"}, IMAGE]}
    model, sent = scripted(says("A dot."))
    run(Agent(name="agent", model=model), [request], session)
    assert sent()[0] == [request]
    assert get(session)[0] == request


def test_an_answer_of_a_type_is_one(session):
    class Answer(BaseModel):
        port: int

    model, _ = scripted(says('{"port": 8443}'))
    assert run(Agent(name="agent", model=model, output_type=Answer), "Which?", session).final_output == Answer(
        port=8443
    )
    assert get(session)[-1]["content"][0]["text"] == '{"port": 8443}'


def test_a_request_that_cannot_fit_is_not_sent(session):
    model, sent = scripted(says("never"))
    agent = Agent(name="agent", model=model, instructions="rule " * 5_000)
    with pytest.raises(ContextExhausted, match="system"):
        run(agent, "Hi.", session)
    assert not sent()


def test_where_the_model_says_that_it_is_too_long_a_run_goes_on_with_less(log):
    session = program.session_of(log, window=200_000)
    add(session, *(user(f"Request {number}: " + "words " * 100) for number in range(30)))
    model, sent = scripted(ValueError("This model's maximum context length is 4096 tokens."), says("done"))
    agent = Agent(name="agent", model=model)
    with pytest.raises(ValueError, match="maximum context length") as raised:
        run(agent, "And now?", session)
    session.engine.overflow(raised.value)
    assert run(agent, [], session).final_output == "done"
    assert len(sent()[0]) == 31 > len(sent()[1])
    assert sent()[1][-1] == user("And now?")


def test_without_a_window_all_of_it_is_sent(log):
    session = RehydrateSession(Engine(log, window=None))
    add(session, *(user(f"Request {number}: " + "words " * 200) for number in range(50)))
    assert len(get(session)) == 50


def test_many_runs_at_once_have_a_session_each(tmp_path):
    async def one(number):
        with program.open_log(tmp_path / str(number)) as log:
            work = program.Work(program.session_of(log))
            for turn in range(1, 6):
                await work.ask(program.request(turn))
            return program.answered(log.path)

    async def every():
        return await asyncio.gather(*(one(number) for number in range(4)))

    assert asyncio.run(every()) == [[1, 2, 3, 4, 5]] * 4
