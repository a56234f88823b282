"""paths: our folders are where each system keeps such things."""

import os
import sys

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from rehydrate.paths import config_folder, settings_file, state_folder

ENVIRONS = [
    {"HOME": "/home/a"},
    {"HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
    {"HOME": "/home/a", "XDG_CONFIG_HOME": "/c"},
    {"HOME": "/home/a", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""},
    {"HOME": "/home/a", "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": "./relative"},
]


@pytest.mark.skipif(os.name == "nt", reason="the paths of the other systems")
@pytest.mark.parametrize("environ", ENVIRONS, ids=str)
@pytest.mark.parametrize(("platform", "theirs"), [("linux", Unix), ("darwin", MacOS)])
def test_the_folders_are_those_of_platformdirs(monkeypatch, platform, theirs, environ):
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    known = theirs("rehydrate")
    assert config_folder(environ) == known.user_config_dir
    assert state_folder(environ) == known.user_state_dir


def test_the_settings_file_lies_in_the_configuration_folder():
    assert settings_file({"XDG_CONFIG_HOME": "/c"}) == os.path.join("/c", "rehydrate", "rehydrate.toml")


def test_without_a_home_folder_there_is_no_place(monkeypatch):
    monkeypatch.setattr("rehydrate.paths.home_folder", lambda _: None)
    assert config_folder({}) is settings_file({}) is state_folder({}) is None
