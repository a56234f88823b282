"""Plays one scenario: `unshare -n python -m tests.rig SCENARIO --loop older|newer --python PYTHON FOLDER`.

PYTHON has `google-antigravity`; FOLDER must not exist.  FOLDER/played.json says what is to be known about the run.
"""

import argparse
import json
from pathlib import Path

from .network import require_private
from .scenarios import SCENARIOS, play


def main() -> None:
    """Plays the scenario that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--loop", choices=("older", "newer"), required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    require_private()
    played = play(given.scenario, loop=given.loop, folder=given.folder, python=given.python)
    (given.folder / "played.json").write_text(json.dumps(played, indent=1))


if __name__ == "__main__":
    main()
