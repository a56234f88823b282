"""Scenarios of `tests.rig`, each played once a session; skipped with a reason where that cannot be done."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import network
from tests.rig.evidence import Played
from tests.rig.venv import Unavailable, python_with_harness

ROOT = Path(__file__).parents[2]
LIMIT_S = 120


@pytest.fixture(scope="session")
def harness_python():
    """An interpreter that has the vendor's harness."""
    reason = network.why_not()
    if reason:
        pytest.skip(reason)
    try:
        return python_with_harness(ROOT)
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def play(harness_python, tmp_path_factory):
    """`play(scenario, loop)`: the scenario, played with our hook installed."""
    done = {}

    def play(scenario, loop):
        if (scenario, loop) not in done:
            folder = tmp_path_factory.mktemp("real") / f"{scenario}-{loop}"
            command = ["-m", "tests.rig", scenario, "--loop", loop, "--python", str(harness_python), str(folder)]
            ran = subprocess.run(
                [*network.prefix(), sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            done[scenario, loop] = Played(folder, loop, json.loads((folder / "played.json").read_text()))
        return done[scenario, loop]

    return play
