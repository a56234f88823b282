"""Fixtures for the tests of trees."""

from contextlib import ExitStack

import pytest

from rehydrate.entries.log import Log
from rehydrate.entries.scope import Scope
from tests.helpers import write_lines


@pytest.fixture
def scope_of(tmp_path):
    """A scope of a transcript with these records (dicts, or bytes as they are)."""
    with ExitStack() as logs:

        def make(*records, agent=False):
            path = write_lines(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl", records)
            return Scope(logs.enter_context(Log(path)), agent=agent)

        yield make
