"""Writes the pages that are made from the code: `commands.md` from the commands, `scan.md`, `session-reference.md` and
`context-reference.md` from the docstrings.

Promises: the same source gives the same bytes, whatever the terminal, the version of click and the native module are.
`--check` writes nothing and fails when a page is not what it would be.
"""

import argparse
import sys
from pathlib import Path

from docs.command_pages import commands_page
from docs.library_pages import context_page, scan_page, session_page

DOCS = Path(__file__).resolve().parent


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Write the pages that are made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is stale")
    check = parser.parse_args().check
    stale = {path: text for path, text in pages().items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        if check:
            print(f"{path} is stale: run `python -m docs.generate`", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
    return 1 if check and stale else 0


def pages() -> dict[Path, str]:
    """File and text of each page."""
    made = {
        "commands.md": commands_page(),
        "scan.md": scan_page(),
        "session-reference.md": session_page(),
        "context-reference.md": context_page(),
    }
    return {DOCS / name: text for name, text in made.items()}


if __name__ == "__main__":
    sys.exit(main())
