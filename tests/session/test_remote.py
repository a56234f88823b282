"""Agents that run elsewhere."""

import json
import os
import stat
from pathlib import Path

import pytest

from rehydrate.session import (
    ARCHIVED,
    NOT_FOUND,
    RemoteAgent,
    forget_remote,
    poll_remote,
    remember_remote,
    remote_agents,
)

ABOUT = {"url": "https://example.org/1", "title": "Far"}


@pytest.fixture
def known(place):
    """A place with two agents."""
    remember_remote(place, "one", ABOUT)
    remember_remote(place, "two", {})
    return place


def ids(place):
    return [each.id for each in remote_agents(place)]


def test_who_an_agent_is_is_kept(known):
    assert remote_agents(known) == [RemoteAgent("one", ABOUT), RemoteAgent("two", {})]


def test_it_stands_in_a_file_for_its_owner_only(known):
    path = known.remote_meta_path("one")
    assert json.loads(Path(path).read_text()) == ABOUT
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_a_session_without_agents_has_none(place):
    assert remote_agents(place) == []


def test_what_is_remembered_last_holds(known):
    remember_remote(known, "two", {"title": "New"})
    assert remote_agents(known)[1].about == {"title": "New"}
    assert sorted(os.listdir(os.path.dirname(known.remote_meta_path("one")))) == ["one.meta.json", "two.meta.json"]


def test_what_json_cannot_hold_changes_nothing(known):
    with pytest.raises(ValueError):
        remember_remote(known, "one", {"x": float("nan")})
    assert remote_agents(known)[0].about == ABOUT


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\0b"])
def test_an_id_that_leads_elsewhere_is_refused(place, name):
    with pytest.raises(ValueError):
        remember_remote(place, name, {})
    with pytest.raises(ValueError):
        forget_remote(place, name)


def test_the_state_is_what_the_host_is_told(known):
    assert [each.state for each in poll_remote(known, lambda agent: f"{agent.id} runs")] == ["one runs", "two runs"]
    assert ids(known) == ["one", "two"]


@pytest.mark.parametrize("state", [NOT_FOUND, ARCHIVED])
def test_an_agent_that_is_gone_is_forgotten(known, state):
    found = poll_remote(known, lambda agent: state if agent.id == "one" else "running")
    assert [each.state for each in found] == [state, "running"]
    assert ids(known) == ["two"]


@pytest.mark.parametrize("error", [ConnectionError("down"), TimeoutError(), OSError(5, "no"), ValueError("not found")])
def test_an_agent_that_cannot_be_asked_about_stays(known, error):
    def ask(agent):
        raise error

    assert [(each.state, each.error) for each in poll_remote(known, ask)] == [(None, error)] * 2
    assert ids(known) == ["one", "two"]


def test_what_stops_the_host_stops_the_poll(known):
    def ask(agent):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        poll_remote(known, ask)
    assert ids(known) == ["one", "two"]


@pytest.mark.parametrize("text", ["", "{", "[]", "\udcff", "[" * 100_000])
def test_a_file_that_says_nothing_still_stands_for_its_agent(known, text):
    Path(known.remote_meta_path("one")).write_text(text, encoding="utf-8", errors="surrogateescape")
    assert remote_agents(known)[0] == RemoteAgent("one", {})


def test_links_and_other_files_are_not_followed(known, tmp_path):
    (tmp_path / "secret.json").write_text('{"secret":1}')
    os.symlink(tmp_path / "secret.json", known.remote_meta_path("three"))
    os.mkfifo(known.remote_meta_path("four"))
    assert {each.id: each.about for each in remote_agents(known)} == {"one": ABOUT, "two": {}, "three": {}, "four": {}}


def test_what_is_not_known_is_forgotten_without_a_word(place):
    forget_remote(place, "one")
