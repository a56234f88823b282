"""Runs every section and joins what they found into RESULTS.md.

    python -m benches.results [--quick] [--again] [--join] [SECTION ...]
    python -m benches.results --readme

A section that was measured with the same sources is not measured again (`--again` does), so a run that was broken off
goes on where it stopped; `--join` measures nothing.  A section that fails is named in the results, and the others go
on.  `--readme` takes the README's table over from RESULTS.md.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benches.measure import KEPT, PACKAGE, ROOT, figure
from benches.targets import TARGETS

SECTIONS = ("scan", "growth", "tools", "tree", "rehydration", "lineage", "hook", "kernels", "session", "context_speed")
RESULTS = Path(__file__).with_name("RESULTS.md")
README = ROOT / "README.md"
OPEN, CLOSE = "<!-- measured -->", "<!-- /measured -->"
"""Around what the README takes over."""
LIBRARIES = ("orjson", "msgspec", "pysimdjson", "polars", "duckdb")
PROGRAMS = (("rg", "--version"), ("jq", "--version"), ("wc", "--version"), ("rustc", "--version"))

Kept = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.results", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="small files; the figures are not those that are asked for"
    )
    parser.add_argument("--again", action="store_true", help="measure anew what was measured before")
    parser.add_argument("--join", action="store_true", help="measure nothing, join what is there")
    parser.add_argument("--readme", action="store_true", help="measure nothing, write the README's table")
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; all if none is named"
    )
    args = parser.parse_args()
    wanted = tuple(args.sections) or SECTIONS
    if unknown := set(wanted) - set(SECTIONS):
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    if args.readme:
        README.write_text(taken_over(README.read_text(encoding="utf-8"), RESULTS.read_text(encoding="utf-8")))
        return
    source = digest()
    failed = []
    for name in () if args.join else wanted:
        before = kept(name)
        if not args.again and before and (before["source"], before["quick"]) == (source, args.quick):
            print(f"\n== {name}: measured before ({before['date']})", flush=True)
        elif not measured(name, source, quick=args.quick):
            failed.append(name)
    sections = [found for name in SECTIONS if name not in failed and (found := kept(name))]
    RESULTS.write_text(joined(sections, failed), encoding="utf-8")
    print(f"\n{RESULTS.relative_to(ROOT)} is written.")
    if failed:
        raise SystemExit(f"These sections failed: {', '.join(failed)}.")


def measured(name: str, source: str, *, quick: bool) -> bool:
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    environ = {**os.environ, "REHYDRATE_BENCH_SOURCE": source}
    environ.pop("REHYDRATE_PURE", None)  # each section measures both, or says which
    command = [sys.executable, "-m", f"benches.{name}", *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=ROOT, env=environ)
    print(f"== {name}: {time.perf_counter() - began:.0f} s", flush=True)
    return done.returncode == 0


def kept(name: str) -> "Kept | None":
    try:
        found: Kept = json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def digest() -> str:
    """Of all that decides what is measured."""
    found = hashlib.sha256()
    for folder in (PACKAGE / "rehydrate", ROOT / "rust", ROOT / "benches"):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".rs", ".so"):
                found.update(path.read_bytes())
    return found.hexdigest()[:16]


# -- the document -----------------------------------------------------------------------------------------------------


def joined(sections: list[Kept], failed: "list[str] | tuple[()]" = ()) -> str:
    """All of RESULTS.md."""
    quick = any(each["quick"] for each in sections)
    dates = sorted({each["date"] for each in sections}) or ["never"]
    parts = [
        "# Results\n",
        f"By `make bench`{' BENCH=quick' if quick else ''}, {' to '.join(dict.fromkeys((dates[0], dates[-1])))}. "
        "Wall clock, page cache warm, the shortest of some runs that were taken in turn; each answer was asserted "
        "before it was timed.\n",
        machine(),
    ]
    if quick:
        parts.append("**A quick run: the files are smaller than those that the figures are asked for.**\n")
    if failed:
        parts.append(f"**Not measured, as it failed: {', '.join(failed)}.**\n")
    parts.append(f"{OPEN}\n{reached(sections)}{CLOSE}\n")
    parts.append(f"Every figure that was held against these:\n\n{figures(sections)}")
    for each in sections:
        parts.append(f"## {each['title']}\n\n`python -m benches.{each['name']}{' --quick' if each['quick'] else ''}`\n")
        parts += [f"{table['title']}:\n\n{markdown(table['columns'], table['rows'])}" for table in each["tables"]]
    return "\n".join(parts)


def reached(sections: list[Kept]) -> str:
    """What was asked for, the worst that was measured, and why it is not reached where it is not."""
    rows, reasons = [], {}
    found = [row for each in sections for row in each["reached"]]
    for key, target in TARGETS.items():
        worst = max((row for row in found if row["key"] == key), key=lambda row: row["measured"], default=None)
        if worst is None:
            rows.append((target.path, target.figure, "not measured", ""))
            continue
        is_reached = worst["measured"] <= target.most
        if not is_reached:
            reasons[target.path] = target.reason or "not looked into yet"
        said = f"{figure(worst['measured'])} {target.unit}" + (f" ({worst['of']})" if worst["of"] else "")
        rows.append((target.path, target.figure, said, "yes" if is_reached else "**no**"))
    text = markdown(("path", "asked", "measured", "reached"), rows)
    if reasons:
        text += "\nNot reached:\n\n" + "".join(f"- {path}: {reason}.\n" for path, reason in reasons.items())
    return text


def figures(sections: list[Kept]) -> str:
    """All that was measured, one row each."""
    rows = [
        (TARGETS[row["key"]].path, row["of"], f"{figure(row['measured'])} {TARGETS[row['key']].unit}")
        for each in sections
        for row in each["reached"]
    ]
    return markdown(("path", "of", "measured"), rows)


def markdown(columns: "list[str] | tuple[str, ...]", rows: "list[Any]") -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    escaped = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def machine() -> str:
    """What was measured on, and with what."""
    try:
        said = Path("/proc/cpuinfo").read_text()
        name = re.search(r"model name\s*: (.+)", said)
        processor = name[1] if name else platform.machine()
    except OSError:
        processor = platform.processor() or platform.machine()
    versions = [f"Python {platform.python_version()}"]
    for library in LIBRARIES:
        try:
            versions.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            versions.append(f"{library} not here")
    for program, flag in PROGRAMS:
        if shutil.which(program):
            done = subprocess.run([program, flag], capture_output=True, text=True)
            first = (done.stdout or done.stderr).partition("\n")[0].strip()
            versions.append(first.partition(" (")[0] if program != "wc" else first)
        else:
            versions.append(f"{program} not here")
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    return f"- Machine: {os.cpu_count()} cores of {processor}, {system}\n- Versions: {', '.join(versions)}\n"


def taken_over(readme: str, results: str) -> str:
    """The README with what stands in the results; ValueError where one has no place for it, and for a quick run."""
    if "BENCH=quick" in results:
        raise ValueError("a quick run says nothing about the figures that the README claims")
    return readme.replace(f"{OPEN}{cut(readme)}{CLOSE}", f"{OPEN}{cut(results)}{CLOSE}")


def cut(text: str) -> str:
    """What stands between the marks; ValueError where they are not there."""
    _, opened, rest = text.partition(OPEN)
    inside, closed, _ = rest.partition(CLOSE)
    if not opened or not closed:
        raise ValueError(f"there is no {OPEN} ... {CLOSE}")
    return inside


if __name__ == "__main__":
    main()
