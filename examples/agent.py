"""A small agent whose memory outlives it: tools, a streamed answer, a subagent and a fork over `rehydrate.session`.

    python examples/agent.py ROOT

The sessions are below ROOT, and so is the agent's desk.  It prints the session's path, goes on with what lies there,
and ends when the script is played out.  Kill it whenever you like and start it again: in the end the conversation is
the one that it would have been.  What makes it so, in the order of the code below:

1. What comes next is read from the log, never from variables: a fresh start and a resume are the same code.
2. A request is on disk before the model is asked, and a call before its tool runs.
3. What is streamed is for the eyes.  An answer becomes an entry when it is whole.
4. A tool runs again after a crash only where that does no harm.  Of any other the model is told that nobody knows.
5. Who is given a turn's result gets it after the flush.

The model is a script, so that this runs anywhere; put your provider's client in the place of `Model`.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rehydrate.session import (
    Place,
    Session,
    SessionError,
    SessionLog,
    Sessions,
    agents_of,
    assistant,
    fork,
    result,
    resume_agent,
    user,
)

Record = Any
"""A message or a block of one, as providers have them: a dictionary."""

# -- the model --------------------------------------------------------------------------------------------------------


def says(text: str, *calls: tuple[str, str, dict[str, str]]) -> list[Record]:
    """The content of an answer: a text, and calls of tools as (id, name, input)."""
    blocks = [{"type": "tool_use", "id": call_id, "name": name, "input": given} for call_id, name, given in calls]
    return [{"type": "text", "text": text}, *blocks]


REQUESTS = ["Find out when the train to Basel leaves, and write it down.", "Is it written down?"]
IN_THE_FORK = ["And if we took the bus?"]
SCRIPT = [
    says("I ask the helper.", ("call_1", "helper", {"task": "When does the train to Basel leave?"})),
    says(
        "I write it down, and when to be there.",
        ("call_2", "note", {"text": "The train leaves at 9:14."}),
        ("call_3", "note", {"text": "Be there at 9:00."}),
    ),
    says("It leaves at 9:14, and that is written down."),
    says("I look.", ("call_4", "notes", {})),
    says("Yes, in two lines."),
    says("I write that down, too.", ("call_5", "note", {"text": "The bus leaves at 9:30."})),
    says("Then we leave at 9:30."),
]
HELPERS_SCRIPT = [says("I look it up.", ("call_6", "timetable", {"to": "Basel"})), says("It leaves at 9:14.")]


@dataclass(frozen=True)
class Model:
    """What a provider's client is: it is sent messages, and streams the answer to the last one."""

    script: Sequence[list[Record]]
    pace_s: float = 0.005

    def stream(self, messages: Sequence[Record]) -> Iterator[str | list[Record]]:
        """The text in pieces, then the whole content."""
        answer = self.script[sum(message["role"] == "assistant" for message in messages)]
        for word in answer[0]["text"].split():
            time.sleep(self.pace_s)
            yield f"{word} "
        yield answer


# -- the tools --------------------------------------------------------------------------------------------------------

SAFE_AGAIN = frozenset({"helper", "note", "notes", "timetable"})
"""Tools that may run a second time for the same call: they change nothing, or see that they have run already."""
UNKNOWN = "Interrupted before a result came. Whether it took effect is not known: look before you call it again."


@dataclass(frozen=True)
class Desk:
    """Where the tools work."""

    log: SessionLog
    """Of the session that they are called in."""
    folder: str

    def use(self, call: Record, *, is_new: bool) -> Record:
        """The block that answers a call.  `is_new`: it was made just now, and not before a crash."""
        if not (is_new or call["name"] in SAFE_AGAIN):
            return result(call["id"], UNKNOWN, is_error=True)
        tools = {"helper": self.helper, "note": self.note, "notes": self.notes, "timetable": self.timetable}
        try:
            return result(call["id"], tools[call["name"]](call))
        except (OSError, KeyError) as error:  # for the model, which may know what to do
            return result(call["id"], repr(error), is_error=True)

    def note(self, call: Record) -> str:
        """Writes a line, and with it the id of the call: so it is known whether that took effect."""
        line = f"{call['id']}\t{call['input']['text']}\n"
        with open(self._notes, "a+", encoding="utf-8") as file:
            file.seek(0)
            if line not in file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        return "Written down."

    def notes(self, _: Record) -> str:
        """What is written down."""
        with open(self._notes, encoding="utf-8") as file:
            return "".join(line.partition("\t")[2] for line in file)

    def timetable(self, call: Record) -> str:
        """Where one would look it up."""
        return f"{call['input']['to']}: 9:14, 10:14"

    def helper(self, call: Record) -> str:
        """A subagent with a log of its own, which the id of the call names.  After a crash it goes on where it was."""
        agent_id, task = call["id"], call["input"]["task"]
        if agent_id in agents_of(self.log.place):
            log = resume_agent(self.log, agent_id).log
        else:
            log = self.log.sidechain(agent_id, type="helper", description=task)
            log.append_durable(user(task))
        last = finish_turn(log, Model(HELPERS_SCRIPT), replace(self, log=log))
        return str(last["content"][-1]["text"])

    @property
    def _notes(self) -> str:
        return os.path.join(self.folder, "notes.txt")


# -- the loop ---------------------------------------------------------------------------------------------------------


def finish_turn(log: SessionLog, model: Model, desk: Desk) -> Record:
    """Go on from what the log says until the model calls no tool any more; gives its last answer.

    A turn that begins and one that was interrupted anywhere look the same from here.
    """
    called_now: set[str] = set()
    while True:
        messages, calls = state_of(log)
        if calls:
            log.append(user([desk.use(call, is_new=call["id"] in called_now) for call in calls]))
        elif messages[-1]["role"] == "user":
            content = stream(model, messages)
            called_now = {block["id"] for block in content if block["type"] == "tool_use"}
            # Without calls it can wait for the queue: if it is lost the model is asked again, and nothing has happened.
            append = log.append_durable if called_now else log.append
            append(assistant(content, message={"stop_reason": "tool_use" if called_now else "end_turn"}))
        else:
            log.flush()
            return messages[-1]


def state_of(log: SessionLog) -> tuple[list[Record], list[Record]]:
    """The messages for the provider, and the calls that no result has come for."""
    log.flush()
    with Session.open(log.path) as session:
        calls: dict[str, Record] = {}
        for entry in session.view("active"):
            for block in entry.get("message", {}).get("content", ()):
                if isinstance(block, dict) and block["type"] == "tool_use":
                    calls[block["id"]] = block
                elif isinstance(block, dict) and block["type"] == "tool_result":
                    calls.pop(block["tool_use_id"], None)
        return list(session.view("wire")), list(calls.values())


def stream(model: Model, messages: Sequence[Record]) -> list[Record]:
    """Show the answer while it comes; gives its content when it is whole."""
    for piece in model.stream(messages):
        if isinstance(piece, list):
            print(flush=True)
            return piece
        print(piece, end="", flush=True)
    raise ConnectionError("the answer broke off")


def play(log: SessionLog, requests: Sequence[str], *, desk: str, asked: int) -> None:
    """Have what was left unfinished finished, then every request that is not among the `asked` ones."""
    model, tools = Model(SCRIPT), Desk(log, desk)
    with log:
        if os.path.exists(log.path):
            finish_turn(log, model, tools)
        for request in requests[asked:]:
            log.append_durable(user(request))
            finish_turn(log, model, tools)


# -- the session ------------------------------------------------------------------------------------------------------


def main(root: str) -> None:
    """Play the script with the session below `root`, then ask on in a fork of it."""
    desk = os.path.join(os.path.abspath(root), "desk")
    os.makedirs(desk, exist_ok=True)
    sessions = Sessions(root)
    known = sessions_in(sessions, desk)

    log, asked = resume(sessions, known[None]) if None in known else (sessions.new(desk), 0)
    print(log.path, flush=True)
    play(log, REQUESTS, desk=desk, asked=asked)

    if log.session_id in known:
        forked, asked = resume(sessions, known[log.session_id])
    else:
        with Session.open(log.path) as session:  # which the fork leaves as it is
            forked, asked = fork(session), len(REQUESTS)
    play(forked, REQUESTS + IN_THE_FORK, desk=desk, asked=asked)


def sessions_in(sessions: Sessions, desk: str) -> dict[str | None, Place]:
    """What lies there: under None the session, and under its id the fork of it."""
    found = {}
    for place in sessions.all(cwd=desk):
        with suppress(SessionError), Session.open(place.path) as session:
            for entry in session.view("scrollback")[:1]:
                found[entry.get("forkedFrom", {}).get("sessionId")] = place
    return found


def resume(sessions: Sessions, place: Place) -> tuple[SessionLog, int]:
    """A log that goes on with a session, and how much was asked in it."""
    resumed = sessions.resume(place)
    if resumed.others:
        resumed.close()
        sys.exit(f"process {resumed.others[0].pid} is at work on {place.path}: wait for it, or end it")
    if resumed.interruption is not None:
        print("Interrupted: going on.", *resumed.restored.dropped, file=sys.stderr)
    with resumed.session as session:
        said = [entry for entry in session.view("scrollback") if entry["type"] == "user"]
        return resumed.log, sum(isinstance(entry["message"]["content"], str) for entry in said)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: agent.py ROOT")
    main(sys.argv[1])
