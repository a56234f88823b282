"""The conversations: what is said, which facts are planted before a compaction, and where compactions come.

Every scenario plants the same facts first and runs in either agent loop.  The model's reported prompt size decides
where a compaction comes, so an answer with FULL in it is followed by one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .harness import Harness, Turn
from .model import Answer
from .product import run_rehydrate

THRESHOLD = 50_000
FULL = 60_000
"""A reported prompt size over THRESHOLD: the harness compacts before its next call of the model."""
SMALL = 1_000
TIGHT = {"older": 50_000, "newer": 36_000}
"""Thresholds that a full delivery exceeds where the model counts two tokens for five characters, and half of one
does not; the older loop's own prompt and tools are larger."""

REQUEST = "Never rename add_prices, and keep the banner's exact words: 'zebra crossing 4711'."
REMARK = "I keep a quokka margin of 12 % in every column, as agreed."
COMMAND = "printf kestrel-2290 | wc -c"
READ_FACT = "SHIPPING_LIMIT = 83_117  # what the warehouse agreed to"
EDITED_BEFORE, EDITED_FACT = "return a - b", "return a + b  # the sign was wrong, heron-58"
WRITTEN_FACT = "colours = ['ultramarine', 'gamboge']"
PLAN_FACT = "- milestone 3: the ferry timetable goes live"
FACTS = {
    "request": REQUEST,
    "answer": REMARK,
    "command": COMMAND,
    "file that was read": READ_FACT,
    "file that was edited": EDITED_FACT,
    "file that was written": WRITTEN_FACT,
    "plan": PLAN_FACT,
}


def play(scenario: str, *, loop: str, folder: Path, python: str) -> dict[str, Any]:
    """Plays a scenario in a throw-away home where our hook is installed, and says what is to be known about it.

    Gives {conversation, transcript (path), talks (see `Harness.talks`), unexpected (see `FakeModel`), left (answers
    never asked for)}.  The requests lie in FOLDER/requests, the home is FOLDER/home.
    """
    threshold = TIGHT[loop] if scenario == "our-own-doing" else THRESHOLD
    harness = Harness(python=python, folder=folder, loop=loop, threshold=threshold)
    write_workspace(harness.work)
    run_rehydrate("install", "antigravity", home=harness.home)
    with harness.model:
        conversation = SCENARIOS[scenario](harness)
    return {
        "conversation": conversation,
        "transcript": str(harness.transcript(conversation)),
        "talks": harness.talks,
        "unexpected": harness.model.unexpected,
        "left": len(harness.model.answers),
    }


def write_workspace(work: Path) -> None:
    """The files that the conversations read and edit, so large that one part does not hold them all."""
    (work / "prices.py").write_text("def add_prices(a, b):\n    return a - b\n\n\n" + lines("# price", 10_000))
    (work / "limits.py").write_text(READ_FACT + "\n" + lines("# limit", 10_000))
    (work / "stock.txt").write_text(lines("stock", 10_000))
    (work / "PLAN.md").write_text("# Plan\n\n" + PLAN_FACT + "\n" + lines("- later", 8_000))


def lines(word: str, size: int) -> str:
    """`size` characters or a little more, no two lines alike."""
    made, number = [], 0
    while size > 0:
        number += 1
        made.append(f"{word} {number} " + f"{number * 7919 % 100_003:06d} " * 8 + "\n")
        size -= len(made[-1])
    return "".join(made)


# -- what the model does -------------------------------------------------------------
def view(work: Path, name: str, tokens: int | None = SMALL) -> Answer:
    """Reads a file of the workspace."""
    call = ("view_file", {"AbsolutePath": str(work / name), "toolAction": "Viewing", "toolSummary": name})
    return Answer(f"I look at {name}.", (call,), tokens)


def run(work: Path, command: str, tokens: int | None = SMALL) -> Answer:
    """Runs a command in the workspace."""
    arguments = {"CommandLine": command, "Cwd": str(work), "WaitMsBeforeAsync": 5000}
    call = ("run_command", arguments | {"toolAction": "Running", "toolSummary": "a command"})
    return Answer("I run a command.", (call,), tokens)


def edit(work: Path, name: str, before: str, after: str) -> Answer:
    """Replaces a text that stands in the first lines of a file."""
    arguments = {
        "TargetFile": str(work / name),
        "TargetContent": before,
        "ReplacementContent": after,
        "StartLine": 1,
        "EndLine": 4,
        "AllowMultiple": False,
    }
    words = {"Instruction": "fix", "Description": "fix", "toolAction": "Editing", "toolSummary": name}
    return Answer(f"I edit {name}.", (("replace_file_content", arguments | words),), SMALL)


def write(work: Path, name: str, text: str) -> Answer:
    """Makes a file of the workspace."""
    arguments = {"TargetFile": str(work / name), "CodeContent": text, "Overwrite": True}
    words = {"Description": "a new file", "toolAction": "Writing", "toolSummary": name}
    return Answer(f"I write {name}.", (("write_to_file", arguments | words),), SMALL)


def say(text: str, tokens: int | None = SMALL) -> Answer:
    """Ends the turn."""
    return Answer(text, tokens=tokens)


def planting(work: Path, tokens: int | None = SMALL) -> list[Turn]:
    """Turns that plant every fact and end with a prompt of `tokens`; six long texts fill the dialogue."""
    doing = (
        view(work, "PLAN.md"),
        view(work, "limits.py"),
        view(work, "stock.txt"),
        edit(work, "prices.py", EDITED_BEFORE, EDITED_FACT),
        write(work, "colours.py", WRITTEN_FACT + "\n" + lines("# colour", 10_000)),
        run(work, COMMAND),
        say(REMARK),
    )
    long = [Turn(f"Explain part {n}.", (say(f"Part {n}. " + lines(f"explained {n}", 5_000)),)) for n in range(1, 7)]
    return [Turn(REQUEST, doing), *long, Turn("Is all well?", (say("All is well.", tokens),))]


# -- the scenarios ---------------------------------------------------------------------
def between_turns(harness: Harness) -> str:
    """A compaction between two prompts that no tool follows; resumed without a state, and again with one more."""
    work = harness.work
    conversation = harness.talk(
        *planting(work, FULL), Turn("Go on.", (say("Going on."),)), Turn("And on.", (say("Still on."),))
    )
    harness.state(conversation).unlink(missing_ok=True)
    harness.talk(Turn("I am back.", (run(work, "true"), say("Welcome."))), conversation=conversation)
    harness.talk(
        Turn("Back again.", (say("Hello.", FULL),)),
        Turn("Go on.", (run(work, "true"), say("Going on."))),
        conversation=conversation,
    )
    return conversation


def mid_turn(harness: Harness) -> str:
    """A compaction between two calls of one turn."""
    work = harness.work
    steps = (run(work, "true", FULL), run(work, "true"), run(work, "true"), say("Worked through."))
    return harness.talk(*planting(work), Turn("Work through it.", steps), Turn("Go on.", (say("Going on."),)))


def two_in_a_row(harness: Harness) -> str:
    """Two compactions, each with calls after it, the second a few steps after the first."""
    work = harness.work
    first = (run(work, "true"), run(work, "true"), say("Once.", FULL))
    second = (run(work, "true"), run(work, "true"), say("Twice."))
    return harness.talk(*planting(work, FULL), Turn("Once more.", first), Turn("Twice more.", second))


def back_to_back(harness: Harness) -> str:
    """A second compaction at the very next call after the first: in the newer loop no call comes between them that a
    hook could reach."""
    work = harness.work
    steps = (run(work, "true", FULL), run(work, "true", FULL), run(work, "true"), run(work, "true"), say("Through."))
    return harness.talk(*planting(work), Turn("Work through it.", steps), Turn("Go on.", (say("Going on."),)))


def our_own_doing(harness: Harness) -> str:
    """Prompts of their real size, and a threshold that our first delivery exceeds by itself."""
    work = harness.work
    steps = tuple(run(work, f"echo {n}", None) for n in range(8))
    return harness.talk(
        *planting(work, FULL),
        Turn("Work on.", (*steps, say("Worked on.", None))),
        Turn("Go on.", (say("Going on.", None),)),
    )


SCENARIOS: dict[str, Callable[[Harness], str]] = {
    "between-turns": between_turns,
    "mid-turn": mid_turn,
    "two-in-a-row": two_in_a_row,
    "back-to-back": back_to_back,
    "our-own-doing": our_own_doing,
}
