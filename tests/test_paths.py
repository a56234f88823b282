"""paths: our folders are where each system keeps such things, and files are opened with care."""

import os
import socket
import sys

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from rehydrate.paths import config_folder, copy_bytes, open_file, settings_file, state_folder

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


@pytest.mark.skipif(os.name == "nt", reason="none of these is there")
def test_f49_f50_what_is_no_regular_file_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    os.symlink("file", "link")
    os.symlink("nowhere", "dangling")
    os.mkdir("folder")
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path in (
            "link",
            "dangling",
            "folder",
            "pipe",
            "socket",
            "/dev/zero",
            "gone",
            "file/",
            "nul\0",
            "\ud800",
            "",
        ):
            with pytest.raises(OSError, match=r".") as caught:
                open_file(path)
            assert caught.value.filename == path
    with open_file("file") as file:
        assert file.read() == b"x"


def test_f53_what_is_appended_while_a_file_is_copied_is_not_waited_for(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    with open_file(str(path)) as source, open(tmp_path / "copy", "wb") as target:
        path.write_bytes(b"x" * 10 + b"y" * 10)
        copy_bytes(source, target, 10)
    assert (tmp_path / "copy").read_bytes() == b"x" * 10
