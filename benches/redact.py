"""What masking finds, what it masks by mistake, and what it costs.

    python benches/redact.py [--lines 1000000] [--mb 10] [--alarms] [FOLDER ...]

Hits: planted secrets of every format in every context.  False alarms: lines that are masked in what this machine has of
other people's source (the standard library, installed packages, Rust crates, and the folders given; folders of tests
are left out, for they hold credentials made up to look real), and in made lines of code, hashes, ids, lock files and
blobs; --alarms prints each.  Cost: the CPU time of masking within a whole delivery in this process.
"""

import argparse
import os
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from made_secrets import innocent, planted
from planted import session
from transcript import write_transcript

from rehydrate.clients.antigravity import layout
from rehydrate.recall import text as recall_text
from rehydrate.redact import mask
from rehydrate.serve import serve
from rehydrate.settings import Settings

SUFFIXES = (".py", ".pyi", ".rs", ".go", ".js", ".mjs", ".cjs", ".ts", ".json", ".lock", ".toml", ".c", ".h", ".css",
            ".md", ".txt", ".sum", ".yml", ".html", ".sh")  # fmt: skip
HITS_PERCENT, ALARMS, COST_PERCENT = 98, 1, 5
"""What is asked for: hits, masked lines in 100,000, and the share of a delivery."""
RUNS = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000, help="lines of each folder, and made ones")
    parser.add_argument("--mb", type=int, default=10, help="size of the conversation in megabytes")
    parser.add_argument("--alarms", action="store_true", help="print each line that was masked by mistake")
    parser.add_argument("folders", nargs="*", type=Path, help="more source to look for false alarms in")
    args = parser.parse_args()
    hits()
    alarms(args.folders, most=args.lines, show=args.alarms)
    with tempfile.TemporaryDirectory() as folder:
        cost(Path(folder), args.mb * 1_000_000)


def hits() -> None:
    total: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for vendor, text, core in planted(1, 3):
        assert core in text
        total[vendor] += 1
        missed[vendor] += core in mask(text)
    share = 100 * (1 - missed.total() / total.total())
    print(f"hits: {share:.2f} % of {total.total():,} planted secrets of {len(total)} vendors (asked: {HITS_PERCENT} %)")
    for vendor, count in missed.items():
        if count:
            print(f"  missed {count} of {total[vendor]}: {vendor}")


def alarms(folders: list[Path], *, most: int, show: bool) -> None:
    crates = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    sources: dict[str, Iterator[str]] = {
        "standard library": _texts(Path(sysconfig.get_path("stdlib"))),
        "installed packages": _texts(Path(sysconfig.get_path("purelib"))),
        "Rust crates": _texts(crates),
        **{str(folder): _texts(folder) for folder in folders},
        "made": iter(["\n".join(innocent(1, most)) + "\n"]),
    }
    lines = found = 0
    print(f"\n{'masked lines':24}{'lines':>12}{'masked':>10}{'in 100,000':>12}")
    for name, texts in sources.items():
        seen = 0
        masked: list[tuple[str, str]] = []
        for text in texts:
            seen += text.count("\n")
            after = mask(text)
            if after != text:
                masked += _changed(text, after)
            if seen >= most:
                break
        lines, found = lines + seen, found + len(masked)
        if seen:
            print(f"{name:24}{seen:12,}{len(masked):10,}{len(masked) * 100_000 / seen:12.2f}")
        for before, after in masked if show else ():
            print(f"    {before.strip()[:110]}\n    {after.strip()[:110]}")
    print(f"{'all':24}{lines:12,}{found:10,}{found * 100_000 / lines:12.2f}  (asked: {ALARMS})")


def _texts(folder: Path) -> Iterator[str]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "site-packages" and "test" not in name.lower())
        for name in sorted(files):
            if name.endswith(SUFFIXES) and "test" not in name.lower():
                try:
                    yield Path(at, name).read_text(encoding="utf-8")
                except (OSError, ValueError):
                    continue


def _changed(text: str, masked: str) -> list[tuple[str, str]]:
    before, after = text.split("\n"), masked.split("\n")
    if len(before) != len(after):
        return [("(a block of lines)", "")]
    return [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]


def cost(folder: Path, size: int) -> None:
    """The conversation has the texts of a coding session: prose, code and results."""
    made = session(seed=1, rounds=60)
    words = [each.request for each in made.rounds]
    words += [call.result for each in made.rounds for _, calls in each.said for call in calls]
    logs = folder / "brain" / "bench-0000" / ".system_generated" / "logs"
    logs.mkdir(parents=True)
    path = logs / "transcript_full.jsonl"
    write_transcript(path, size, checkpoint=True, filler="\n".join(words))
    place = layout.place_of(str(path))
    spent = [0.0, 0]
    whole: list[tuple[float, float]] = []

    def timed(text: str) -> str:
        began = time.process_time()
        masked = mask(text)
        spent[0] += time.process_time() - began
        spent[1] += len(text)
        return masked

    usual: Callable[[str], str] = recall_text.mask
    recall_text.mask = timed
    try:
        for _ in range(RUNS):
            spent[:] = [0.0, 0]
            began = time.process_time()
            served = serve("antigravity", place, settings=Settings())
            whole.append((time.process_time() - began, spent[0]))
            assert served.rehydration.stats["user_msgs"] > 0
    finally:
        recall_text.mask = usual
    total, masking = median(each for each, _ in whole), median(each for _, each in whole)
    print(
        f"\ncost: {masking * 1e3:.1f} ms of a delivery's {total * 1e3:.1f} ms, {100 * masking / total:.1f} % "
        f"(asked: {COST_PERCENT} %); {spent[1]:,} characters were masked, {size / 1e6:.0f} MB read"
    )


if __name__ == "__main__":
    sys.exit(main())
