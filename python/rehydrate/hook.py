"""What a host runs before every model call: `{}` at once when nothing happened, else the invocation is worked out.
For other hosts, what they run once for each compaction.

Promises: something valid is written to standard output exactly once (for those other hosts, or nothing), nothing else
ever is, and the exit status is 0, whatever happens.  Until the gate asks for more nothing is imported beyond `sys`,
`os` and the native module (without it, the pure gate).
"""

import os
import sys

NOTHING = b"{}"
MESSAGES = ("systemMessage", "ephemeralMessage")
"""How the text may reach the model; the first is the default."""
NONE = "session"
"""The client that has no hook: what was begun by hand is told so."""
ONCE = ("claude-code",)
"""Clients whose hosts run this once for each compaction; no answer is the answer `nothing`."""


def main(argv: "list[str] | None" = None) -> None:
    """Answer one invocation and end the process.  `argv` (default: the process's) is `CLIENT [--as KIND]`, or for the
    clients in ONCE `CLIENT [--part K]`.
    """
    if sys.stdout is None:
        os._exit(0)  # nobody can be answered, and a file opened later could get the number of standard output
    reply = Reply()
    trouble = ""
    words = sys.argv[1:] if argv is None else argv
    once = words[:1] != [] and words[0] in ONCE
    try:
        try:
            if words[:1] == [NONE]:
                trouble = "rehydrate: session has no hook, so nothing was put back; see `rehydrate show`\n"
            else:
                (_answer_once if once else _answer)(words, reply)
        except BaseException as error:
            # By its name: the class may not have been imported yet, and importing it could fail, too.
            if type(error).__name__ == "StateUnavailable" and reply.is_open:
                trouble = f"rehydrate: nothing was put back, for nothing can be remembered: {error}\n"
        reply.send(b"" if once else NOTHING)
        if trouble and sys.stderr is not None:
            sys.stderr.write(trouble)
            sys.stderr.flush()
    finally:
        os._exit(0)


class Reply:
    """Standard output, which is written at most once."""

    def __init__(self) -> None:
        self.is_open = True

    def send(self, text: bytes) -> None:
        """Write all of it and close; nothing when an answer was begun before.  OSError when it cannot be written."""
        if not self.is_open:
            return
        self.is_open = False
        at = 0
        while at < len(text):
            try:
                at += os.write(1, text[at:])
            except BlockingIOError:  # a pipe that does not block, and it is full
                import select

                select.select([], [1], [])
        os.close(1)


def _answer(argv: "list[str]", reply: Reply) -> None:
    client, message = _arguments(argv)
    if os.environ.get("REHYDRATE_OFF", "") not in ("", "0"):
        return
    nothing, payload = _gate(0)
    if nothing:
        return
    import gc

    gc.disable()  # the process ends with this answer: looking for cycles among what is kept costs a sixth of its time
    from rehydrate.invocation import invoke

    invoke(client, payload, message=message, reply=reply, environ=os.environ)


def _answer_once(argv: "list[str]", reply: Reply) -> None:
    number = _part(argv[1:])
    if os.environ.get("REHYDRATE_OFF", "") not in ("", "0"):
        return
    from rehydrate.gate import read_payload

    payload = read_payload(0)
    import gc

    gc.disable()
    from rehydrate.compaction import answer

    answer(argv[0], payload, number=number, reply=reply, environ=os.environ)


def _part(words: "list[str]") -> int:
    """The number of the value that is asked for: the first, where none is named."""
    number = "1"
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--part" and rest:
            number = rest.pop(0)
        elif word.startswith("--part="):
            number = word[7:]
        else:
            raise ValueError(f"unknown argument {word!r}")
    if not (number.isascii() and number.isdigit() and 0 < len(number) < 4 and int(number)):
        raise ValueError("--part takes a number from 1 on")
    return int(number)


def _arguments(argv: "list[str]") -> "tuple[str, str]":
    client, message = "", MESSAGES[0]
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--as" and rest:
            message = rest.pop(0)
        elif word.startswith("--as="):
            message = word[5:]
        elif not client:
            client = word
        else:
            raise ValueError(f"unknown argument {word!r}")
    if message not in MESSAGES:
        raise ValueError(f"--as takes {' or '.join(MESSAGES)}")
    return client, message


def _gate(fd: int) -> "tuple[bool, bytes]":
    if os.environ.get("REHYDRATE_PURE") != "1":
        try:
            from rehydrate._native import gate
        except ImportError:
            pass
        else:
            return gate(fd)
    from rehydrate.gate import gate as twin

    return twin(fd)
