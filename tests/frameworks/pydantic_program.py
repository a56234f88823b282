"""An agent of pydantic-ai at work, for tests and for whoever kills it on the way.

    python pydantic_program.py ROOT TURNS KILLED_AT

It goes on with the session below ROOT until TURNS requests are answered.  At the tool's call number KILLED_AT it kills
itself, the hard way; 0: it does not.
"""

import asyncio
import os
import re
import signal
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from rehydrate.context import Engine, Meter, Policy
from rehydrate.frameworks.pydantic_ai import Rehydrate, viewed
from rehydrate.session import Place, SessionLog

from .asking import NOTE, STEPS, answered, number_in, numbers, request

SESSION = "5e551000-0000-4000-8000-000000000004"
WINDOW, RESERVE = 4_000, 500


def open_log(root):
    return SessionLog(Place(str(root), "-srv-project", SESSION), cwd="/srv/project")


def memory_of(log, *, window=WINDOW):
    return Rehydrate(Engine(log, window=window, policy=Policy(reserve=RESERVE), clock=lambda: 0.0))


def refuse(messages):
    """Fails where a provider would: results that are not right behind their calls, or no request at the beginning."""
    waiting = []
    assert messages[0].kind == "request" and any(isinstance(part, UserPromptPart) for part in messages[0].parts)
    for message in messages:
        named = [part.tool_call_id for part in message.parts if part.part_kind in ("tool-return", "retry-prompt")]
        assert sorted(named) == sorted(waiting), (named, waiting)
        waiting = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
    assert not waiting and messages[-1].kind == "request"


class Model:
    """What is sent to it is held against the rules; it asks for tools in parallel, and then answers."""

    def __init__(self):
        self.sent = []
        self.model = FunctionModel(self._respond)

    def _respond(self, messages, info):
        self.sent.append(messages)
        refuse(messages)
        parts = [part for message in messages for part in message.parts]
        last = next(part for part in reversed(parts) if not str(part.content).startswith(NOTE))
        found = re.fullmatch(r"call_(\d+b?)_(\d+)_\d", getattr(last, "tool_call_id", ""))
        number, step = (found[1], int(found[2]) + 1) if found else (number_in(last.content), 0)
        thought = ThinkingPart(f"hm {number} {step}", signature="zz", provider_name="function")
        said = TextPart(f"Step {step} of request {number}.")
        calls = [
            ToolCallPart("look", {"path": f"src/{number}_{step}_{n}.py"}, tool_call_id=f"call_{number}_{step}_{n}")
            for n in range(3)
        ]
        usage = RequestUsage(input_tokens=tokens_of(messages), output_tokens=100)
        return ModelResponse(parts=[thought, said, *(calls if step < STEPS else [])], usage=usage)


def tokens_of(messages):
    """As this provider counts."""
    return Meter().messages(viewed(message).message() for message in messages)


class Work:
    """The agent and its tool."""

    def __init__(self, memory, *, killed_at=0, crashes_at=0):
        self.memory = memory
        self.model = Model()
        self.looked = 0
        self.agent = Agent(self.model.model, instructions="You are careful.", capabilities=[memory])

        @self.agent.tool_plain
        def look(path: str) -> str:
            """Look into a file."""
            self.looked += 1
            if self.looked == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.looked == crashes_at:
                raise RuntimeError("the disk is full")
            return f"{path}: " + "a line of the file, " * 12

    async def ask(self, request):
        return (await self.agent.run(request)).output


def asked(path):
    """The requests that there are."""
    return numbers(path, "user", r"'text': 'Request (\d+)")


async def work(root, *, turns, killed_at):
    with open_log(root) as log:
        done = len(answered(log.path))
        at_work = Work(memory_of(log), killed_at=killed_at)
        if done < len(asked(log.path)):
            done += 1
            await at_work.ask(f"Go on: {request(done)}")
        for number in range(done + 1, turns + 1):
            await at_work.ask(request(number))


def results_in(messages):
    """What tools have given, by the ids of their calls."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return {part.tool_call_id: part.content for part in parts}


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], turns=int(sys.argv[2]), killed_at=int(sys.argv[3])))
