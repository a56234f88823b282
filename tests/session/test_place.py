"""Where a session's files are."""

import os

import pytest

from rehydrate.clients.claude_code import layout
from rehydrate.session import Place, SessionLog, Sessions, agents_of, key_of, live, user


def test_the_files_of_a_session_are_below_its_root_and_key(tmp_path):
    place = Place(str(tmp_path), "key", "id")
    names = (place.path, place.folder, place.live_folder, place.agent_path("a"), place.agent_meta_path("a"))
    assert [os.path.relpath(each, tmp_path) for each in (*names, place.remote_meta_path("r"))] == [
        *("key/id.jsonl", "key/id", "key/id/live", "key/id/subagents/agent-a.jsonl"),
        *("key/id/subagents/agent-a.meta.json", "key/id/remote-agents/r.meta.json"),
    ]


def test_a_place_is_found_again_from_the_path_of_its_file(tmp_path):
    place = Place(str(tmp_path), "key", "id.1")
    assert Place.of(place.path) == place


@pytest.mark.parametrize("path", ["/root/key/id.json", "/root/key/.jsonl", "/id.jsonl", "/root/key/agent-1.jsonl"])
def test_what_can_be_no_file_of_a_session_has_no_place(path):
    with pytest.raises(ValueError):
        Place.of(path)


def test_a_relative_root_is_the_one_of_now(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Place("root", "key", "id")
    monkeypatch.chdir("/")
    assert place.path == str(tmp_path / "root" / "key" / "id.jsonl")


@pytest.mark.parametrize("root", ["a\0b", "\ud800"])
def test_a_root_that_can_be_no_path_is_refused(root):
    with pytest.raises(ValueError):
        Place(root, "key", "id")


@pytest.mark.parametrize("name", ["é", "e\u0301", "a b.c_d", "日本", "x" * 200, "x" * 250])
def test_the_key_of_a_folder_is_the_one_by_which_claude_code_files_are_found(tmp_path, name):
    key = key_of(str(tmp_path / name))
    assert layout.is_project_of(key, str(tmp_path / name))
    assert "/" not in key and len(key) <= 217


def test_a_folder_has_one_key_whatever_path_leads_to_it(tmp_path):
    (tmp_path / "real").mkdir()
    os.symlink("real", tmp_path / "link")
    assert key_of(str(tmp_path / "link")) == key_of(f"{tmp_path}/real/../real/") == key_of(str(tmp_path / "real"))


def test_long_folders_that_begin_alike_have_different_keys(tmp_path):
    long = str(tmp_path / ("x" * 150) / ("y" * 150))
    assert key_of(f"{long}a") != key_of(f"{long}b")
    assert key_of(f"{long}a")[:200] == key_of(f"{long}b")[:200]


def test_a_folder_whose_name_is_longer_than_a_key_can_have_sessions(tmp_path):
    cwd = "/" + "a" * 300
    place = Place(str(tmp_path), key_of(cwd), "s1")
    with SessionLog(place, cwd=cwd) as log:
        log.append_durable(user("hi"))
    assert Sessions(str(tmp_path)).latest(cwd) == Place.of(place.path) == place


@pytest.mark.parametrize("rest", ["/x", "\0", "x" * 56])
def test_what_stands_behind_the_length_of_a_key_is_no_way_out(rest):
    with pytest.raises(ValueError, match="cannot be the name of a folder"):
        Place("/r", "a" * 200 + rest, "s1")


@pytest.mark.parametrize("folder", ["", "/a\0b", "/\ud800", "/\ud8ff" * 300, "/" + "a/" * 500_000], ids=ascii)
def test_what_can_be_no_folder_has_no_key(folder):
    with pytest.raises(ValueError, match="cannot be a folder"):
        key_of(folder)


@pytest.mark.parametrize("name", ["x" * 201, "\u00e9" * 150, "\U0001f600" * 60], ids=ascii)
def test_an_id_that_is_too_long_for_a_file_is_refused(tmp_path, name):
    place = Place(str(tmp_path), "k", "s")
    for make in (place.agent_path, place.agent_meta_path, place.remote_meta_path, lambda id: Place("/r", "k", id)):
        with pytest.raises(ValueError, match=r"cannot be the name|plain name"):
            make(name)


@pytest.mark.parametrize("name", ["x" * 200, "\u00e9" * 100], ids=ascii)
def test_the_longest_ids_can_be_names_of_files(tmp_path, name):
    place = Place(str(tmp_path), "k", name)
    with SessionLog(place, cwd="/w") as log:
        log.append_durable(user("hello"))
        log.sidechain(name, type="x").append_durable(user("hello"))
    assert live(place) == [] and list(agents_of(place)) == [name]
