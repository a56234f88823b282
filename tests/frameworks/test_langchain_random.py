"""What people do with a graph's state, in any order: a model is never sent what is no longer in it."""

import random
import re

import pytest

pytest.importorskip("langchain", reason="it is not installed here")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from rehydrate.context import Engine, Policy
from rehydrate.frameworks.langchain import RehydrateMiddleware
from rehydrate.session import Place, SessionLog

from .langchain_models import call, read_file, scripted

HERE = {"configurable": {"thread_id": "here"}}
STEPS = ("ask", "ask", "ask", "ask", "go on", "end", "beginning", "change", "put in", "empty", "back", "restart")


class Crash(Exception):
    """The model, or the process."""


class Look(AgentMiddleware):
    """Keeps what the state was before the last call."""

    def wrap_model_call(self, request, handler):
        self.state = list(request.state["messages"])
        return handler(request)


class Talk:
    """A conversation in which every word is said once."""

    def __init__(self, root, *, seed, window):
        self.draw, self.window, self.number = random.Random(seed), window, 0
        self.place = Place(str(root), "-srv", "5e551000-0000-4000-8000-000000000001")
        self.saver, self.look, self.log = InMemorySaver(), Look(), None
        self.restart()

    def restart(self):
        if self.log is not None:
            self.log.close()
        self.log = SessionLog(self.place, cwd="/srv")
        engine = Engine(self.log, window=self.window, policy=Policy(reserve=500), clock=lambda: 0.0)
        self.model = scripted(self.answer)
        middleware = [self.look, RehydrateMiddleware(engine)]
        self.agent = create_agent(self.model, [read_file], middleware=middleware, checkpointer=self.saver)

    def word(self, more=0):
        self.number += 1
        return f"w{self.number}w" + " and so on" * self.draw.choice((0, more))

    def answer(self, messages):
        if self.draw.random() < 0.08:
            raise Crash
        if self.draw.random() < 0.5 and sum(isinstance(each, AIMessage) for each in messages[-4:]) < 3:
            number = self.draw.choice((1, 2))
            return AIMessage(self.word(), tool_calls=[call("read_file", self.word(), path="a") for _ in range(number)])
        return AIMessage(self.draw.choice(("", self.word(40), self.word(40))))

    def change(self, step):
        """What a person does before the next request."""
        state = self.agent.get_state(HERE).values.get("messages", [])
        if not state:
            return
        place = self.draw.randrange(len(state))
        gone = [RemoveMessage(REMOVE_ALL_MESSAGES)]
        said = {
            "end": [RemoveMessage(each.id) for each in state[place:]],
            "beginning": [RemoveMessage(each.id) for each in state[: place + 1]],
            "change": [state[place].model_copy(update={"content": self.word()})],
            "put in": [*gone, *state[:place], HumanMessage(self.word()), *state[place:]],
            "empty": [*gone, SystemMessage(self.word()), *state[-self.draw.choice((1, 4)) :]],
        }
        if step in said:
            self.agent.update_state(HERE, {"messages": said[step]})

    def step(self):
        step, config = self.draw.choice(STEPS), HERE
        if step == "restart":
            return self.restart()
        self.change(step)
        if step == "back":
            # What is from before the agent had begun cannot be told from a checkpointer that has lost everything.
            past = [each for each in self.agent.get_state_history(HERE) if "rehydrate_base" in each.values]
            config = self.draw.choice(past).config if past else HERE
        self.model.sent.clear()
        try:
            self.agent.invoke(None if step == "go on" else {"messages": [HumanMessage(self.word(20))]}, config)
        except Crash:
            pass
        except Exception as error:  # there was nothing to go on with
            assert step == "go on" and type(error).__name__ == "EmptyInputError", error


def words(messages):
    return set(re.findall(r"w\d+w", " ".join(f"{each.text} {getattr(each, 'tool_calls', '')}" for each in messages)))


@pytest.mark.parametrize("window", [None, 3_000])
@pytest.mark.parametrize("seed", range(6))
def test_a_model_is_sent_what_the_state_says_and_nothing_that_left_it(tmp_path, seed, window):
    talk = Talk(tmp_path, seed=seed, window=window)
    for _ in range(25):
        talk.step()
        if talk.model.sent:
            sent, state = words(talk.model.sent[-1]), talk.look.state
            assert sent <= words(state)
            if window is None:  # all of it, but results whose calls are gone
                assert words(state) - sent <= words(each for each in state if isinstance(each, ToolMessage))
    talk.log.close()
