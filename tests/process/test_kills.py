"""The hook is killed before any of its system calls, or any of them fails; then the host goes on, and calls it again.

A kill leaves what the calls before it made of the files, so it is tried before each call that may change something; one
test holds that between those nothing changes.
"""

import contextlib
import errno
import json
import os
import shutil
from itertools import count
from pathlib import Path

import pytest

from rehydrate import state as remembering

from . import tracing
from .home import Home, as_line, checkpoint, hook_command, long_talk, parts_of, system_message
from .test_claude_hook import Client, text_of
from .test_claude_hook import command as claude_command

pytestmark = tracing.needs_tracing
C = "c0ffee00-0000-4000-8000-000000000001"


class World:
    """All files that a hook could change, which can be looked at and put back."""

    def __init__(self, folder):
        self.folder = folder / "world"
        self.folder.mkdir()

    def look(self):
        """What is there, by its path: its mode and the bytes of files, None for folders."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = os.path.join(folder, name)
                with open(path, "rb") if name in files else contextlib.nullcontext() as file:
                    found[path] = (os.lstat(path).st_mode, file and file.read())
        return found

    def concerns(self, call):
        """Whether a call is about these files, about what is printed, or the end."""
        return call.name == "exit_group" or call.path.startswith((str(self.folder), "pipe:"))

    def kill(self, number):
        """Run the hook, and kill it before the call of that number among those that may change something here, from 0;
        what came of it, and the name of the call, None when there is none.
        """
        names = []

        def watch(call):
            if not (call.changes and self.concerns(call)):
                return None
            names.append(call.name)
            return tracing.KILL if len(names) == number + 1 else None

        ended = tracing.run(self.command, self.payload, environ=self.environ, watch=watch)
        assert ended.stderr == b""
        assert ended.status == (-9 if len(names) > number else 0)
        return ended, names[number] if len(names) > number else None

    def kills(self):
        """Kill it before each such call in turn; gives what came of it, and the names of the calls."""
        fresh = self.look()
        for number in count():
            self.put_back(fresh)
            ended, name = self.kill(number)
            if name is None:
                assert number > 10
                return
            yield ended, name

    def put_back(self, found):
        if found == self.look():
            return
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        for name, (mode, data) in sorted(found.items()):
            if data is None:
                os.mkdir(name)
            else:
                Path(name).write_bytes(data)
            os.chmod(name, mode & 0o7777)


class Antigravity(World):
    """A conversation that was compacted, or is met for the first time."""

    def __init__(self, folder, kind):
        super().__init__(folder)
        self.home = Home(self.folder)
        self.may_fail = False
        self.kind = kind
        (self.folder / "tmp").mkdir()
        self.home.environ["TMPDIR"] = str(self.folder / "tmp")
        self.home.write(C, long_talk())
        if kind == "chunks":
            self.home.transcript(C).unlink()
        self.log = b"".join(map(as_line, long_talk()))
        if kind != "first sight":
            self.go_on()
            self.home.hook(C)
            self.go_on(checkpoint(12))
        if kind == "user's folder":
            self.home.refuse_state(C)
            shutil.rmtree(self.folder / ".local", ignore_errors=True)
        self.command, self.payload = hook_command(), json.dumps(self.home.payload(C)).encode()
        self.environ = self.home.environ

    def key(self, left):
        """The same for files that differ by the names of temporary folders only."""
        names = str(self.folder / "tmp") + os.sep
        below = {each for each in left if each.startswith(names)}
        return {each: left[each] for each in left if each not in below}, sorted(
            (each.removeprefix(names).partition(os.sep)[2], str(left[each])) for each in below
        )

    def go_on(self, *records):
        """The host writes on in the log."""
        self.log += b"".join(map(as_line, records))
        if self.kind != "chunks":
            self.home.transcript(C).write_bytes(self.log)
            return
        folder = self.home.logs(C) / "chunks" / "transcript_full"
        folder.mkdir(parents=True, exist_ok=True)
        for at in range(0, len(self.log), 700):
            (folder / f"{at // 700:08}.jsonl").write_bytes(self.log[at : at + 700])

    def play(self, left, texts, *, took):
        """What the host sees from here on; `took`: it had the texts of the reply, and wrote them into its log."""
        self.put_back(left)
        log = self.log
        try:
            self.check_state()
            before = self.state()
            if took:
                self.go_on(system_message(13, texts[0]))
            given = [self.home.hook(C) for _ in range(2)]
            if took:
                assert given == [[], []], "made again though its marker stands in the log"
            elif before and before["delivery"] and before["delivery"]["status"] == "sent":
                assert given == [[], []]
                return "sent"
            else:
                assert [len(each) for each in given] == [1, 0], "not made exactly once more"
                self.go_on(system_message(13, given[0][0]))
                assert self.home.hook(C) == []
            self.check_state()
            self.check_leavings()
        finally:
            self.log = log
        return "came"

    def state(self):
        found = [
            path for path in (self.home.state(C), *self.folder.glob(".local/state/rehydrate/*.json")) if path.is_file()
        ]
        return json.loads(found[0].read_bytes()) if found else None

    def check_state(self):
        """Old or new, never torn."""
        raw = self.state()
        assert raw is None or raw["version"] == remembering.VERSION

    def check_leavings(self):
        """Nothing but the state, its lock and, where it could not be read for once, that state kept aside."""
        names = {each.name for each in self.home.logs(C).iterdir() if not each.is_dir()}
        names -= {"transcript_full.jsonl", "rehydrate_state.json", "rehydrate_state.json.lock"}
        assert names <= ({"rehydrate_state.json.aside-0"} if self.may_fail else set())
        assert not [each for each in (self.folder / "tmp").iterdir() if each.is_dir()]
        own = {each.suffix for each in self.folder.glob(".local/state/rehydrate/*")}
        assert own - {".json", ".lock"} <= ({".aside-0"} if self.may_fail else set())


def reply_of(ended):
    """The texts in what was printed, None for no whole reply."""
    try:
        return parts_of(ended.stdout)
    except ValueError:
        return None


KINDS = ["flat", "chunks", "user's folder", "first sight"]


def made(kind, folder):
    return Antigravity(folder, kind) if kind in KINDS else Claude(folder, kind)


@pytest.mark.parametrize("kind", ["chunks", "first value"])
def test_f40_only_calls_that_may_change_something_do(tmp_path, kind):
    world = made(kind, tmp_path)
    seen = [(None, world.look())]
    calls = []

    def watch(call):
        now = world.look()
        if now != seen[-1][1]:
            assert calls and calls[-1][1], f"{calls[-1:]} changed something"
            seen.append((calls[-1][0], now))
        calls.append((call.name, call.changes))

    tracing.run(world.command, world.payload, environ=world.environ, watch=watch, every=True)
    assert len(calls) > 500 and len(seen) > 3


@pytest.mark.parametrize("kind", ["chunks", "user's folder"])
def test_f40_killed_before_any_call_a_delivery_is_neither_lost_nor_made_once_its_marker_is_logged(tmp_path, kind):
    world = made(kind, tmp_path)
    known, last = [], []
    for ended, name in world.kills():
        left, texts = world.look(), reply_of(ended)
        # A reply is taken from a hook that ended well only, but the host may have read it before.
        for took in (False, True) if texts else (False,):
            key = world.key(left), took
            outcome = next((outcome for each, outcome in known if each == key), None)
            if outcome is None:
                outcome = world.play(left, texts, took=took)
                known.append((key, outcome))
            if outcome == "sent":
                last.append(name)
    # In its very last calls it has noted that all went well, which nothing could take back.
    assert len(known) > 8 and last == ["close", "exit_group"]


def test_f40_killed_before_any_call_at_first_sight_the_compaction_that_follows_is_delivered_once(tmp_path):
    world = made("first sight", tmp_path)
    log, seen = world.log, []
    for _ in world.kills():
        left = world.look()
        if left not in seen:
            seen.append(left)
            world.check_state()
            world.log = log
            world.go_on(checkpoint(12))
            assert [len(world.home.hook(C)) for _ in range(2)] == [1, 0]
            world.check_leavings()
    assert len(seen) > 3


class Claude(World):
    """A compaction of Claude Code, of whose three values the first or the second is asked for."""

    def __init__(self, folder, kind):
        super().__init__(folder)
        self.client = Client(self.folder)
        self.client.begin()
        self.values = [self.client.fire(part) for part in (1, 2, 3)]
        shutil.rmtree(self.client.own.parent)
        self.number = 1 if kind == "first value" else 2
        if self.number == 2:
            assert self.client.fire(1) == self.values[0]
        self.command = claude_command("--part", str(self.number))
        self.payload, self.environ = json.dumps(self.client.payload()).encode(), self.client.environ

    def play(self, left, *, whole=True):
        """The others, then the same one again: each value is what it would have been; not `whole`: but for where it
        says that the rest stands.
        """
        self.put_back(left)
        for part in (*range(self.number + 1, 4), self.number):
            text, value = self.client.fire(part), self.values[part - 1]
            assert text == value or (not whole and text.split("\n")[0] == value.split("\n")[0])
        assert self.client.plan()["error"] is None
        names = sorted(each.name for each in self.client.own.iterdir())
        assert names[-2:] == ["plan.json", "plan.json.lock"] and len(names) <= 3
        assert not whole or names[0].endswith(".md")


@pytest.mark.parametrize("kind", ["first value", "second value"])
def test_f40_killed_before_any_call_no_other_value_is_lost_and_its_own_comes_when_asked_for_again(tmp_path, kind):
    world = made(kind, tmp_path)
    seen = []
    for ended, _ in world.kills():
        assert not ended.stdout or text_of(ended.stdout) == world.values[world.number - 1]
        left = world.look()
        if left not in seen:
            seen.append(left)
            world.play(left)
    assert len(seen) > 3


FAILURES = {
    "open": (errno.EACCES, errno.EROFS),
    "write": (errno.ENOSPC, errno.EDQUOT, errno.EINTR),
    "fsync": (errno.EIO,),
    "rename": (errno.ENOSPC, errno.EIO),
    "unlink": (errno.EROFS,),
    "flock": (errno.ENOLCK, errno.EINTR),
    "close": (errno.EDQUOT,),
    "fchmod": (errno.EPERM,),
    "mkdir": (errno.ENOSPC,),
}
"""What the calls may fail with, by the names they have in common with those that say `at`."""


def plain(name):
    return name.removesuffix("2").removesuffix("at")


def failures_of(call):
    return FAILURES.get(plain(call.name), ())


def run_with_failure(world, number, failure=None, *, on=False):
    """Let a call fail: that of the number, from 0, among those about our own files and the reply.  `on`: and those
    that write from there on, as on a full disk.  Gives what came of it, and the names of those calls.
    """
    names = []

    def watch(call):
        if not (failures_of(call) and world.concerns(call)):
            return None
        if not (call.changes or "rehydrate" in call.path.removeprefix(str(world.folder))):
            return None  # it reads what is not ours
        names.append(call.name)
        at = len(names) - 1
        goes_on = on and at > number and call.changes and failure in failures_of(call)
        return failure if at == number or (goes_on and not call.path.startswith("pipe:")) else None

    return tracing.run(world.command, world.payload, environ=world.environ, watch=watch), names


def failing(world):
    """Run it with every failure; gives what failed, what was printed and the files it left."""
    fresh = world.look()
    _, names = run_with_failure(world, None)
    for number, name in enumerate(names):
        for failure in FAILURES[plain(name)]:
            for on in (False, True) if failure in (errno.ENOSPC, errno.EROFS) else (False,):
                world.put_back(fresh)
                ended, _ = run_with_failure(world, number, failure, on=on)
                told = f"{name} (call {number}): {errno.errorcode[failure]}{' from then on' if on else ''}"
                assert ended.status == 0, told
                assert ended.stderr.count(b"\n") <= 1 and b"Traceback" not in ended.stderr, told
                yield told, ended, world.look()


def test_f44_whatever_call_fails_the_reply_is_valid_and_the_delivery_is_not_lost(tmp_path):
    world = made("flat", tmp_path)
    world.may_fail = True
    seen, counts = [], {"made": 0, "later": 0}
    for told, ended, left in failing(world):
        texts = reply_of(ended)
        assert texts is not None or ended.stdout == b"", told
        counts["made" if texts else "later"] += 1
        if (left, bool(texts)) not in seen:
            seen.append((left, bool(texts)))
            try:
                world.play(left, texts, took=bool(texts))
            except AssertionError as error:
                raise AssertionError(told) from error
    assert min(counts.values()) > 3


def test_f44_whatever_call_fails_a_value_is_whole_and_the_others_are_not_lost(tmp_path):
    world = made("first value", tmp_path)
    seen, silent = [], 0
    for told, ended, left in failing(world):
        text = text_of(ended.stdout)
        assert text is None or text.split("\n")[0] == world.values[world.number - 1].split("\n")[0], told
        silent += text is None
        if left not in seen:
            seen.append(left)
            try:
                world.play(left, whole=False)
            except AssertionError as error:
                raise AssertionError(told) from error
    assert silent < 20
