"""What the hook costs: with nothing to do, through the front door over `true`, and in Python over the bare
interpreter started the same way; and a whole delivery.

    python benches/hook.py [--mb 100] [--runs 60]

Each answer is asserted before it is timed.  All runs of one table are interleaved, so that its ratios hold on a
machine whose speed drifts; the median is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from transcript import write_transcript

from rehydrate import launch

PACKAGE = Path(__file__).resolve().parent.parent / "python"
SESSION = "bench-0000"
CODE = f"import sys; sys.path.append({str(PACKAGE)!r}); from rehydrate.hook import main; main()"


def command(code: str) -> list[str]:
    return [sys.executable, *launch.FLAGS, "-c", code, "antigravity"]


HOOK = command(CODE)


def run(words: list[str], payload: bytes, environ: dict[str, str]) -> tuple[float, bytes]:
    began = time.perf_counter()
    done = subprocess.run(words, input=payload, capture_output=True, env=environ, check=True)
    return time.perf_counter() - began, done.stdout


def table(rows: dict[str, tuple[list[str], bytes, dict[str, str]]], runs: int) -> dict[str, float]:
    """Median seconds of each row, the rows run in turn."""
    times: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(runs):
        for name, row in rows.items():
            times[name].append(run(*row)[0])
    return {name: median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=100, help="size of the transcript in megabytes")
    parser.add_argument("--runs", type=int, default=60, help="runs of each no-op row")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), args.mb * 1_000_000, args.runs)


def measure(folder: Path, size: int, runs: int) -> None:
    logs = folder / "gemini" / "antigravity-cli" / "brain" / SESSION / ".system_generated" / "logs"
    logs.mkdir(parents=True)
    path = logs / "transcript_full.jsonl"
    write_transcript(path, size)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GEMINI_HOME": str(folder / "gemini")}
    pure = environ | {"REHYDRATE_PURE": "1"}
    payload = json.dumps({"conversationId": SESSION, "transcriptPath": str(path), "workspacePaths": []}).encode()
    for env in (environ, pure):
        assert run(HOOK, payload, env)[1] == b"{}", "first sight of a conversation delivers nothing"
    with open(path, "ab") as file:
        file.write(b'{"step_index":99999999,"source":"MODEL","type":"RUN_COMMAND","status":"DONE","content":"x"}\n')
    for env in (environ, pure):
        assert run(HOOK, payload, env)[1] == b"{}", "nothing happened"
    rows = {
        "bare": (command("pass"), b"", environ),
        "native": (HOOK, payload, environ),
        "pure": (HOOK, payload, pure),
        "true": (["true"], payload, environ),
    }
    door = launch.front_door()
    if door is not None:
        assert run([door, "false"], payload, environ)[1] == b"{}", "the front door answers by itself"
        rows["door"] = ([door, *HOOK], payload, environ)
    medians = table(rows, runs)
    bare = medians["bare"]
    print(f"{path.stat().st_size / 1e6:.0f} MB transcript, Python {sys.version.split()[0]}, {runs} runs, medians")
    print(f"  bare interpreter (-I -S -X utf8)   {bare * 1e3:6.1f} ms")
    for name in ("native", "pure"):
        over = medians[name] - bare
        print(f"  nothing to do, {name:<8}            {medians[name] * 1e3:6.1f} ms  (+{over * 1e3:.1f})")
    print(f"  true                               {medians['true'] * 1e3:6.1f} ms")
    if door is not None:
        over = medians["door"] - medians["true"]
        print(f"  nothing to do, front door          {medians['door'] * 1e3:6.1f} ms  (+{over * 1e3:.1f})")
    deliver(folder, path, payload, environ, pure)


def deliver(folder: Path, path: Path, payload: bytes, environ: dict[str, str], pure: dict[str, str]) -> None:
    state = path.with_name("rehydrate_state.json")
    before = state.read_bytes()
    write_transcript(path, path.stat().st_size, checkpoint=True)
    counted = subprocess.run(["wc", "-l", path], capture_output=True, check=True)
    assert int(counted.stdout.split()[0]) > 100
    began = time.perf_counter()
    subprocess.run(["wc", "-l", path], capture_output=True, check=True)
    wc = time.perf_counter() - began
    for name, env in (("native", environ), ("pure", pure)):
        times = []
        for _ in range(5):
            state.write_bytes(before)
            spent, stdout = run(HOOK, payload, env)
            steps = json.loads(stdout)["injectSteps"]
            assert "POST-COMPACT REHYDRATION v1" in steps[0]["systemMessage"]["systemMessage"]
            times.append(spent)
        print(
            f"  whole delivery, {name:<8}           {median(times) * 1e3:6.0f} ms  ({median(times) / wc:.0f} x wc -l)"
        )


if __name__ == "__main__":
    main()
