"""A file that is appended to, and what its tests say to it."""

import os

import pytest

from rehydrate.session.file import LogFile
from rehydrate.session.line import encode
from tests.session.conftest import records

HEAD = encode({"type": "session", "format": 1})
ONE, TWO, THREE = (encode({"type": "tag", "tag": each}) for each in ("one", "two", "three"))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "root" / "key" / "id.jsonl")


@pytest.fixture
def log(path, tmp_path):
    made = LogFile(path, root=str(tmp_path / "root"), head=lambda: HEAD)
    yield made
    made.close()


def another(log):
    """The same file in another's hands."""
    return LogFile(log.path, root=log._root, head=lambda: HEAD)


def append(log, *bodies, durable=True):
    log.append(bodies, durable=durable)


def tags(path):
    return [each["tag"] for each in records(path) if "tag" in each]


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()
