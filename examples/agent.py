"""A small agent whose memory outlives it, and its model's window: tools, a streamed answer, a subagent and a fork over
`rehydrate.session`, and `rehydrate.context` to decide what of it all the model is sent.

    python examples/agent.py ROOT

The sessions are below ROOT, and so is the agent's desk.  It prints the session's path, goes on with what lies there,
and ends when the script is played out.  Kill it whenever you like and start it again: in the end the conversation is
the one that it would have been.  What makes it so, in the order of the code below:

1. What comes next is read from the log, never from variables: a fresh start and a resume are the same code.
2. A request is on disk before the model is asked, and a call before its tool runs.
3. What is streamed is for the eyes.  An answer becomes an entry when it is whole.
4. A tool runs again after a crash only where that does no harm.  Of any other the model is told that nobody knows.
5. Who is given a turn's result gets it after the flush.
6. Each log has an engine of its own.  It is asked before each call of the model, and told after it; what it decides, a
   compaction with it, is in the log before the model is asked.
7. The engine is told, too, when a request was refused and when an answer was cut off, and gives what to send instead.

The model is a script, so that this runs anywhere, and its window is so small that it is compacted again and again, once
because the model takes less than the agent believes; put your provider's client in the place of `Model`.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rehydrate.context import Engine, Policy, Request, SummaryRequest
from rehydrate.session import Place, Session, SessionError, SessionLog, Sessions, agents_of, fork, result, resume_agent

Record = Any
"""A message or a block of one, as providers have them: a dictionary."""

# -- the model --------------------------------------------------------------------------------------------------------


def says(text: str, *calls: tuple[str, str, dict[str, str]]) -> list[Record]:
    """The content of an answer: a text, and calls of tools as (id, name, input)."""
    blocks = [{"type": "tool_use", "id": call_id, "name": name, "input": given} for call_id, name, given in calls]
    return [{"type": "text", "text": text}, *blocks]


REQUESTS = [
    "Find out when the train to Basel leaves, and write it down.",
    "Is it written down?",
    "And which one back?",
    "And if we miss it?",
]
IN_THE_FORK = ["And if we took the bus?"]
TASK = "When does the train to Basel leave?"
SCRIPT = {
    REQUESTS[0]: says("I ask the helper.", ("call_1", "helper", {"task": TASK})),
    TASK: says("I look it up.", ("call_2", "timetable", {"to": "Basel", "by": "train"})),
    "call_2": says("And on Sundays?", ("call_3", "timetable", {"to": "Basel", "by": "train on Sundays"})),
    "call_3": says("And on holidays?", ("call_4", "timetable", {"to": "Basel", "by": "train on holidays"})),
    "call_4": says("It leaves at 9:14."),
    "call_1": says(
        "I write it down, and when to be there.",
        ("call_5", "note", {"text": "The train leaves at 9:14."}),
        ("call_6", "note", {"text": "Be there at 9:00."}),
    ),
    "call_6": says("It leaves at 9:14, and that is written down."),
    REQUESTS[1]: says("I look.", ("call_7", "notes", {})),
    "call_7": says("Yes, in two lines."),
    REQUESTS[2]: says(
        "I look it up.",
        ("call_8", "timetable", {"to": "Bern", "by": "train"}),
        ("call_9", "timetable", {"to": "Bern", "by": "night train"}),
    ),
    "call_9": says("I write it down.", ("call_10", "note", {"text": "The train back leaves at 18:14."})),
    "call_10": says("At 18:14 we go back."),
    REQUESTS[3]: says("I see what is left.", ("call_11", "timetable", {"to": "Bern", "by": "late train"})),
    "call_11": says("Then there is one at 19:14."),
    IN_THE_FORK[0]: says("I look it up.", ("call_12", "timetable", {"to": "Basel", "by": "bus"})),
    "call_12": says("I write that down, too.", ("call_13", "note", {"text": "The bus leaves at 9:30."})),
    "call_13": says("Then we leave at 9:30."),
}
"""What the model says to a request, and to the result of a call."""
NOTES = """\
## Verification evidence
- the timetable has departures from 5:14 to 22:59
## Notes
There is one every quarter of an hour, on Sundays and holidays, too.
"""
"""What it writes when it is asked for a summary."""
WINDOW, LIMIT = 4_000, 2_160
"""Tokens: what the agent believes that the model takes, and what it does take."""
CAP = 60
"""What an answer may have at first, in tokens."""


@dataclass(frozen=True)
class Model:
    """What a provider's client is: it is sent a request, and streams the answer to its last message."""

    pace_s: float = 0.005

    def stream(self, body: Mapping[str, Any]) -> Iterator[str | Record]:
        """The text in pieces, then the whole response."""
        refuse(body)
        said = map(key_of, reversed(body["messages"]))
        content = SCRIPT[next(key for key in said if key in SCRIPT)]  # a note of the engine may stand last
        is_cut = tokens_of(content) > body["max_tokens"]
        if is_cut:
            content = says(content[0]["text"][: 4 * body["max_tokens"]])
        for word in content[0]["text"].split():
            time.sleep(self.pace_s)
            yield f"{word} "
        yield {
            "role": "assistant",
            "content": content,
            "stop_reason": "max_tokens" if is_cut else "tool_use" if calls_in(content) else "end_turn",
            "usage": {"input_tokens": tokens_of(body), "output_tokens": tokens_of(content)},
        }


def refuse(body: Mapping[str, Any]) -> None:
    """Raises ValueError where a provider would: calls and results that are not in pairs, a window that is too small."""
    if body["messages"][0]["role"] != "user":
        raise ValueError("the first message is not the user's")
    if tokens_of(body) > LIMIT:
        raise ValueError(f"prompt is too long: {tokens_of(body)} tokens > {LIMIT} maximum")
    waiting: list[str] = []
    for message in (*body["messages"], {"role": "user", "content": "the end"}):
        content = message["content"] if isinstance(message["content"], list) else []
        if [block["tool_use_id"] for block in content if block["type"] == "tool_result"] != waiting:
            raise ValueError(f"the results in {message} are not those of {waiting}")
        waiting = [block["id"] for block in calls_in(content)]


def calls_in(content: Sequence[Record]) -> list[Record]:
    """The calls of tools among blocks."""
    return [block for block in content if block["type"] == "tool_use"]


def key_of(message: Record) -> str:
    """What the script knows a message by."""
    content = message["content"]
    return str(content if isinstance(content, str) else content[-1].get("tool_use_id") or content[-1]["text"])


def tokens_of(said: object) -> int:
    """As this provider counts."""
    return len(json.dumps(said)) // 4


# -- the tools --------------------------------------------------------------------------------------------------------

SAFE_AGAIN = frozenset({"helper", "note", "notes", "timetable"})
"""Tools that may run a second time for the same call: they change nothing, or see that they have run already."""
UNKNOWN = "Interrupted before a result came. Whether it took effect is not known: look before you call it again."


@dataclass(frozen=True)
class Desk:
    """Where the tools work."""

    engine: Engine
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
        """Writes a line, and with it the id of the call: so it is known whether that took effect.

        What it has done stands in the ledger, too, which no compaction forgets.
        """
        line = f"{call['id']}\t{call['input']['text']}\n"
        with open(self._notes, "a+", encoding="utf-8") as file:
            file.seek(0)
            if line not in file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        self.engine.ledger.put("Workspace mutations", f"notes.txt: {call['input']['text']}")
        return "Written down."

    def notes(self, _: Record) -> str:
        """What is written down."""
        with open(self._notes, encoding="utf-8") as file:
            return "".join(line.partition("\t")[2] for line in file)

    def timetable(self, call: Record) -> str:
        """Where one would look it up: long, as the results of tools are."""
        to, by = call["input"]["to"], call["input"]["by"]
        times = [(hour, minute) for hour in range(5, 23) for minute in range(14, 60, 15)]
        return "\n".join(f"{hour}:{minute} to {to} by {by}, platform {hour % 7 + 1}" for hour, minute in times)

    def helper(self, call: Record) -> str:
        """A subagent with a log of its own, which the id of the call names.  After a crash it goes on where it was."""
        agent_id, task, parent = call["id"], call["input"]["task"], self.engine.log
        if agent_id in agents_of(parent.place):
            engine = engine_of(resume_agent(parent, agent_id).log)
        else:
            engine = engine_of(parent.sidechain(agent_id, type="helper", description=task))
            engine.append({"role": "user", "content": task})
        last = finish_turn(replace(self, engine=engine))
        return str(last["content"][-1]["text"])

    @property
    def _notes(self) -> str:
        return os.path.join(self.folder, "notes.txt")


# -- the loop ---------------------------------------------------------------------------------------------------------

REQUEST = Request(
    model="script",
    format="anthropic",
    system="You plan journeys.",
    tools=[{"name": name, "input_schema": {"type": "object"}} for name in sorted(SAFE_AGAIN)],
)
"""What is sent beside the messages."""
POLICY = Policy(reserve=800, tools={"notes": "read", "timetable": "read"})


def engine_of(log: SessionLog) -> Engine:
    """Decides what of the log the model is sent."""
    return Engine(log, window=WINDOW, policy=POLICY, summariser=summarise)


def summarise(_: SummaryRequest) -> str:
    """What a model makes of what is compacted; another than this one would be sent it."""
    return NOTES


def finish_turn(desk: Desk) -> Record:
    """Go on from what the log says until the model calls no tool any more; gives its last answer.

    A turn that begins and one that was interrupted anywhere look the same from here.
    """
    engine = desk.engine
    called_now: set[str] = set()
    while True:
        last, calls = state_of(engine.log)
        if calls:
            results = [desk.use(call, is_new=call["id"] in called_now) for call in calls]
            engine.append({"role": "user", "content": results})
        elif last["role"] == "user" or last.get("stop_reason") == "max_tokens":  # which is to be gone on with
            called_now = {call["id"] for call in calls_in(ask(engine)["content"])}
        else:
            engine.log.flush()
            return last


def ask(engine: Engine) -> Record:
    """Have the model answer what the log ends with; gives the response, which is in the log."""
    projection = engine.prepare(REQUEST)
    while True:
        cap = projection.max_output or CAP
        try:
            response = stream({**projection.body(), "max_tokens": cap})
        except ValueError as error:
            projection = engine.overflow(error)  # which raises it again where nothing helps
            continue
        if response["stop_reason"] != "max_tokens":
            # Without calls it is not on disk yet: if it is lost the model is asked again, and nothing has happened.
            engine.observe(response["usage"], response)
            return response
        projection = engine.cut_off(response["usage"], response, limit=cap)


def state_of(log: SessionLog) -> tuple[Record, list[Record]]:
    """The last message, and the calls that no result has come for."""
    log.flush()
    with Session.open(log.path) as session:
        messages = [entry["message"] for entry in session.view("active") if "message" in entry]
    calls: dict[str, Record] = {}
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_use":
                calls[block["id"]] = block
            elif block["type"] == "tool_result":
                calls.pop(block["tool_use_id"], None)
    return messages[-1], list(calls.values())


def stream(body: Mapping[str, Any]) -> Record:
    """Show the answer while it comes; gives the response when it is whole."""
    for piece in Model().stream(body):
        if not isinstance(piece, str):
            print(flush=True)
            return piece
        print(piece, end="", flush=True)
    raise ConnectionError("the answer broke off")


def play(log: SessionLog, requests: Sequence[str], *, desk: str, asked: int) -> None:
    """Have what was left unfinished finished, then every request that is not among the `asked` ones."""
    with log:
        tools = Desk(engine_of(log), desk)
        if os.path.exists(log.path):
            finish_turn(tools)
        for request in requests[asked:]:
            tools.engine.append({"role": "user", "content": request})
            finish_turn(tools)


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
        asked = [entry for entry in said if isinstance(entry["message"]["content"], str)]
        return resumed.log, sum("isCompactSummary" not in entry for entry in asked)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: agent.py ROOT")
    main(sys.argv[1])
