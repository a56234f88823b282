"""How many instructions the kernels and a call of the hook with nothing to do take, held against what was recorded.

    python -m benches.counts [--record]

A count does not depend on what else the machine does.  It does depend on the compiler, on the processor and, for the
hook, on the build of the interpreter, so a record is for one of each: where `counts.json` has none, or valgrind or
cargo are not here, that is said and nothing is compared.  Each count is a difference of two runs that differ in nothing
else, so what comes before and after does not count.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from benches.hook import DOOR, HOOK, Bench, has_door, quiet
from benches.measure import MB, PACKAGE, build
from benches.transcript import write_transcript

RECORDED = Path(__file__).with_name("counts.json")
SLACK = 0.03
KERNELS = ("lines", "whole objects", "walk", "scan_tail", "iter_steps", "probe")
INPUT = "crc of the transcript"
FLAGS = ("-s", "-S", "-X", "utf8")
"""As the hook is started, but for `-I`: an isolated interpreter would not take the seed of its hashes from us."""

Counts = dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.counts", description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write the counts into counts.json instead of comparing")
    is_recording = parser.parse_args().record
    for program in ("valgrind", "cargo"):
        if not shutil.which(program):
            print(f"{program} is not here: no instructions were counted.")
            return
    counted = {kernels_key(): count_kernels(), hook_key(): count_hook()}
    if is_recording:
        record(counted)
        return
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    faults = [fault for key, counts in counted.items() for fault in compare(key, counts, recorded.get(key))]
    if faults:
        raise SystemExit("\n".join([*faults, "If that is meant to be so: `make counts-baseline`, and say why."]))


def compare(key: str, counts: Counts, recorded: "Counts | None") -> list[str]:
    """Print the counts beside what was recorded for this key; gives a sentence for each that is too high."""
    print(f"{key}:")
    faults = []
    if recorded is None:
        print("  nothing is recorded for this compiler and processor, so nothing is compared (`make counts-baseline`)")
    elif recorded.get(INPUT) != counts.get(INPUT):
        return [f"{key}: the transcript is another one than the counts were recorded with."]
    for name, count in counts.items():
        if name == INPUT:
            continue
        before = (recorded or {}).get(name)
        change = "" if not before else f"{(count - before) / before:+8.2%}"
        print(f"  {name:<24} {count:>14,} {change}")
        if before and count > before * (1 + SLACK):
            faults.append(f"{key}: {name} takes {count:,} instructions, {count / before - 1:.1%} more than recorded.")
    return faults


def record(counted: Mapping[str, Counts]) -> None:
    kept = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    RECORDED.write_text(json.dumps({**kept, **counted}, indent=1, sort_keys=True) + "\n")
    print(f"recorded: {', '.join(counted)}")


def kernels_key() -> str:
    compiler = " ".join(subprocess.run(["rustc", "-V"], capture_output=True, text=True, check=True).stdout.split()[:2])
    return f"kernels: {compiler}, {processor()}"


def hook_key() -> str:
    return f"hook: {kernels_key().removeprefix('kernels: ')}, Python {' '.join(sys.version.split())}"


def processor() -> str:
    """The model of the processor: what memchr, crc32fast and the C library choose at run time they choose by that."""
    try:
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


# -- the kernels ------------------------------------------------------------------------------------------------------


def count_kernels() -> Counts:
    program = build("--bench", "counts")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "transcript_full.jsonl"
        write_transcript(path, MB, checkpoint=True)
        counts = {INPUT: zlib.crc32(path.read_bytes())}
        for name in KERNELS:
            once, thrice = (instructions([program, str(path), name, times], {}) for times in ("1", "3"))
            assert thrice > once, f"{name} takes no instructions"
            counts[name] = (thrice - once) // 2
        return counts


# -- the hook ---------------------------------------------------------------------------------------------------------


def count_hook() -> Counts:
    """Of a call with nothing to do what it takes over the bare interpreter; of the front door all."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), MB)
        quiet(bench)
        environ = {**bench.environ, "PYTHONHASHSEED": "0"}
        bare = interpreted("pass", environ)
        counts = {}
        if any((PACKAGE / "rehydrate").glob("_native*.so")):
            counts["nothing to do, native"] = interpreted(HOOK, environ, bench.payload) - bare
        else:
            print("The native module is not here: the hook was counted without it.")
        counts["nothing to do, pure"] = interpreted(HOOK, {**environ, "REHYDRATE_PURE": "1"}, bench.payload) - bare
        if has_door():
            door = build("--bin", DOOR)
            counts["nothing to do, front door"] = instructions([door, *bench.hook], bench.environ, bench.payload)
        return counts


def interpreted(code: str, environ: Mapping[str, str], given: bytes = b"") -> int:
    argv = [sys.executable, *FLAGS, "-c", code, "antigravity"]
    subprocess.run(argv, input=given, env=environ, stdout=subprocess.DEVNULL, check=True)  # what it imports is compiled
    return instructions(argv, environ, given)


# -- counting ---------------------------------------------------------------------------------------------------------


def instructions(argv: Sequence[str], environ: Mapping[str, str], given: bytes = b"") -> int:
    """How many a process executes; its addresses are the same each time, as valgrind chooses them."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv]
    environ = {"PATH": os.environ["PATH"], **environ}
    done = subprocess.run(command, input=given, env=environ, capture_output=True)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise SystemExit(f"valgrind did not count {argv[0]}: {done.stderr[-500:].decode(errors='replace')}")
    return int(found[1])


if __name__ == "__main__":
    main()
