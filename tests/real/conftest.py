"""Scenarios of `tests.rig`, each played once a session; skipped with a reason where that cannot be done."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.rig import network
from tests.rig.claude import cli, evidence, scenarios
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


@pytest.fixture(scope="session")
def claude_cli():
    """The Claude Code CLI."""
    reason = network.why_not()
    if reason:
        pytest.skip(reason)
    try:
        return cli.fetched(ROOT)
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def play_claude(request, claude_cli, tmp_path_factory):
    """`play_claude(scenario, hook)`: the scenario, played by the Claude Code CLI with a hook registered.

    The first test that asks for one starts them all, two at a time: the CLI spends half its time waiting.
    """
    folder = tmp_path_factory.mktemp("claude")

    def play(scenario, hook):
        place = folder / f"{scenario}-{hook}"
        command = ["-m", "tests.rig.claude", scenario, "--hook", hook, "--cli", str(claude_cli), str(place)]
        ran = subprocess.run(
            [*network.prefix(), sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return evidence.Played(place, json.loads((place / "played.json").read_text()))

    wanted = dict.fromkeys(
        item.callspec.params["played"] for item in request.session.items if "play_claude" in item.fixturenames
    )
    if shutil.which("tmux") is None:
        wanted = {pair: None for pair in wanted if pair[0] not in scenarios.ON_A_SCREEN}
    with ThreadPoolExecutor(2) as pool:
        started = {pair: pool.submit(play, *pair) for pair in wanted}

        def played(scenario, hook):
            if (scenario, hook) not in started:
                pytest.skip("a screen needs tmux")
            return started[scenario, hook].result()

        yield played
        pool.shutdown(cancel_futures=True)
