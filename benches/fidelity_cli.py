"""How much of a session the model sees again after a compaction by the real Claude Code CLI: planted facts, by family
and age.

    python benches/fidelity_cli.py [--seed 1] [--values 3] [--hook none|ours|both]

A made-up session of 60 requests is played by the CLI against a fake model, without a network; it is compacted after 40
of them and after all, with a summary that keeps nothing.  Counted is what stands verbatim in the first call of the
model after each compaction, whoever put it there: our hook, or the CLI, which keeps the last words and some files.
"""

import argparse
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import planted

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.rig import network  # noqa: E402
from tests.rig.claude import cli, evidence  # noqa: E402
from tests.rig.claude.box import Box  # noqa: E402
from tests.rig.claude.drive import Driver  # noqa: E402
from tests.rig.claude.server import Answer, FakeModel  # noqa: E402
from tests.rig.product import run_rehydrate  # noqa: E402

FIRST = 40
"""After so many requests the session is compacted, and again at its end."""
PROGRAMS = ("pytest", "make", "git", "python", "ls")
_PROGRAM = """#!{python} -IS
import sys, zlib
words = " ".join([sys.argv[0].rpartition("/")[2], *sys.argv[1:]])
try:
    sys.stdout.write(open("{results}/" + str(zlib.crc32(words.encode()))).read())
except OSError:
    sys.exit(1)
"""


def main() -> None:
    """Plays the session in a private network, or (there) the part of it that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=1, help="facts planted for each request")
    parser.add_argument("--values", type=int, default=3)
    parser.add_argument("--hook", choices=("none", "ours", "both"), default="both")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        network.require_private()
        play(given.inside, given)
        return
    reason = network.why_not()
    if reason:
        sys.exit(reason)
    try:
        cli.fetched(ROOT)
    except cli.Unavailable as error:
        sys.exit(str(error))
    for hook in ("none", "ours") if given.hook == "both" else (given.hook,):
        with tempfile.TemporaryDirectory(prefix="fidelity-") as folder:
            words = ["--seed", str(given.seed), "--each", str(given.each), "--values", str(given.values)]
            words += ["--hook", hook, "--inside", folder]
            subprocess.run([*network.prefix(), sys.executable, __file__, *words], check=True)


def play(folder: Path, given: argparse.Namespace) -> None:
    """The session with one hook, and its two tables."""
    box = Box(folder / "box")
    made = planted.session(seed=given.seed, each=given.each)
    stage = Stage(box)
    box.model = stage
    programs(box, stage.results)
    if given.hook == "ours":
        run_rehydrate("install", "claude-code", "--values", str(given.values), home=box.home)
    driver = Driver(cli.fetched(ROOT), box)
    session = None
    with stage:
        for number, each in enumerate(made.rounds, start=1):
            answers = list(stage.answers_of(each))
            session = driver.ask(stage.moved(each.request), *answers, resume=session)
            if number in (FIRST, len(made.rounds)):
                driver.ask("/compact", resume=session)
        stage.queued.append([])
        driver.ask("Go on.", Answer("Going on."), resume=session)
    assert not stage.unexpected and not stage.queued, "the CLI did not play the session as it is written"
    played = evidence.Played(box.folder, {"asked": driver.asked})
    for compaction, rounds in enumerate((FIRST, len(made.rounds))):
        first = played.after(compaction)[0]
        seen = "\n".join(first.texts)
        facts = [fact for fact in made.facts if made.planted_in[fact.text] < rounds]
        found = {fact for fact in facts if stage.moved(fact.text) in seen}
        added = sum(len(text) for text in first.injected)
        name = {"none": "no hook", "ours": f"our hook, {given.values} values"}[given.hook]
        print(f"\n{name}: first call after the compaction at request {rounds}, {added:,} characters of ours")
        table(facts, found)


def table(facts: list[planted.Fact], found: set[planted.Fact]) -> None:
    """The share that was found, by family and age."""
    print(f"{'':12}" + "".join(f"{age:>9}" for age in (*planted.AGES, "all")))
    for family in (*planted.FAMILIES, "all"):
        cells = []
        for age in (*planted.AGES, "all"):
            those = [fact for fact in facts if family in (fact.family, "all") and age in (fact.age, "all")]
            cells.append(f"{sum(fact in found for fact in those) / len(those):9.0%}" if those else f"{'':9}")
        print(f"{family:12}" + "".join(cells))


def programs(box: Box, results: Path) -> None:
    """Puts programs in the way that print what the session says they printed."""
    folder = box.folder / "programs"
    folder.mkdir()
    for name in PROGRAMS:
        file = folder / name
        file.write_text(_PROGRAM.format(python=sys.executable, results=results))
        file.chmod(0o755)
    environ = box.environ
    box.environ = lambda: environ() | {"PATH": f"{folder}:{environ()['PATH']}"}  # type: ignore[method-assign]


class Stage(FakeModel):
    """The fake model, which sets the stage before each of its answers: files to be read, and what programs say."""

    def __init__(self, box: Box) -> None:
        super().__init__(box.folder / "requests")
        self.work, self.results = box.work, box.folder / "results"
        self.results.mkdir()
        self.queued: list[list[tuple[Path, str]]] = []
        """For each answer that is left, the files to write before it."""

    def moved(self, text: str) -> str:
        """With the folder of this run in place of the session's."""
        return text.replace(planted.ROOT, str(self.work))

    def answer(self, body: dict[str, Any]) -> Answer:
        left = len(self.answers)
        found = super().answer(body)
        if len(self.answers) < left:
            for path, text in self.queued.pop(0):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return found

    def answers_of(self, each: planted.Round) -> Iterator[Answer]:
        """The answers to one request; a file is read before it is edited."""
        for text, calls in each.said:
            files: list[tuple[Path, str]] = []
            tools: list[tuple[str, dict[str, Any]]] = []
            taken: set[str] = set()
            for call in calls:
                given = {name: self.moved(value) for name, value in call.input.items()}
                if call.tool == "Bash":
                    files.append((self.results / str(zlib.crc32(given["command"].encode())), self.moved(call.result)))
                    tools.append(("Bash", given | {"description": "run"}))
                    continue
                if given["file_path"] in taken:  # the calls of one answer run at once
                    given["file_path"] = given["file_path"].replace(".py", "_too.py")
                taken.add(given["file_path"])
                path = Path(given["file_path"])
                if call.tool == "Edit":
                    given["old_string"] = "# before\n" + given["old_string"]
                    self.queued.append([(path, f"# begin\n{given['old_string']}# end\n")])
                    yield Answer("", (("Read", {"file_path": str(path)}),))
                else:
                    files.append((path, self.moved(call.result)))
                tools.append((call.tool, given))
            self.queued.append(files)
            yield Answer(self.moved(text), tuple(tools))


if __name__ == "__main__":
    main()
