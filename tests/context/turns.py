"""Lists of messages with tool turns in them, and a meter whose figures can be checked by hand."""

import json

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
IMAGE_TOKENS = 1_000


class Letters:
    """A token for every four characters, begun ones included; an image costs IMAGE_TOKENS."""

    def block(self, block):
        if block["type"] == "image":
            return IMAGE_TOKENS
        content = block.get("content") if block["type"] == "tool_result" else block.get("text", json.dumps(block))
        if isinstance(content, list):
            return sum(map(self.block, content))
        return -(-len(content or "") // 4)

    def messages(self, messages):
        return sum(
            4
            + (
                -(-len(each["content"]) // 4)
                if isinstance(each["content"], str)
                else sum(map(self.block, each["content"]))
            )
            for each in messages
        )


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
