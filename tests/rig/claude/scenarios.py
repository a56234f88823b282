"""The conversations: what is said, and where compactions, forks and interruptions come.

The facts are those of `tests.rig.scenarios`, planted first.  The model's reported prompt size decides where the CLI
compacts by itself, so an answer with FULL in it is followed by a compaction.  The last prompt of a scenario resumes, so
its first request shows what the CLI makes of the transcript before it.
"""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig.scenarios import (
    COMMAND,
    EDITED_BEFORE,
    EDITED_FACT,
    REMARK,
    REQUEST,
    WRITTEN_FACT,
    lines,
    write_workspace,
)

from .box import Box
from .drive import TOOLS, Driver, screen, wait_for
from .hooks import HOOKS
from .server import Answer

FULL = 90_000
"""A reported prompt size at which the CLI compacts before its next call of the model."""
TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
ATTEMPTS = 6
"""How often the CLI asks before it gives up."""
RIGHT_SIDE = "the walrus stays on the right"
HELPER = "Look at limits.py, please, and report."
HELPER_REPORT = "HELPER-REPORT: limits.py has one limit."


def play(scenario: str, *, hook: str, folder: Path, cli: Path) -> dict[str, Any]:
    """Plays a scenario in a throw-away home where `hook` is registered, and says what is to be known about it.

    Gives {sessions (name: path of the transcript), asked (see `Driver.asked`), unexpected (see `FakeModel`), left
    (answers never asked for)}.  The requests lie in FOLDER/requests, the home is FOLDER/home.
    """
    box = Box(folder)
    write_workspace(box.work)
    HOOKS[hook](box, cli)
    driver = Driver(cli, box)
    with box.model:
        sessions = SCENARIOS[scenario](driver)
    return {
        "sessions": {session: str(box.transcript(session)) for session in sessions},
        "asked": driver.asked,
        "unexpected": box.model.unexpected,
        "left": len(box.model.answers) + len(box.model.helper_answers),
    }


# -- what the model does -------------------------------------------------------------
def read(work: Path, name: str, tokens: int = 1_000) -> Answer:
    """Reads a file of the workspace."""
    return Answer(f"I look at {name}.", (("Read", {"file_path": str(work / name)}),), tokens=tokens)


def run(command: str, tokens: int = 1_000) -> Answer:
    """Runs a command in the workspace."""
    return Answer("I run a command.", (("Bash", {"command": command, "description": "a command"}),), tokens=tokens)


def edit(work: Path, name: str, before: str, after: str) -> Answer:
    """Replaces a text in a file that was read before."""
    call = {"file_path": str(work / name), "old_string": before, "new_string": after}
    return Answer(f"I edit {name}.", (("Edit", call),))


def write(work: Path, name: str, text: str) -> Answer:
    """Makes a file of the workspace."""
    return Answer(f"I write {name}.", (("Write", {"file_path": str(work / name), "content": text}),))


def plant(driver: Driver, tokens: int = 1_000) -> str:
    """A session that plants every fact and ends with a prompt of `tokens`; long texts fill it.  Gives its id."""
    work = driver.box.work
    session = driver.ask(
        REQUEST,
        read(work, "PLAN.md"),
        read(work, "limits.py"),
        read(work, "prices.py"),
        edit(work, "prices.py", EDITED_BEFORE, EDITED_FACT),
        write(work, "colours.py", WRITTEN_FACT + "\n" + lines("# colour", 10_000)),
        run(COMMAND),
        *(Answer(f"Part {n}. " + lines(f"explained {n}", 3_000), run("true").tools) for n in range(1, 10)),
        run("echo wrong >&2; exit 3"),
        Answer(REMARK, thinking="The margin was agreed."),
    )
    driver.ask("Is all well?", Answer("All is well.", tokens=tokens), resume=session)
    return session


WAITING = run("touch mark; sleep 20")


# -- without a compaction --------------------------------------------------------------
def plain(driver: Driver) -> list[str]:
    """Nothing but text, and a thought."""
    session = driver.ask("Say hello.", Answer("Hello.", thinking="They greet."))
    driver.ask("And again.", Answer("Hello again."), resume=session)
    return [session]


def tools(driver: Driver) -> list[str]:
    """Tools one after the other; one of them fails."""
    session = plant(driver)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def parallel(driver: Driver) -> list[str]:
    """Several tools in one answer, twice; one of them fails."""
    work = str(driver.box.work)
    calls = (
        ("Read", {"file_path": f"{work}/PLAN.md"}),
        ("Read", {"file_path": f"{work}/limits.py"}),
        ("Bash", {"command": "seq 1 50", "description": "count"}),
    )
    more = (("Bash", {"command": "echo one", "description": "one"}), ("Read", {"file_path": f"{work}/missing.txt"}))
    session = driver.ask(
        "Read them all.", Answer("All at once.", calls, thinking="At once."), Answer("", more), Answer("All read.")
    )
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def resume(driver: Driver) -> list[str]:
    """Resumed again and again, and by a fork; never compacted."""
    session = driver.ask("Say hello.", Answer("Hello."))
    driver.ask("More.", run("echo more"), Answer("That was more."), resume=session)
    fork = driver.ask("On the left.", Answer("Left."), resume=session, fork=True)
    driver.ask("On the right.", Answer("Right."), resume=session)
    driver.ask("Left again.", Answer("Left again."), resume=fork)
    return [session, fork]


def subagent(driver: Driver) -> list[str]:
    """A subagent that uses a tool; the conversation is compacted after it."""
    work = driver.box.work
    driver.box.model.helper_answers.extend([read(work, "limits.py"), Answer(HELPER_REPORT)])
    session = driver.ask(REQUEST, _help(), Answer("The helper is done."))
    driver.ask("/compact", resume=session)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def subagent_compacts(driver: Driver) -> list[str]:
    """A subagent whose own context is compacted."""
    work = driver.box.work
    answers = [read(work, "limits.py"), run("true", FULL), run("true"), Answer(HELPER_REPORT)]
    driver.box.model.helper_answers.extend(answers)
    session = driver.ask(REQUEST, _help(), Answer("The helper is done."))
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def _help() -> Answer:
    call = {"description": "a look", "subagent_type": "general-purpose", "prompt": HELPER, "run_in_background": False}
    return Answer("I ask a helper.", (("Agent", call),))


def large_result(driver: Driver) -> list[str]:
    """A tool that says more than the model is shown, beside one that does not."""
    calls = (*run("seq 1 40000").tools, *run("echo little").tools)
    session = driver.ask("Count.", Answer("I count.", calls), Answer("Counted."))
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def refused(driver: Driver) -> list[str]:
    """The model refuses a prompt, and the turn ends with the report of that."""
    session = driver.ask("Say hello.", Answer("Hello."))
    no = Answer("", refused="the rig does not like it")
    driver.ask("Work.", run("true"), *[no] * ATTEMPTS, resume=session)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def interrupted(driver: Driver) -> list[str]:
    """Stopped while the model speaks."""
    session = driver.ask("Say hello.", Answer("Hello."))
    driver.ask("Talk.", Answer("Words, words.", held=True), resume=session, stop=driver.box.model.holding.is_set)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def interrupted_tool(driver: Driver) -> list[str]:
    """Stopped while a tool runs, after another one in the same turn."""
    return _stopped(driver, signal.SIGINT)


def killed(driver: Driver) -> list[str]:
    """Killed while a tool runs: its call stands in the transcript and is never answered."""
    return _stopped(driver, signal.SIGKILL)


def killed_waiting(driver: Driver) -> list[str]:
    """Killed before the model said anything that was kept."""
    session = driver.ask("Say hello.", Answer("Hello."))
    transcript = driver.box.transcript(session)

    def waits() -> bool:
        return driver.box.model.holding.is_set() and b"Anybody there?" in transcript.read_bytes()

    held = Answer("", thinking="Hm.", held=True)
    driver.ask("Anybody there?", held, resume=session, stop=waits, signal_number=signal.SIGKILL)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def killed_parallel(driver: Driver) -> list[str]:
    """Killed while the second of two tools in one answer runs."""
    calls = (*run("echo first").tools, *WAITING.tools)
    return _stopped(driver, signal.SIGKILL, Answer("Both at once.", calls))


def _stopped(driver: Driver, number: int, *answers: Answer) -> list[str]:
    session = driver.ask("Say hello.", run("echo hello"), Answer("Hello."))
    transcript = driver.box.transcript(session)

    def runs() -> bool:
        return (driver.box.work / "mark").exists() and b"touch mark" in transcript.read_bytes()

    driver.ask("Wait.", *(answers or (run("echo first"), WAITING)), resume=session, stop=runs, signal_number=number)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


# -- with a compaction ---------------------------------------------------------------------
def manual_compact(driver: Driver) -> list[str]:
    """`/compact`, then two prompts that resume."""
    session = plant(driver)
    driver.ask("/compact keep the file names", resume=session)
    driver.ask("Go on.", run("true"), Answer("Going on."), resume=session)
    driver.ask("And on.", Answer("Still on."), resume=session)
    return [session]


def auto_compact(driver: Driver) -> list[str]:
    """The CLI compacts by itself at a prompt."""
    session = plant(driver, FULL)
    driver.ask("Go on.", run("true"), Answer("Going on."), resume=session)
    driver.ask("And on.", Answer("Still on."), resume=session)
    return [session]


def mid_turn(driver: Driver) -> list[str]:
    """The CLI compacts by itself between two calls of one turn."""
    session = plant(driver)
    driver.ask("Work.", run("true"), run("true", FULL), run("true"), Answer("Worked through."), resume=session)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def too_long(driver: Driver) -> list[str]:
    """The model refuses a prompt as too long, and the CLI compacts then."""
    session = plant(driver)
    driver.ask("Work.", run("true"), Answer("", refused=TOO_LONG), run("true"), Answer("Worked."), resume=session)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def two_in_a_row(driver: Driver) -> list[str]:
    """Two compactions with one prompt between them, one by hand and one by itself."""
    session = plant(driver)
    driver.ask("/compact", resume=session)
    driver.ask("Once more.", run("true"), Answer("Once.", tokens=FULL), resume=session)
    driver.ask("Twice more.", run("true"), Answer("Twice."), resume=session)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    return [session]


def fork(driver: Driver) -> list[str]:
    """A fork after a compaction; both go on, and the fork is compacted again."""
    session = plant(driver)
    driver.ask("/compact", resume=session)
    driver.ask("After it.", run("echo after"), Answer("After."), resume=session)
    forked = driver.ask("On the left.", Answer("Left."), resume=session, fork=True)
    driver.ask(f"On the right: {RIGHT_SIDE}.", Answer("Right."), resume=session)
    driver.ask("/compact", resume=forked)
    driver.ask("Left again.", Answer("Left again."), resume=forked)
    return [session, forked]


def interactive(driver: Driver) -> list[str]:
    """On a screen: tools, `/compact`, a prompt after it, and Escape; resumed in print mode."""
    box = driver.box
    session = plant(driver)
    with screen(
        driver.cli, box, "--resume", session, "--permission-mode", "acceptEdits", "--allowedTools", TOOLS
    ) as shown:
        shown.say("Hello to you.", run("echo hello"), Answer("Hello from the screen."))
        shown.wait("Hello from the screen.")
        shown.say("/compact keep the file names")
        shown.wait("Compacted")
        shown.say("Go on now.", run("true"), Answer("Going on, on the screen."))
        shown.wait("Going on, on the screen.")
        shown.say("Talk to me.", Answer("Words, words.\n\nMore words.", held=True))
        wait_for(box.model.holding.is_set, "the model's words")
        shown.wait("Words, words.")
        shown.press("Escape")
        shown.wait("Interrupted")
    driver.ask("And on.", Answer("Still on."), resume=session)
    return [session]


def branch(driver: Driver) -> list[str]:
    """On a screen: `/branch` after a compaction; the branch goes on in print mode, and the source too."""
    session = plant(driver)
    driver.ask("/compact", resume=session)
    driver.ask("After it.", run("echo after"), Answer("After."), resume=session)
    with screen(driver.cli, driver.box, "--resume", session) as shown:
        shown.say("/branch")
        shown.wait("ranched")
        shown.say("On the left.", Answer("Left is where we are."))
        shown.wait("Left is where we are.")
    folder = driver.box.transcript(session).parent
    (branched,) = (path.stem for path in folder.glob("*.jsonl") if path.stem != session)
    driver.ask("Left again.", Answer("Left again."), resume=branched)
    driver.ask("On the right.", Answer("Right."), resume=session)
    return [session, branched]


def private_file(driver: Driver) -> list[str]:
    """The model reads the file that our hook named after a compaction, while it may do nothing that has to be asked
    for: in print mode, and on a screen."""
    box = driver.box
    session = plant(driver)
    driver.ask("/compact", resume=session)
    driver.ask("Go on.", Answer("Going on."), resume=session)
    (named,) = box.named_files()
    reading = Answer("", (("Read", {"file_path": named}),))
    driver.ask("Read it.", reading, Answer("I have read it."), resume=session, allowed="")
    with screen(driver.cli, box, "--resume", session) as shown:
        shown.say("Read it again.", reading, Answer("I have read it again."))
        shown.wait("I have read it again.")
    driver.ask("And on.", Answer("Still on."), resume=session)
    return [session]


SCENARIOS: dict[str, Callable[[Driver], list[str]]] = {
    "plain": plain,
    "tools": tools,
    "parallel": parallel,
    "resume": resume,
    "subagent": subagent,
    "subagent-compacts": subagent_compacts,
    "large-result": large_result,
    "refused": refused,
    "interrupted": interrupted,
    "interrupted-tool": interrupted_tool,
    "killed": killed,
    "killed-waiting": killed_waiting,
    "killed-parallel": killed_parallel,
    "manual-compact": manual_compact,
    "auto-compact": auto_compact,
    "mid-turn": mid_turn,
    "too-long": too_long,
    "two-in-a-row": two_in_a_row,
    "fork": fork,
    "interactive": interactive,
    "branch": branch,
    "private-file": private_file,
}
ON_A_SCREEN = ("interactive", "branch", "private-file")
"""Those that need tmux."""
