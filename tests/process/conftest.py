"""The two ways in which the hook is started: every test that asks for `door` runs through each."""

import os

import pytest

from rehydrate import launch

from . import home

DOORS = ["python", "front"] if os.environ.get("REHYDRATE_PURE") != "1" else ["python"]
"""On the pure twin the front door does nothing but to start Python, as a test of its own says."""


@pytest.fixture(params=DOORS)
def door(request, monkeypatch):
    if request.param == "front":
        program = launch.front_door()
        if program is None:
            pytest.skip("the front door is not installed here")
        monkeypatch.setattr(home, "BEFORE", [program])
