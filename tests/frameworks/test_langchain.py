"""LangChain's agents over an engine: long runs, crashes, and what people do with a graph's state."""

import asyncio
import base64
import subprocess
import sys
import threading
from collections import Counter
from functools import partial

import pytest

pytest.importorskip("langchain", reason="it is not installed here")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, wrap_tool_call
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import BaseModel

from rehydrate.context import ContextError, ContextExhausted, Engine, Policy
from rehydrate.frameworks import langchain
from rehydrate.frameworks.langchain import RehydrateMiddleware, trim, viewed
from rehydrate.session import Place, Session, SessionLog, Sessions

from .langchain_models import Worker, call, fail, read_file, scripted

POLICY = Policy(reserve=1_000, tools={"read_file": "read"})
HERE = {"configurable": {"thread_id": "here"}}
RULE = "Never touch the folder vendor."


def engine_of(log, *, window=8_000):
    return Engine(log, window=window, policy=POLICY, clock=lambda: 0.0)


def agent_of(engine, answer, *, saver=None, middleware=(), tools=(read_file, fail), **more):
    """An agent, and its model."""
    model = scripted(answer)
    middleware = [*middleware, RehydrateMiddleware(engine)]
    return create_agent(model, list(tools), middleware=middleware, checkpointer=saver, **more), model


def ask(agent, text):
    return agent.invoke({"messages": [HumanMessage(text)]}, HERE)


def words(messages):
    return [message.text for message in messages]


def logged(log, kind="active"):
    """The texts of what was said, of requests and answers alone."""
    log.flush()
    with Session.open(log.path) as session:
        records = [each for each in session.view(kind) if each["type"] in ("user", "assistant")]
        contents = [each["message"]["content"] for each in records]
        return [each if isinstance(each, str) else each[0].get("text") for each in contents]


def compactions(log):
    log.flush()
    with Session.open(log.path) as session:
        return sum(each.get("subtype") == "compact_boundary" for each in session.view("raw"))


def echo(messages):
    """Says again what the user has said last."""
    return AIMessage(f"You said: {messages[-1].text}")


@pytest.fixture
def log(tmp_path):
    place = Place(str(tmp_path), "-srv", "5e551000-0000-4000-8000-000000000001")
    with SessionLog(place, cwd="/srv") as made:
        yield made


@pytest.fixture
def reopened(log):
    """The log as another process opens it."""
    opened = []

    def reopen():
        log.flush()
        opened.append(SessionLog(log.place, cwd="/srv"))
        return opened[-1]

    yield reopen
    for each in opened:
        each.close()


class Crash(Exception):
    """The process is gone."""


# -- long runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("saver", [InMemorySaver, lambda: None], ids=["checkpointer", "none"])
def test_an_agent_works_for_200_turns_crashes_once_and_goes_on(log, reopened, saver):
    saver = saver()
    engine = engine_of(log)
    engine.pin(engine.append({"role": "user", "content": RULE}))
    engine.ledger.put("Decisions and rationale", "the port is 8443")
    worker = Worker()
    agent, model = agent_of(engine, worker, saver=saver, system_prompt="Be careful.")
    for turn in range(100):
        ask(agent, f"Turn {turn}: look at two more files.")

    def dies(messages):
        if isinstance(messages[-1], ToolMessage):
            raise Crash
        return worker(messages)

    agent, _ = agent_of(engine, dies, saver=saver, system_prompt="Be careful.")
    with pytest.raises(Crash):
        ask(agent, "Turn 100: and here the light goes out.")

    engine = engine_of(reopened())
    agent, after = agent_of(engine, worker, saver=saver, system_prompt="Be careful.")
    if saver is not None:
        agent.invoke(None, HERE)  # from where it was
    else:
        ask(agent, "Turn 100: go on.")
    for turn in range(101, 200):
        out = ask(agent, f"Turn {turn}: look at two more files.")
    assert compactions(log) > 10
    assert out["messages"][-1].text.startswith("Done with")
    if saver is not None:
        assert len(out["messages"]) == 5 * 200
    last = after.sent[-1]
    assert last[0] == SystemMessage("Be careful.") and RULE in words(last)
    assert sum("the port is 8443" in text for text in words(last)) == 1
    assert "Turn 199: look at two more files." in words(last)
    assert max(map(len, [*model.sent, *after.sent])) < 100
    asked = [text for text in logged(log, "scrollback") if str(text).startswith("Turn")]
    assert len(asked) == len(set(asked)) == 200 + (saver is None)  # and none twice


@pytest.mark.parametrize("saver", [InMemorySaver, lambda: None], ids=["checkpointer", "none"])
def test_a_new_process_sends_what_the_old_one_would_have_sent(log, reopened, saver):
    saver = saver()
    engine = engine_of(log)
    agent, model = agent_of(engine, Worker(), saver=saver)
    for turn in range(40):
        ask(agent, f"Turn {turn}")
    other, again = agent_of(engine_of(reopened()), echo, saver=saver)
    ask(other, "How far are you?")
    assert compactions(log) > 2
    before = [message for message in model.sent[-1] if isinstance(message, (HumanMessage, AIMessage, ToolMessage))]
    for old, new in zip(before, again.sent[-1], strict=False):
        assert old.model_dump() == new.model_dump()
    assert len(again.sent[-1]) == len(before) + 2


def test_asyncio_sends_the_same(log, tmp_path):
    def run(engine, use):
        agent, model = agent_of(engine, Worker())
        for turn in range(30):
            use(agent, {"messages": [HumanMessage(f"Turn {turn}")]})
        return [words(each) for each in model.sent]

    sync = run(engine_of(log), lambda agent, given: agent.invoke(given))
    with Sessions(tmp_path / "other").new("/srv") as other:
        used = run(engine_of(other), lambda agent, given: asyncio.run(agent.ainvoke(given)))
        assert used == sync and compactions(other) > 2


def test_a_stream_is_in_the_log_once_and_whole(log):
    agent, _ = agent_of(engine_of(log), echo)
    pieces = [piece for piece, _ in agent.stream({"messages": [HumanMessage("One two three")]}, stream_mode="messages")]
    assert "".join(words(pieces)) == "You said: One two three"
    assert logged(log) == ["One two three", "You said: One two three"]


# -- messages of every kind -------------------------------------------------------------------------------------------

PIXEL = base64.b64encode(b"\x89PNG" + bytes(60_000)).decode()
SEEN = [
    {"type": "text", "text": "What is on it?"},
    {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
    {"type": "file", "base64": PIXEL, "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}},
    {"type": "audio", "base64": PIXEL, "mime_type": "audio/wav"},
    "and what is not?",
]
THOUGHT = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "a"}},
]
REASONED = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read_file", "arguments": '{"path": "a"}'},
]
USED = {"input_tokens": 20, "output_tokens": 4, "total_tokens": 24}


@pytest.mark.parametrize(
    "answer",
    [
        AIMessage(THOUGHT, tool_calls=[call("read_file", 1, path="a")], id="msg_1", usage_metadata=USED),
        AIMessage(REASONED, tool_calls=[call("read_file", 1, path="a")], response_metadata={"id": "resp_1"}),
        AIMessage("", tool_calls=[call("read_file", 1, path="a")], additional_kwargs={"reasoning_content": "Hm."}),
        AIMessage("I look.", tool_calls=[call("read_file", 1, path="a"), call("read_file", 2, path="b")], name="ann"),
        AIMessage(["I ", {"type": "text", "text": "look."}], tool_calls=[call("read_file", 1, path="ä")]),
    ],
    ids=["anthropic", "responses", "deepseek", "parallel", "parts"],
)
def test_messages_come_out_of_the_log_as_they_were(log, reopened, answer):
    replies = iter([answer, AIMessage("Done."), AIMessage("Again.")])
    agent, _ = agent_of(engine_of(log, window=100_000), lambda _: next(replies))
    out = agent.invoke({"messages": [HumanMessage(SEEN, id="seen", name="bob")]})
    other, model = agent_of(engine_of(reopened(), window=100_000), lambda _: next(replies))
    other.invoke({"messages": [HumanMessage("Go on.")]})
    came = model.sent[0][:-1]
    whole = [{"type": "text", "text": part} if isinstance(part, str) else part for part in SEEN]
    assert came[0] == HumanMessage(whole, id="seen", name="bob")
    assert [each.model_dump() for each in came[1:]] == [each.model_dump() for each in out["messages"][1:]]


def test_the_bytes_of_media_are_not_counted_as_text(log):
    engine = engine_of(log, window=32_000)
    agent, model = agent_of(engine, echo)
    agent.invoke({"messages": [HumanMessage(SEEN)]})
    assert model.sent[0][0].content == SEEN
    assert engine.explain()["tokens"] < 10_000


def test_a_message_that_is_not_changed_is_the_object_that_it_was(log):
    seen = []

    class Look(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            seen.append((list(request.state["messages"]), request.messages))
            return handler(request)

    model = scripted(Worker(steps=3))
    agent = create_agent(model, [read_file], middleware=[RehydrateMiddleware(engine_of(log)), Look()])
    agent.invoke({"messages": [HumanMessage("Look.")]})
    for state, sent in seen:
        assert len(state) == len(sent) and all(map(lambda one, other: one is other, state, sent))


def test_a_result_that_is_an_error_stays_one(log, reopened):
    @wrap_tool_call
    def tell(request, handler):
        try:
            return handler(request)
        except RuntimeError as error:
            return ToolMessage(f"Failed: {error}", tool_call_id=request.tool_call["id"], status="error")

    replies = iter(
        [AIMessage("", tool_calls=[call("fail", 1, reason="no disk")]), AIMessage("Sad."), AIMessage("Yes.")]
    )
    agent, _ = agent_of(engine_of(log), lambda _: next(replies), middleware=[tell])
    agent.invoke({"messages": [HumanMessage("Try.")]})
    other, model = agent_of(engine_of(reopened()), lambda _: next(replies))
    other.invoke({"messages": [HumanMessage("Again?")]})
    (result,) = [message for message in model.sent[0] if isinstance(message, ToolMessage)]
    assert result.status == "error" and result.content == "Failed: no disk"


@pytest.mark.parametrize("saver", [InMemorySaver, lambda: None], ids=["checkpointer", "none"])
def test_after_a_tool_that_crashed_the_agent_can_be_asked_again(log, saver):
    replies = iter([AIMessage("", tool_calls=[call("fail", 1, reason="no disk")]), AIMessage("Well.")])
    agent, model = agent_of(engine_of(log), lambda _: next(replies), saver=saver())
    with pytest.raises(RuntimeError, match="no disk"):
        ask(agent, "Try.")
    ask(agent, "What happened?")
    assert [type(each) for each in model.sent[-1]] == [HumanMessage, AIMessage, ToolMessage, HumanMessage]
    assert "is not known" in model.sent[-1][2].text


class Weather(BaseModel):
    """The weather."""

    degrees: int


def test_an_agent_with_a_schema_for_its_answer_goes_on(log):
    number = iter(range(1, 100))

    def answer(messages):
        return AIMessage("", tool_calls=[call("Weather", name := next(number), degrees=name)])

    agent, model = agent_of(engine_of(log, window=4_000), answer, response_format=ToolStrategy(Weather))
    for turn in range(30):
        assert ask(agent, f"And on day {turn}? " + "Think. " * 100)["structured_response"].degrees == turn + 1
    assert compactions(log) > 1 and words(model.sent[-1])[-1].startswith("And on day 29?")


# -- what people do with a graph's state ------------------------------------------------------------------------------


@pytest.fixture(params=[1, 30], ids=["short", "compacted"])
def talked(log, request):
    """An agent with a checkpointer, after some turns."""
    agent, model = agent_of(engine_of(log, window=4_000), echo, saver=InMemorySaver(), tools=[])
    for turn in range(3 * request.param):
        ask(agent, f"Turn {turn}" + " and so on" * 30)
    assert (compactions(log) > 1) == (request.param > 1)
    model.sent.clear()
    return agent, model


def state_of(agent):
    return agent.get_state(HERE).values["messages"]


def text_sent(model):
    return "\n".join(words(model.sent[-1]))


def test_what_was_taken_out_at_the_end_is_not_sent(log, talked):
    agent, model = talked
    *before, asked, answered = state_of(agent)
    agent.update_state(HERE, {"messages": [RemoveMessage(asked.id), RemoveMessage(answered.id)]})
    ask(agent, "Rather this.")
    sent = words(model.sent[-1])
    assert sent[-1] == "Rather this." and asked.text not in sent and answered.text not in sent
    assert sent[-2] == before[-1].text


def test_what_was_taken_out_at_the_beginning_is_not_sent(log, talked):
    agent, model = talked
    first, *others = state_of(agent)
    agent.update_state(HERE, {"messages": [RemoveMessage(each.id) for each in (first, *others[:-4])]})
    ask(agent, "Go on.")
    assert words(model.sent[-1]) == [*words(others[-4:]), "Go on."]


def test_what_was_changed_is_sent_as_it_is_now(log, talked):
    agent, model = talked
    asked = state_of(agent)[-2]
    agent.update_state(HERE, {"messages": [HumanMessage("What I meant.", id=asked.id)]})
    ask(agent, "Go on.")
    sent = words(model.sent[-1])
    assert sent[-3] == "What I meant." and sent[-2] == f"You said: {asked.text}" and asked.text not in sent[-3:]


def test_a_state_that_was_emptied_begins_anew(log, talked):
    agent, model = talked
    agent.update_state(HERE, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    ask(agent, "Hello again.")
    assert words(model.sent[-1]) == ["Hello again."]


def test_a_state_that_was_summed_up_is_sent_as_it_is(log, talked):
    agent, model = talked
    kept = state_of(agent)[-2:]
    agent.update_state(
        HERE, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("We talked about turns."), *kept]}
    )
    ask(agent, "Go on.")
    assert words(model.sent[-1]) == ["We talked about turns.", *words(kept), "Go on."]


def test_going_back_in_time_leaves_what_came_after(log, talked):
    agent, model = talked
    then = next(each for each in agent.get_state_history(HERE) if len(each.values["messages"]) == 2)
    agent.invoke({"messages": [HumanMessage("Otherwise.")]}, then.config)
    assert words(model.sent[-1]) == [*words(then.values["messages"]), "Otherwise."]
    ask(agent, "And on.")
    assert words(model.sent[-1])[-3:] == ["Otherwise.", "You said: Otherwise.", "And on."]


def test_a_model_that_failed_is_asked_the_same_again(log):
    tries = iter([Crash(), Crash(), AIMessage("Well.")])

    def flaky(messages):
        found = next(tries)
        if isinstance(found, Exception):
            raise found
        return found

    agent, _ = agent_of(engine_of(log), flaky, saver=InMemorySaver())
    with pytest.raises(Crash):
        ask(agent, "Now?")
    with pytest.raises(Crash):
        agent.invoke(None, HERE)
    agent.invoke(None, HERE)
    assert logged(log) == ["Now?", "Well."]


class Refused(Exception):
    """As the library of a provider raises it."""

    status_code = 400

    def __init__(self):
        super().__init__("This model's maximum context length is 4096 tokens.")


@pytest.mark.parametrize("use", ["invoke", "ainvoke"])
def test_a_request_that_the_provider_refuses_is_sent_smaller(log, use):
    sizes = []

    def picky(messages):
        sizes.append(sum(len(message.text) for message in messages))
        if sizes[-1] > 8_000:
            raise Refused
        return AIMessage("Well.")

    agent, _ = agent_of(engine_of(log, window=100_000), picky)
    for turn in range(12):
        given = {"messages": [HumanMessage(f"Turn {turn} " + "and so on " * 100)]}
        asyncio.run(agent.ainvoke(given)) if use == "ainvoke" else agent.invoke(given)
    assert compactions(log) == 1 and len(sizes) == 13 and sizes[-1] < 8_000


def test_what_does_not_fit_is_told_by_the_engine(log):
    agent, model = agent_of(engine_of(log, window=2_000), echo, system_prompt="Be careful. " * 2_000)
    with pytest.raises(ContextExhausted, match="system"):
        ask(agent, "Now?")
    assert not model.sent


def test_an_error_that_is_no_refusal_is_raised_as_it_is(log):
    crash = Crash("the cable")

    def broken(messages):
        raise crash

    agent, model = agent_of(engine_of(log), broken)
    with pytest.raises(Crash) as raised:
        ask(agent, "Now?")
    assert raised.value is crash and len(model.sent) == 1


def test_all_of_a_conversation_given_again_is_in_the_log_once(log):
    agent, model = agent_of(engine_of(log), echo)
    history = []
    for turn in range(3):
        history.append({"role": "user", "content": f"Turn {turn}"})
        out = agent.invoke({"messages": history})
        history.append({"role": "assistant", "content": out["messages"][-1].text})
    assert len(model.sent[-1]) == 5 and len(logged(log)) == 6


def test_a_conversation_that_its_host_keeps_and_changes_is_sent_as_it_is(log):
    agent, model = agent_of(engine_of(log), echo)
    kept = []
    for turn in range(4):
        kept = agent.invoke({"messages": [*kept, HumanMessage(f"Turn {turn}")]})["messages"]
    agent.invoke({"messages": [*kept[:4], HumanMessage("Rather this.")]})
    assert words(model.sent[-1]) == [*words(kept[:4]), "Rather this."]


def test_what_other_middleware_says_for_one_call_is_not_in_the_log(log):
    class Remind(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(messages=[*request.messages, HumanMessage("Be brief.")]))

    agent, model = agent_of(engine_of(log), echo, middleware=[Remind()], saver=InMemorySaver())
    for turn in range(3):
        ask(agent, f"Turn {turn}")
    assert [words(each).count("Be brief.") for each in model.sent] == [1, 1, 1]
    assert words(model.sent[-1])[-1] == "Be brief." and "Be brief." not in logged(log)


class Waiting(BaseChatModel):
    """The first time it does not answer; later it says again what the user has said last."""

    sent: list
    reached: object

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        self.sent.append(messages)
        if len(self.sent) == 1:
            self.reached.set()
            await asyncio.Event().wait()
        return ChatResult(generations=[ChatGeneration(message=echo(messages))])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise NotImplementedError

    @property
    def _llm_type(self):
        return "waiting"


@pytest.mark.parametrize("saver", [InMemorySaver, lambda: None], ids=["checkpointer", "none"])
def test_while_a_model_is_asked_no_other_request_is_made_and_one_is_after_it_was_cancelled(log, saver):
    async def both():
        model = Waiting(sent=[], reached=asyncio.Event())
        agent = create_agent(model, [], middleware=[RehydrateMiddleware(engine_of(log))], checkpointer=saver())
        first = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("First.")]}, HERE))
        await model.reached.wait()
        with pytest.raises(ContextError, match="a model is being asked"):
            await agent.ainvoke({"messages": [HumanMessage("Meanwhile.")]}, HERE)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await agent.ainvoke({"messages": [HumanMessage("Second.")]}, HERE)
        return words(model.sent[-1])

    sent = asyncio.run(both())
    assert sent[0] == "First." and sent[-1] == "Second." and logged(log)[-1] == "You said: Second."


def test_a_run_that_is_cancelled_waits_for_no_summary(log):
    began, ended = threading.Event(), threading.Event()

    def summariser(request):
        began.set()
        assert ended.wait(60)

    async def talk():
        engine = Engine(log, window=8_000, policy=POLICY, summariser=summariser)
        agent, _ = agent_of(engine, echo)
        while not began.is_set():
            task = asyncio.create_task(agent.ainvoke({"messages": [HumanMessage("And so on. " * 300)]}))
            while not task.done() and not began.is_set():
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(engine.append, {"role": "user", "content": "Hello."})
        assert not compactions(log)

    try:
        asyncio.run(talk())
    finally:
        ended.set()


def test_lone_surrogates_do_no_harm(log, reopened):
    replies = iter([AIMessage("a \udcff", tool_calls=[call("odd", 1)]), AIMessage("Done."), AIMessage("Again.")])

    @tool
    def odd() -> str:
        """Look."""
        return "x \ud83d y"

    agent, _ = agent_of(engine_of(log), lambda _: next(replies), tools=[odd])
    ask(agent, "First \ud800")
    other, model = agent_of(engine_of(reopened()), lambda _: next(replies), tools=[odd])
    ask(other, "Second.")
    assert words(model.sent[0]) == ["First \ufffd", "a \ufffd", "x \ufffd y", "Done.", "Second."]


def test_what_is_changed_in_its_place_is_sent_as_it_is_now(log):
    class Hide(AgentMiddleware):
        def before_model(self, state, runtime):
            for message in state["messages"]:
                if isinstance(message, ToolMessage):
                    message.content = "hidden"
                for each in getattr(message, "tool_calls", ()):
                    each["args"]["path"] = "hidden"

    agent, model = agent_of(engine_of(log), Worker(steps=3), middleware=[Hide()], saver=InMemorySaver())
    ask(agent, "Look.")
    results = [message for message in model.sent[-1] if isinstance(message, ToolMessage)]
    paths = [each["args"]["path"] for message in model.sent[-1] for each in getattr(message, "tool_calls", ())]
    assert [each.text for each in results] == paths == ["hidden"] * 6


def test_a_message_is_looked_at_once_as_long_as_it_says_the_same(log, monkeypatch):
    seen = []
    monkeypatch.setattr(langchain, "viewed", lambda message: seen.append(message) or viewed(message))
    agent, _ = agent_of(engine_of(log, window=None), Worker(steps=10), saver=InMemorySaver())
    ask(agent, "Look.")
    ask(agent, "Again.")
    state = ask(agent, "And again.")["messages"]
    looks = Counter(message.id for message in seen)
    assert len(state) == len(looks) == 96
    assert {looks[message.id] for message in state if isinstance(message, ToolMessage)} == {1}
    # A request at the start of its run, too; an answer when it comes.
    assert max(looks.values()) <= 2


def test_an_artifact_can_be_anything(log):
    @tool(response_format="content_and_artifact")
    def odd() -> tuple:
        """Look."""
        return "seen", threading.Lock()

    replies = iter([AIMessage("", tool_calls=[call("odd", 1)]), AIMessage("Done.")])
    agent, model = agent_of(engine_of(log), lambda _: next(replies), tools=[odd])
    ask(agent, "Look.")
    assert model.sent[-1][-1].text == "seen" and model.sent[-1][-1].artifact is not None


def test_an_engine_is_not_given_the_conversation_of_another_thread(log):
    agent, _ = agent_of(engine_of(log), echo, saver=InMemorySaver())
    ask(agent, "Mine.")
    with pytest.raises(ValueError, match="a function that gives an engine"):
        agent.invoke({"messages": [HumanMessage("Yours.")]}, {"configurable": {"thread_id": "there"}})
    assert logged(log) == ["Mine.", "You said: Mine."]


def test_each_thread_has_the_engine_that_it_is_given(log, tmp_path):
    with Sessions(tmp_path / "other").new("/srv") as other:
        engines = {"here": engine_of(log), "there": engine_of(other)}
        agent, _ = agent_of(lambda runtime: engines[runtime.execution_info.thread_id], echo, saver=InMemorySaver())
        ask(agent, "Mine.")
        agent.invoke({"messages": [HumanMessage("Yours.")]}, {"configurable": {"thread_id": "there"}})
        ask(agent, "Mine again.")
        assert len(logged(log)) == 4 and logged(other) == ["Yours.", "You said: Yours."]


# -- without a log ----------------------------------------------------------------------------------------------------


def test_trim_gives_fewer_messages_that_fit_and_leaves_the_others_as_they_are():
    talk = [SystemMessage("Be brief.")]
    for turn in range(50):
        talk += [HumanMessage(f"Turn {turn}? " + "Take your time. " * 10), AIMessage(f"It is {turn}.")]
    talk.append(HumanMessage("And now?"))
    fewer = trim(talk, max_tokens=600)
    assert fewer[0] is talk[0] and fewer[-1] is talk[-1] and 3 < len(fewer) < 40
    assert all(any(each is one for one in talk) for each in fewer[2:-3])
    assert trim(talk, max_tokens=100_000) == talk


def test_what_was_streamed_is_as_what_came_whole():
    calls = [{"name": "look", "args": {"at": 1}, "id": "c1"}]
    pieces = [{"name": "look", "args": '{"at": 1}', "id": "c1", "index": 0}]
    for streamed, whole in (
        (SystemMessageChunk("Be brief."), SystemMessage("Be brief.")),
        (HumanMessageChunk("Look."), HumanMessage("Look.")),
        (AIMessageChunk("I do.", tool_call_chunks=pieces), AIMessage("I do.", tool_calls=calls)),
        (ToolMessageChunk("seen", tool_call_id="c1"), ToolMessage("seen", tool_call_id="c1")),
    ):
        assert viewed(streamed)["langchain"]["digest"] == viewed(whole)["langchain"]["digest"]


def test_trim_stands_in_a_chain():
    model = scripted(echo)
    chain = ChatPromptTemplate([("system", "Be brief."), ("placeholder", "{talk}")]) | partial(trim, max_tokens=400)
    talk = [("user", f"Turn {turn}? " + "Take your time. " * 10) for turn in range(50)]
    assert (chain | model).invoke({"talk": talk}).text.startswith("You said: Turn 49?")
    assert len(model.sent[0]) < 20 and words(model.sent[0])[0] == "Be brief."


def test_without_langchain_it_says_what_to_install():
    code = "import sys; sys.modules['langchain'] = None; import rehydrate.frameworks.langchain"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "ImportError: this needs LangChain: pip install 'rehydrate[langchain]'"
