"""Fixtures for all tests."""

from importlib import import_module

import pytest

from tests.helpers import needs_native


@pytest.fixture(params=[pytest.param("_pure", id="pure"), pytest.param("_rust", id="native", marks=needs_native)])
def impl(request):
    """The scanner: the same tests run on both implementations."""
    return import_module(f"rehydrate.scan.{request.param}")
