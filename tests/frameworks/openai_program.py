"""An agent of the OpenAI Agents SDK at work, for tests and for whoever kills it on the way.

    python openai_program.py ROOT TURNS KILLED_AT

It goes on with the session below ROOT until TURNS requests are answered.  At the tool's call number KILLED_AT it kills
itself, the hard way; 0: it does not.
"""

import asyncio
import os
import re
import signal
import sys

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses.response_reasoning_item import ResponseReasoningItem

from rehydrate.context import Engine, Policy, violations
from rehydrate.frameworks.openai_agents import RehydrateSession
from rehydrate.session import Place, SessionLog

from .asking import NOTE, STEPS, answered, number_in, numbers, request

SESSION = "5e551000-0000-4000-8000-000000000003"
WINDOW, RESERVE = 4_000, 500


def open_log(root):
    return SessionLog(Place(str(root), "-srv-project", SESSION), cwd="/srv/project")


def session_of(log, *, window=WINDOW):
    policy = Policy(reserve=RESERVE, tools={"look": "read"})
    return RehydrateSession(Engine(log, window=window, policy=policy, clock=lambda: 0.0))


class Model:
    """What is sent to it is held against the rules of the API; it asks for tools in parallel, and then answers."""

    def __init__(self):
        self.sent = []
        self.model = ScriptedModel(ModelStep.respond(self._respond) for _ in range(1_000))

    def _respond(self, call):
        self.sent.append(call.input)
        wrong = violations(call.input, format="openai-responses")
        assert not wrong, wrong
        last = next(item for item in reversed(call.input) if not is_note(item))
        found = re.fullmatch(r"call_(\d+b?)_(\d+)_\d", str(last.get("call_id")))
        number, step = (found[1], int(found[2]) + 1) if found else (number_in(last["content"]), 0)
        name = f"{number}_{step}"
        thought = ResponseReasoningItem(id=f"rs_{name}", type="reasoning", summary=[], encrypted_content="zz")
        said = assistant_message(f"Step {step} of request {number}.", item_id=f"msg_{name}")
        if step == STEPS:
            return [thought, said]
        calls = [
            function_call("look", {"path": f"src/{name}_{n}.py"}, call_id=f"call_{name}_{n}", item_id=f"fc_{name}_{n}")
            for n in range(3)
        ]
        return [thought, said, *calls]


def is_note(item):
    """Whether an item is the engine's own word that a compaction is near."""
    return str(item.get("content")).startswith(NOTE)


class Work:
    """The agent and its tool."""

    def __init__(self, session, *, killed_at=0, crashes_at=0):
        self.session = session
        self.model = Model()
        self.config = RunConfig(call_model_input_filter=session.fit, tracing_disabled=True)
        self.looked = 0

        @function_tool(failure_error_function=None)
        def look(path: str) -> str:
            """Look into a file."""
            self.looked += 1
            if self.looked == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.looked == crashes_at:
                raise RuntimeError("the disk is full")
            return f"{path}: " + "a line of the file, " * 12

        self.agent = Agent(name="agent", instructions="You are careful.", model=self.model.model, tools=[look])

    async def ask(self, request):
        result = await Runner.run(self.agent, request, session=self.session, run_config=self.config)
        return result.final_output


def asked(path):
    """The requests that there are."""
    return numbers(path, "user", r"^Request (\d+)")


async def work(root, *, turns, killed_at):
    with open_log(root) as log:
        done = len(answered(log.path))
        at_work = Work(session_of(log), killed_at=killed_at)
        if done < len(asked(log.path)):
            done += 1
            await at_work.ask(f"Go on: {request(done)}")
        for number in range(done + 1, turns + 1):
            await at_work.ask(request(number))


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], turns=int(sys.argv[2]), killed_at=int(sys.argv[3])))
