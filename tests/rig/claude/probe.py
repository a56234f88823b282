"""A hook that only looks: `python3 probe.py FOLDER`; stands alone, so that any Python can run it.

Each call leaves FOLDER/NNN.json: {payload, transcript: the bytes of the transcript at that moment as text, or null}.
At a SessionStart(compact) it answers with TEXT, which is short enough to arrive whole.
"""

import json
import os
import sys
from pathlib import Path

TEXT = "\n".join(["PROBE-BEGINS", *(f"probe line {number:03d} " + "x" * 60 for number in range(110)), "PROBE-ENDS"])


def main() -> None:
    """Keeps what the CLI said, and answers."""
    folder = Path(sys.argv[1])
    payload = json.loads(sys.stdin.read())
    try:
        transcript = Path(payload["transcript_path"]).read_text()
    except OSError:
        transcript = None
    seen = json.dumps({"payload": payload, "transcript": transcript})
    for number in range(1, 1000):
        try:
            handle = os.open(folder / f"{number:03d}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            continue
        with os.fdopen(handle, "w") as file:
            file.write(seen)
        break
    if payload["hook_event_name"] == "SessionStart" and payload["source"] == "compact":
        print(json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": TEXT}}))


if __name__ == "__main__":
    main()
