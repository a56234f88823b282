"""Made-up conversations in the neutral form."""


def user(*content):
    """A text, or blocks."""
    return {"role": "user", "content": content[0] if len(content) == 1 and isinstance(content[0], str) else [*content]}


def assistant(*content, **members):
    """A text, or blocks."""
    return {**user(*content), "role": "assistant", **members}


def text(words):
    return {"type": "text", "text": words}


def thought(words="Hm.", signature="c2ln"):
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(name, tool="ls", **given):
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(name, content="ok", **members):
    return {"type": "tool_result", "tool_use_id": name, "content": content, **members}


def step(*names, before=()):
    """An answer with calls, and the message with their results."""
    return [assistant(*before, *(call(name) for name in names)), user(*(result(name) for name in names))]
