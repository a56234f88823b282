"""Each client's conversation, for the faults that both have to live with."""

import pytest

from .worlds import WORLDS, Antigravity, ClaudeCode


@pytest.fixture(params=WORLDS, ids=lambda world: world.name)
def world(request, tmp_path):
    return request.param(tmp_path)


@pytest.fixture
def antigravity(tmp_path):
    return Antigravity(tmp_path)


@pytest.fixture
def claude(tmp_path):
    return ClaudeCode(tmp_path)
