"""What the hook costs as the host runs it, a whole process: with nothing to do, over what it is started with; and a
whole delivery.  And what importing the scanner costs.

Each answer is asserted before it is timed.  All runs of one table are taken in turn; wall clock, the shortest.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benches.measure import MB, PACKAGE, ROOT, Section, Spent, build, lapse, run, section
from benches.transcript import SESSION, write_entries, write_transcript
from rehydrate.launch import FLAGS

HOOK = f"import sys; sys.path.append({str(PACKAGE)!r}); from rehydrate.hook import main; main()"
DOOR = "rehydrate-hook"
"""The native front door."""
IMPORT = f"""
import sys, time
sys.path.append({str(PACKAGE)!r})
before = set(sys.modules)
began = time.perf_counter()
import rehydrate.scan
spent = time.perf_counter() - began
print(spent, *sorted(name for name in set(sys.modules) - before if name.split(".")[0] != "rehydrate"))
"""
ONE_MORE = b'{"step_index":99999999,"source":"MODEL","type":"RUN_COMMAND","status":"DONE","content":"x"}\n'

Row = tuple[list[str], bytes, dict[str, str]]
"""A command, what it is given, its environment."""


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, *FLAGS, "-c", code, *words]


def has_door() -> bool:
    """Whether the front door can be built here."""
    return (ROOT / "rust" / "src" / "bin" / f"{DOOR}.rs").exists() and shutil.which("cargo") is not None


class Bench:
    """A home with a conversation of each client, where nothing has happened yet."""

    def __init__(self, folder: Path, size: int, *, client: str = "antigravity") -> None:
        self.folder = folder
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GEMINI_HOME": str(folder / "gemini"),
                        "REHYDRATE_DEADLINE_S": "60"}  # fmt: skip  # however slow the machine: the work is measured
        if client == "antigravity":
            logs = folder / "gemini" / "antigravity-cli" / "brain" / SESSION / ".system_generated" / "logs"
            self.path = logs / "transcript_full.jsonl"
            said = {"conversationId": SESSION, "transcriptPath": str(self.path), "workspacePaths": []}
            write = write_transcript
        else:
            self.path = folder / ".claude" / "projects" / "-srv-project" / f"{SESSION}.jsonl"
            said = {"session_id": SESSION, "transcript_path": str(self.path), "cwd": "/srv/project",
                    "hook_event_name": "SessionStart", "source": "compact"}  # fmt: skip
            write = write_entries
        self.path.parent.mkdir(parents=True)
        write(self.path, size)
        self.payload = json.dumps(said).encode()
        self.hook = python(HOOK, client)

    @property
    def pure(self) -> dict[str, str]:
        return {**self.environ, "REHYDRATE_PURE": "1"}

    def run(self, argv: list[str], environ: Mapping[str, str], given: bytes = b"") -> Spent:
        return run(argv, given=given or self.payload, environ=environ, folder=self.folder)

    def table(self, rows: dict[str, Row], runs: int) -> dict[str, Spent]:
        """The shortest run of each row, and the least CPU time."""
        spent: dict[str, list[Spent]] = {name: [] for name in rows}
        for _ in range(runs):
            for name, (argv, given, environ) in rows.items():
                spent[name].append(self.run(argv, environ, given))
        return {
            name: Spent(min(s.wall_s for s in each), min(s.cpu_s for s in each), each[0].peak_bytes, each[0].output)
            for name, each in spent.items()
        }


def quiet(bench: Bench) -> None:
    """Let the hook see the conversation once, and then one new step."""
    for environ in (bench.environ, bench.pure):
        assert bench.run(bench.hook, environ).output == b"{}", "first sight of a conversation delivers nothing"
    with open(bench.path, "ab") as file:
        file.write(ONE_MORE)
    for environ in (bench.environ, bench.pure):
        assert bench.run(bench.hook, environ).output == b"{}", "nothing happened"


def no_op(report: Section, folder: Path, size: int, runs: int) -> None:
    bench = Bench(folder, size)
    quiet(bench)
    true = shutil.which("true") or "/bin/true"
    rows: dict[str, Row] = {
        "`/bin/true`": ([true], b"", bench.environ),
        "bare interpreter (`-I -S -X utf8 -c pass`)": (python("pass"), b"", bench.environ),
        "nothing to do, native": (bench.hook, bench.payload, bench.environ),
        "nothing to do, pure": (bench.hook, bench.payload, bench.pure),
    }
    door = "nothing to do, front door"
    if has_door():
        rows[door] = ([build("--bin", DOOR), *bench.hook], bench.payload, bench.environ)
        door_alone = [rows[door][0][0], "false"]
        assert bench.run(door_alone, bench.environ).output == b"{}", "the front door answers by itself"
    else:
        print(f"{door}: not here")
    spent = bench.table(rows, runs)
    shown(report, f"A call with nothing to do, {size / MB:,.0f} MB transcript, one new step", spent)
    bare, true_s = (list(spent.values())[at].wall_s for at in (1, 0))
    report.reach("hook", (spent["nothing to do, native"].wall_s - bare) * 1e3)
    report.reach("hook-pure", (spent["nothing to do, pure"].wall_s - bare) * 1e3)
    if door in spent:
        report.reach("door", (spent[door].wall_s - true_s) * 1e3)


def delivery(report: Section, folder: Path, client: str, size: int, runs: int) -> None:
    """At a boundary: from the start of the process to its end, nothing remembered."""
    bench = Bench(folder, size, client=client)
    state = bench.path.with_name("rehydrate_state.json")
    before = None
    if client == "antigravity":
        quiet(bench)
        before = state.read_bytes()
        write_transcript(bench.path, size, checkpoint=True)
    spent: dict[str, list[Spent]] = {"native": [], "pure": []}
    for _ in range(runs):
        for name, environ in (("native", bench.environ), ("pure", bench.pure)):
            if before is not None:
                state.write_bytes(before)
            shutil.rmtree(bench.path.with_suffix(""), ignore_errors=True)
            spent[name].append(bench.run(bench.hook, environ))
            assert b"POST-COMPACT REHYDRATION v1" in spent[name][-1].output[:400], spent[name][-1].output[:400]
    fastest = {name: min(each) for name, each in spent.items()}
    shown(report, f"A whole delivery, {client}, {size / MB:,.0f} MB", fastest)
    report.reach("boundary", fastest["native"].wall_s * 1e3, of=f"{client}, {size / MB:,.0f} MB")


def importing(report: Section, folder: Path, runs: int) -> None:
    """Measured inside, with the modules that come with it."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    argv = [sys.executable, "-I", "-X", "utf8", "-c", IMPORT]
    said = [run(argv, environ=environ, folder=folder).output.decode().split() for _ in range(runs)]
    seconds, modules = min(float(words[0]) for words in said), said[0][1:]
    rows = [(lapse(seconds), ", ".join(modules) or "none")]
    report.table("`import rehydrate.scan`, native", ("time", "standard library beyond `site`'s"), rows)
    report.reach("import", seconds * 1e3)
    report.reach("import-modules", len(modules))


def shown(report: Section, title: str, spent: Mapping[str, Spent]) -> None:
    rows = [(name, lapse(each.wall_s), lapse(each.cpu_s)) for name, each in spent.items()]
    report.table(title, ("", "wall", "CPU"), rows)


def main() -> None:
    report = section("hook", "The hook, whole processes", __doc__)
    size, runs = (10, 10) if report.quick else (100, 60)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        no_op(report, folder / "no-op", size * MB, runs)
        delivery(report, folder / "antigravity", "antigravity", 10 * MB, runs // 6)
        delivery(report, folder / "claude", "claude-code", 10 * MB, runs // 6)
        importing(report, folder, runs)
    report.keep()


if __name__ == "__main__":
    main()
