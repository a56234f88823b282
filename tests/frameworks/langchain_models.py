"""Models of LangChain that do what a script says, and refuse what a provider would refuse."""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from rehydrate.context import violations
from rehydrate.frameworks.langchain import viewed


class Scripted(BaseChatModel):
    """`answer` is given the messages and gives an AIMessage, or raises."""

    answer: object
    sent: list
    """What it was sent, each time."""

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        said = [message for message in messages if not isinstance(message, SystemMessage)]
        assert not violations([viewed(message) for message in said], format="openai-chat")
        self.sent.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    def bind_tools(self, tools, **kwargs):
        return self

    @property
    def _llm_type(self):
        return "scripted"


def scripted(answer):
    return Scripted(answer=answer, sent=[])


def call(name, number, **arguments):
    return {"name": name, "args": arguments, "id": f"call_{number}", "type": "tool_call"}


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return f"{path}: " + "some line of it\n" * 60


@tool
def fail(reason: str) -> str:
    """Fail."""
    raise RuntimeError(reason)


class Worker:
    """Asks for two files at once, `steps` times a turn, then says that it is done; counts as a provider would."""

    def __init__(self, steps=1, prefix=""):
        self.steps, self.number, self.prefix = steps, 0, prefix

    def __call__(self, messages):
        self.number += 1
        calls = 0
        for message in reversed(messages):
            if message.text.startswith("[rehydrate] A note "):
                continue  # nobody asks for anything in it
            if not isinstance(message, (AIMessage, ToolMessage)):
                break
            calls += isinstance(message, AIMessage)
        name = f"{self.prefix}{self.number}"
        if calls < self.steps:
            paths = [f"src/{name}_{each}.py" for each in "ab"]
            calls = [call("read_file", f"{name}_{place}", path=path) for place, path in enumerate(paths)]
            return AIMessage("I read two files.", tool_calls=calls)
        return AIMessage(f"Done with {name}.")
