"""Plays one scenario: `unshare -n python -m tests.rig.claude SCENARIO --hook HOOK --cli CLI FOLDER`.

FOLDER must not exist.  FOLDER/played.json says what is to be known about the run.
"""

import argparse
import json
from pathlib import Path

from tests.rig.network import require_private

from .hooks import HOOKS
from .scenarios import SCENARIOS, play


def main() -> None:
    """Plays the scenario that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--hook", choices=HOOKS, required=True)
    parser.add_argument("--cli", type=Path, required=True)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    require_private()
    played = play(given.scenario, hook=given.hook, folder=given.folder, cli=given.cli.absolute())
    (given.folder / "played.json").write_text(json.dumps(played, indent=1))


if __name__ == "__main__":
    main()
