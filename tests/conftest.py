"""Fixtures for all tests."""

from importlib import import_module
from pathlib import Path

import hypothesis
import pytest

from tests.helpers import needs_native

hypothesis.settings.register_profile("untimed", deadline=None)  # no test depends on how busy the machine is
hypothesis.settings.load_profile("untimed")

TESTS = Path(__file__).parent
TOGETHER = ("build", "dist", "real")
"""Folders whose tests share what is slow to make or to fetch: one process runs all of each."""


def pytest_collection_modifyitems(config, items):
    """With several processes each file is run by one of them, as its fixtures are made for all of it."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            folder, *rest = item.path.relative_to(TESTS).parts
            group = folder if folder in TOGETHER else "/".join([folder, *rest])
            item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(params=[pytest.param("_pure", id="pure"), pytest.param("_rust", id="native", marks=needs_native)])
def impl(request):
    """The scanner: the same tests run on both implementations."""
    return import_module(f"rehydrate.scan.{request.param}")
