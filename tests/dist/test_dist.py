"""`make dist`: what lies in the folder afterwards."""

import hashlib
import os

import rehydrate

from .conftest import artifact, build


def test_it_makes_each_artifact_once(artifacts):
    names = {file.name for file in artifacts.iterdir()}
    version = rehydrate.__version__
    portable = {
        f"rehydrate-{version}-py3-none-any.whl",
        f"rehydrate-{version}.tar.gz",
        "rehydrate.pyz",
        "claude-code-plugin",
    }
    native = names - portable
    assert portable <= names
    assert len(native) <= 1 and all("-abi3-" in name for name in native)


def test_a_second_build_gives_the_same_bytes_and_takes_away_older_packages_only(artifacts, tmp_path):
    stale, foreign = tmp_path / "rehydrate-0.0.1-py3-none-any.whl", tmp_path / "notes.txt"
    stale.touch()
    foreign.touch()
    said = build(tmp_path, REHYDRATE_PURE_BUILD="1", PYTHONHASHSEED="7")
    assert "The native wheel is missing, because REHYDRATE_PURE_BUILD asks for it." in said
    assert not stale.exists() and foreign.exists()
    for pattern in ("*-py3-none-any.whl", "*.tar.gz", "rehydrate.pyz"):
        first, second = artifact(artifacts, pattern), artifact(tmp_path, pattern)
        assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest(), pattern


def test_the_zipapp_can_be_executed(artifacts):
    file = artifacts / "rehydrate.pyz"
    assert file.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert os.name == "nt" or os.access(file, os.X_OK)
