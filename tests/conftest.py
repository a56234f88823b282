"""Fixtures for all tests."""

from importlib import import_module

import hypothesis
import pytest

from tests.helpers import needs_native

hypothesis.settings.register_profile("untimed", deadline=None)  # no test depends on how busy the machine is
hypothesis.settings.load_profile("untimed")


@pytest.fixture(params=[pytest.param("_pure", id="pure"), pytest.param("_rust", id="native", marks=needs_native)])
def impl(request):
    """The scanner: the same tests run on both implementations."""
    return import_module(f"rehydrate.scan.{request.param}")
