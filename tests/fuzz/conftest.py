"""The processes that the hook is run in."""

import os

import pytest

from .hooks import both

if not hasattr(os, "fork"):
    collect_ignore_glob = ["test_hook*.py"]  # they run in forks


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """A process of each implementation."""
    with both(tmp_path_factory.mktemp("exchange")) as made:
        yield made
