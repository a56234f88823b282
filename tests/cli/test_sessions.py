"""`rehydrate sessions`: every conversation found here, newest first, and none of them lost."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from rehydrate import state
from rehydrate.cli import output, sessions
from rehydrate.cli.choose import choose
from rehydrate.clients.antigravity import layout, listing
from tests.clients.antigravity.making import Home, row, talk, user

from .terminal import see


@pytest.fixture
def home(shell):
    """Makes conversations in the shell's home; a later one is newer."""
    home = Home(shell.folder)
    home.root, home.app = shell.home, shell.app
    home.environ = os.environ
    home.now_s = 1_800_000_000

    def add(session, records=(), **more):
        path = home.write(session, records, **more)
        home.now_s += 60
        os.utime(path, (home.now_s, home.now_s))
        return path

    home.add = add
    return home


def told(shell, *words):
    done = shell.run("sessions", "--json", *words)
    assert done.status == 0, done.err
    return done.json


def ids(shell, *words):
    return [each["id"] for each in told(shell, *words)]


def test_a_conversation_is_told_with_these_members_in_this_order(laid_out):
    assert list(told(laid_out)[0].items()) == [
        ("id", laid_out.C),
        ("client", "antigravity"),
        ("application", "antigravity-cli"),
        ("workspace", str(laid_out.cwd)),
        ("title", "Step 4, the cache. The key must be the digest of the constants, not the file'..."),
        ("transcript", str(laid_out.transcript(laid_out.C))),
        ("modified", "2026-03-02T09:16:40Z"),
        ("size", laid_out.transcript(laid_out.C).stat().st_size),
        ("steps", 43),
        ("boundaries", 1),
        ("last_delivery", None),
        ("problem", None),
    ]


def test_the_newest_of_all_applications_stands_first(shell, home):
    home.add("c1")
    home.add("c2", app=home.root / "antigravity")
    home.add("c3", app=home.root / "antigravity-ide")
    home.add("c4")
    assert ids(shell) == ["c4", "c3", "c2", "c1"]
    assert [each["application"] for each in told(shell)][:2] == ["antigravity-cli", "antigravity-ide"]


def test_a_client_may_be_named_once_or_twice(laid_out):
    assert ids(laid_out, "antigravity") == ids(laid_out, "antigravity", "antigravity") == ids(laid_out)


def test_another_client_is_wrong_usage(shell):
    assert shell.run("sessions", "nobody").status == 2


class TestLimit:
    def test_only_so_many_are_told(self, laid_out):
        assert ids(laid_out, "--limit", 2) == [laid_out.C, laid_out.B]

    def test_no_other_is_opened(self, laid_out, monkeypatch):
        looked, look = [], layout.look
        monkeypatch.setattr(layout, "look", lambda logs: looked.append(logs) or look(logs))
        told(laid_out, "--limit", 1)
        assert [Path(logs).parents[1].name for logs in looked] == [laid_out.C]

    def test_without_it_twenty(self, shell, home):
        for at in range(21):
            home.add(f"c{at}")
        assert len(ids(shell)) == 20

    def test_none_is_wrong_usage(self, shell):
        assert shell.run("sessions", "--limit", 0).status == 2
        assert shell.run("sessions", "--limit", 10**20).status == 2


class TestWorkspace:
    def test_is_the_last_one_in_the_history(self, shell, home):
        home.add("c1")
        home.remember(row("c1", 1, workspace="/a"), row("c1", 2, workspace="/b"), row("c2", 3, workspace="/c"))
        assert told(shell)[0]["workspace"] == "/b"

    def test_else_the_first_that_the_hook_was_told_of(self, shell, home):
        home.add("c1")
        remember(home, workspaces=("/a", "/b"))
        assert told(shell)[0]["workspace"] == "/a"

    def test_else_it_is_not_known(self, shell, home):
        home.add("c1")
        assert told(shell)[0]["workspace"] is None


def remember(home, **more):
    place = layout.find(os.environ, "c1")
    spot = state.spot_for("antigravity", "c1", transcript=place.origin, folder=place.folder, environ=os.environ)
    with state.locked(spot) as store:
        store.save(state.State("c1", place.origin, **more), durable=False)


def test_the_last_delivery_is_the_states(shell, home):
    home.add("c1")
    remember(home, delivery=state.Delivery(7, "0badcafe", "sent", 1))
    assert told(shell)[0]["last_delivery"] == {"step": 7, "id": "0badcafe", "status": "sent"}
    assert "  7 sent  " in shell.run("sessions").out


class TestTitle:
    def test_of_a_fork_is_its_own_first_request(self, laid_out):
        assert told(laid_out)[1]["title"].startswith("Step 3, ")

    def test_a_secret_in_it_is_masked(self, shell, home):
        home.add("c1", [user(0, f"{'x' * 70} ghp_{'a' * 36} is the token")])
        assert told(shell)[0]["title"] == "x" * 70 + " [redac..."

    def test_a_short_one_is_whole(self, shell, home):
        home.add("c1", [user(0, "Fix \t the  cache.\nNow.")])
        assert told(shell)[0]["title"] == "Fix the cache."

    def test_a_conversation_without_a_request_has_none(self, shell, home):
        home.add("c1", talk(1, 1))
        assert told(shell)[0]["title"] is None


class TestNothingIsLost:
    def test_a_transcript_that_cannot_be_read(self, laid_out, monkeypatch):
        def refuse(place, summarize=listing.summarize):
            if place.session == laid_out.B:
                raise PermissionError(13, "Permission denied", place.path)
            return summarize(place)

        monkeypatch.setattr(listing, "summarize", refuse)
        done = laid_out.run("sessions", "--json")
        assert (done.status, done.err) == (0, f"{laid_out.B} could not be read: Permission denied\n")
        listed = done.json[1]
        assert (listed["id"], listed["problem"], listed["steps"]) == (laid_out.B, "Permission denied", None)

    def test_a_conversation_without_a_transcript(self, laid_out):
        (laid_out.app / "brain" / "old").mkdir()
        done = laid_out.run("sessions")
        assert (done.status, len(done.out.splitlines())) == (0, 3)
        assert done.err == "1 conversation has no transcript that can be read, such as old\n"

    @pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"no json\n", b"[" * 100_000 + b"\n", b"\0" * 5_000])
    def test_a_file_that_is_no_transcript(self, shell, home, data):
        Path(home.add("c1")).write_bytes(data)
        (listed,) = told(shell)
        assert (listed["size"], listed["steps"], listed["title"]) == (len(data), 0, None)

    @pytest.mark.parametrize("time_s", [0, -86_400])
    def test_a_time_long_ago(self, shell, home, time_s):
        os.utime(home.add("c1"), (time_s, time_s))
        assert told(shell)[0]["modified"] == {0: "1970-01-01T00:00:00Z"}.get(time_s, "1969-12-31T00:00:00Z")

    def test_a_time_that_no_calendar_has(self, shell, home):
        home.add("c1")
        chosen = choose("c1", environ=os.environ, folder=None)
        assert sessions.Session(chosen, 1e300, None).as_json()["modified"] is None

    def test_a_name_with_a_line_end_has_one_line_too(self, shell, home):
        home.add("a\nb\x1b[2J", [user(0, "Title \x1b[31m")])
        home.add("c")
        lines = shell.run("sessions").out.splitlines()
        assert len(lines) == 2
        assert lines[1].startswith("a\\nb\\x1b[2J ") and lines[1].endswith("Title \\x1b[31m")


class TestNone:
    def test_is_said_and_is_no_failure(self, shell):
        done = shell.run("sessions")
        assert (done.status, done.out) == (0, "") and done.err.startswith("no conversation was found in ~/gemini")

    def test_is_an_empty_list(self, shell):
        assert told(shell) == []


def test_in_a_pipe_each_has_a_line_of_its_own(laid_out):
    lines = laid_out.run("sessions").out.splitlines()
    size = laid_out.transcript(laid_out.C).stat().st_size
    assert lines[0].split()[:8] == [
        laid_out.C,
        "antigravity",
        "2026-03-02T09:16:40Z",
        str(size),
        "43",
        "1",
        "-",
        "~/work",
    ]
    assert len(lines) == 3


def test_nothing_is_written(laid_out):
    before = {each: each.stat().st_mtime_ns for each in laid_out.folder.rglob("*")}
    laid_out.run("sessions")
    assert {each: each.stat().st_mtime_ns for each in laid_out.folder.rglob("*")} == before


class TestOnATerminal:
    @pytest.fixture
    def shown(self, monkeypatch):
        """The lines of the list at a width."""

        def lines(width, *, ids=()):
            places = list(layout.every(os.environ))
            listed = [each for each in sessions._sessions(found(places), os.environ)]
            console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, force_terminal=False)
            console.print(sessions._List(listed, ids))
            return [line.rstrip() for line in console.file.getvalue().splitlines()]

        monkeypatch.setattr(output, "is_terminal", lambda: True)
        return lines

    def test_it_is_a_table_with_headings(self, laid_out):
        lines = see("sessions", columns=160, environ={"NO_COLOR": "1", "TZ": "UTC"}).out.splitlines()
        assert lines[0].split() == [
            *("id", "modified", "size", "steps", "boundaries", "last", "delivery", "workspace", "title")
        ]
        assert lines[1].startswith(f"{laid_out.C}  2026-03-02 09:16  ")

    def test_what_is_left_out_is_said(self, laid_out):
        seen = see("sessions", "--limit", 2, environ={"NO_COLOR": "1"}).out.splitlines()
        assert seen[3:] == ["the newest 2 of 3; --limit shows more"]

    @pytest.mark.parametrize("width", range(40, 201, 8))
    def test_every_conversation_has_one_line_that_fits(self, laid_out, shown, width):
        lines = shown(width)
        assert len(lines) == 4
        assert max(map(len, lines)) <= width
        assert "Step 4, the cache" in lines[1]

    def test_wide_letters_fit_too(self, shell, home, shown):
        home.add("c1", [user(0, "潮汐表" * 30)])
        lines = shown(60)
        assert len(lines) == 2 and lines[1].endswith("...")

    @pytest.mark.parametrize("width", [80, 60])
    def test_a_short_id_means_one_conversation(self, laid_out, shown, width):
        named = shown(width)[1].split()[0]
        assert named == laid_out.C[:8]
        assert choose(named, environ=os.environ, folder=None).place.session == laid_out.C

    def test_of_ids_that_begin_alike_more_is_shown(self, shell, home, shown):
        home.add("0123456789-abc", [user(0, "x" * 60)])
        home.add("0123456789-abd")
        home.add("0123456789")
        lines = shown(60, ids=["0123456789-xyz"])
        assert [line.split()[0] for line in lines[1:]] == ["0123456789", "0123456789-abd", "0123456789-abc"]

    def test_what_cannot_be_read_is_told_in_its_place(self, laid_out, shown, monkeypatch):
        def refuse(place):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(listing, "summarize", refuse)
        assert all(line.endswith("(could not be read)") for line in shown(120)[1:])


def found(places):
    return [(layout.written_s(place.folder), "antigravity", place) for place in places]
