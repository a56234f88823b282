"""Lists of messages with tool turns in them, and a meter whose figures can be checked by hand."""

from rehydrate.context.meter import FLAT, Meter

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
IMAGE_TOKENS = FLAT["image"]


class Letters:
    """A token for every so many characters, begun ones included."""

    name = "letters"
    is_exact = False

    def __init__(self, each=4):
        self._each = each

    def count(self, text):
        return int(-(-len(text) // self._each))


METER = Meter(Letters())
DENSE = Meter(Letters(0.5))
"""Two tokens for each character."""


def call(name, tool="Read", **given):
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(name, content, **more):
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def asked(text="Go on."):
    return {"role": "user", "content": text}


def turn(*pairs):
    """An answer with calls, and their results: pairs of both."""
    return [
        {"role": "assistant", "content": [each for each, _ in pairs]},
        {"role": "user", "content": [each for _, each in pairs]},
    ]


def tool_turn(name, tokens, *, tool="Read", **more):
    """A turn with one call, whose result has so many tokens of Letters."""
    return turn((call(name, tool), result(name, (f"{name} " * (4 * tokens))[: 4 * tokens], **more)))


def ranks(block):
    return "read" if block["name"] == "Read" else "write"


def of_calls(ids):
    """Results of the calls with these ids."""
    return lambda block: block["tool_use_id"] in ids
