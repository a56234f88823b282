"""`transcript`, `state`, `view`, `delivery` and `error`: what became of the newest conversations."""

import json
import os
import shutil
import time
from types import SimpleNamespace

import pytest

from rehydrate.cli.checks import conversation
from rehydrate.settings import PART_BYTES_MAX
from tests.process.home import Home, checkpoint, long_talk, record, said, system_message, user

C = "c0ffee00-0000-4000-8000-000000000001"
D = "c0ffee00-0000-4000-8000-000000000002"
CHECKS = ("transcript", "state", "view", "delivery")


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def compacted(home, *, session=C):
    """A conversation that the hook knows, and then was compacted."""
    home.write(session, long_talk())
    assert home.hook(session) == []
    home.append(session, checkpoint(12))


def delivered(home, *, session=C, **more):
    """And the hook has answered; its parts."""
    compacted(home, session=session)
    parts = home.hook(session, **more)
    assert parts
    return parts


def change(home, **members):
    """The state as it would be, had it gone otherwise."""
    path = home.state(C)
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


@pytest.mark.parametrize("check", [*CHECKS, "error"])
def test_without_a_conversation_all_is_well(installed, check):
    assert installed.well(check) in ("there is no conversation yet", "the hook has met no error")


class TestTranscript:
    def test_its_size_and_its_records(self, installed, home):
        home.write(C, long_talk())
        size = home.transcript(C).stat().st_size
        assert installed.well("transcript").endswith(f"{C}/.system_generated/logs/transcript_full.jsonl: "
                                                     f"{size:,} bytes, 12 records")  # fmt: skip

    def test_the_newest_is_taken(self, installed, home):
        for session, written_s in ((C, 2_000), (D, 1_000)):
            home.write(session, long_talk())
            os.utime(home.transcript(session), (written_s, written_s))
        assert C in installed.well("transcript")

    def test_damaged_lines_are_counted(self, installed, home):
        home.write(C, [*long_talk(count=1), b"\x00\x01 no record\n", b"[1, 2]\n", said(3, "Well.")])
        at = sum(len(line) for line in home.transcript(C).read_bytes().splitlines(keepends=True)[:3])
        detail = installed.well("transcript")
        assert f"4 records, 2 damaged lines, the first at byte {at}, which are passed over" in detail

    def test_a_file_without_one_record(self, installed, home):
        home.write(C, [b"binary\n", b"rubbish\n"])
        detail, fix = installed.fault("transcript")
        assert detail.endswith("none of its 2 lines is a record")
        assert fix.startswith("update rehydrate")

    def test_only_the_shortened_copy(self, installed, home):
        home.write(C, long_talk())
        home.transcript(C).rename(home.logs(C) / "transcript.jsonl")
        assert "only the shortened copy is there" in installed.well("transcript")

    def test_only_chunks(self, installed, home):
        home.write(C, long_talk())
        chunks = home.logs(C) / "chunks" / "transcript_full"
        chunks.mkdir(parents=True)
        shutil.move(home.transcript(C), chunks / "00000000.jsonl")
        assert installed.well("transcript").endswith("12 records, joined from its chunks")


class TestState:
    def test_beside_the_transcript(self, installed, home):
        home.write(C, long_talk())
        assert installed.well("state") == "kept beside the transcript"
        home.hook(C)
        assert installed.well("state") == "kept beside the transcript"

    def test_only_in_the_user_s_state_folder(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        home.refuse_state(C)
        detail = installed.well("state")
        assert detail.startswith("kept in ~/") and "not beside the transcript: " in detail
        assert "rehydrate_state.json.lock: Is a directory" in detail

    def test_nowhere(self, installed, home, monkeypatch):
        home.write(C, long_talk())
        home.hook(C)
        monkeypatch.setenv("XDG_STATE_HOME", home.refuse_every_state(C)["XDG_STATE_HOME"])
        detail, fix = installed.fault("state")
        assert detail.startswith("nothing can be remembered, so nothing is put back: ")
        assert "rehydrate_state.json.lock: Is a directory" in detail and "blocked: Not a directory" in detail
        assert fix

    def test_a_foreign_one_is_said_to_be_kept_aside(self, installed, home):
        home.write(C, long_talk())
        home.state(C).write_text("{}")
        assert "kept aside" in installed.well("state")


class TestView:
    def test_what_a_compaction_now_would_bring_back(self, installed, home):
        home.write(C, long_talk())
        shown = installed.shell.run("show", C, "--json").json
        expected = f"{shown['stats']['chars']:,} characters, about {shown['stats']['est_tokens']:,} tokens, in 1 part"
        assert installed.well("view") == f"{expected}, for a compaction now"

    def test_for_the_newest_boundary(self, installed, home):
        compacted(home)
        assert installed.well("view").endswith("in 1 part, for the compaction at step 12")

    def test_the_second_of_two_gets_half(self, installed, home):
        home.write(C, [*long_talk(), checkpoint(12), *long_talk(13), checkpoint(25)])
        assert installed.well("view").endswith("; half of the usual, as it came soon after another")

    def test_the_third_in_a_row_gets_the_requests_only(self, installed, home):
        home.write(C, [*long_talk(), checkpoint(12), *long_talk(13), checkpoint(25), *long_talk(26), checkpoint(38)])
        assert installed.well("view").endswith("; the requests only: it is the third in a row")

    def test_no_part_is_larger_than_the_client_passes_on(self, installed, home, monkeypatch):
        home.write(C, [user(n, f"{n} " + "x" * 3_000) for n in range(30)])
        monkeypatch.setenv("REHYDRATE_PART_BYTES", str(PART_BYTES_MAX))
        monkeypatch.setattr("rehydrate.clients.antigravity.rehearsal.STEP_BYTES_MAX", 20_000)
        detail, fix = installed.fault("view")
        assert "and the client passes 20,000 on" in detail
        assert fix == "run `rehydrate config set part_bytes 20000`"

    def test_settings_that_leave_no_room(self, installed, home):
        home.write(C, [user(0, "Build a parser."), said(1, "Yes.")])
        for key in ("requests_chars", "dialogue_chars", "documents_chars", "files_chars"):
            installed.shell.run("config", "set", key, "0")
        detail, fix = installed.fault("view")
        assert "nothing of the conversation is in it" in detail
        assert fix.startswith("raise requests_chars")
        installed.shell.run("config", "set", "requests_chars", "24000")
        assert installed.finding("view").ok

    def test_a_conversation_that_takes_longer_than_the_hook_may(self, installed, home, monkeypatch):
        home.write(C, long_talk())
        times_s = iter((0.0, 9.0))
        monkeypatch.setattr(conversation, "time", SimpleNamespace(monotonic=lambda: next(times_s)))
        assert "it took 9 s to put together, and the hook gives up after 8 s" in installed.fault("view")[0]

    def test_nothing_was_said_yet(self, installed, home):
        home.write(C, [record(0, "CONVERSATION_HISTORY", "SYSTEM", "")])
        assert installed.well("view") == "the newest conversation holds no message yet"


class TestDelivery:
    def test_it_arrived(self, installed, home):
        (part,) = delivered(home)
        name = part.partition("id=")[2][:8]
        home.append(C, system_message(13, part), said(14, "Going on."))
        expected = f"compaction at step 12 of {C}: delivery {name}, parts 1 of 1, marker at step 13"
        assert installed.well("delivery") == expected

    def test_it_arrived_in_two_parts(self, installed, home):
        home.write(C, [*long_talk(), user(12, "x" * 3_000)])
        home.hook(C)
        home.append(C, checkpoint(13))
        one, two = home.hook(C, environ={"REHYDRATE_PART_BYTES": "5000"})
        home.append(C, system_message(14, one), system_message(15, two))
        assert installed.well("delivery").endswith("parts 1-2 of 2, markers at steps 14, 15")

    def test_one_of_two_parts_is_missing(self, installed, home):
        home.write(C, [*long_talk(), user(12, "x" * 3_000)])
        home.hook(C)
        home.append(C, checkpoint(13))
        _, two = home.hook(C, environ={"REHYDRATE_PART_BYTES": "5000"})
        home.append(C, system_message(14, two))
        detail, _ = installed.fault("delivery")
        assert detail.endswith("parts 2 of 2, marker at step 14; the client dropped the others")

    def test_the_client_cut_a_part(self, installed, home):
        (part,) = delivered(home)
        home.append(C, record(13, "SYSTEM_MESSAGE", "SYSTEM_SDK", f"<SYSTEM_MESSAGE>\n{part[:400]}\n<truncated>"))
        detail, fix = installed.fault("delivery")
        assert detail.endswith("the client cut the end of a part off")
        assert "part_bytes" in fix

    def test_it_was_sent_a_moment_ago(self, installed, home):
        delivered(home)
        assert installed.well("delivery").endswith("was sent; the client has not answered since")

    def test_an_old_version_drops_system_messages(self, installed, home):
        delivered(home)
        home.append(C, said(13, "What was I doing?"))
        detail, fix = installed.fault("delivery")
        assert detail.endswith("was sent, but its marker never appeared: the client dropped it")
        assert "`rehydrate install antigravity --as ephemeralMessage`" in fix

    def test_a_version_that_drops_the_other_message_too(self, checked, home):
        checked.install("--as", "ephemeralMessage")
        delivered(home, arguments=("--as", "ephemeralMessage"))
        home.append(C, said(13, "What was I doing?"))
        detail, fix = checked.fault("delivery")
        assert "never appeared" in detail
        assert "--as" not in fix and "update the client" in fix

    def test_after_a_new_registration_the_next_compaction_will_tell(self, installed, home):
        delivered(home)
        home.append(C, said(13, "What was I doing?"))
        installed.install("--as", "ephemeralMessage")
        later_s = time.time() + 60
        os.utime(installed.file, (later_s, later_s))
        assert installed.well("delivery").endswith("so the next compaction will tell")

    def test_a_marker_that_a_user_wrote_is_none(self, installed, home):
        (part,) = delivered(home)
        home.append(C, user(13, part), said(14, "I see."))
        assert "never appeared" in installed.fault("delivery")[0]

    def test_a_crash_between_decision_and_reply(self, installed, home):
        delivered(home)
        name = json.loads(home.state(C).read_text())["delivery"]["id"]
        change(home, delivery={"step": 12, "id": name, "status": "pending", "tries": 1}, done=None)
        assert installed.well("delivery").endswith(f"the delivery {name} is being made")
        os.utime(home.state(C), (1_700_000_000, 1_700_000_000))
        detail, fix = installed.fault("delivery")
        assert detail == f"compaction at step 12 of {C}: the delivery {name} was begun once and not confirmed"
        assert fix.startswith("go on in that conversation")

    def test_a_compaction_that_no_call_followed(self, installed, home):
        delivered(home)
        home.append(C, *long_talk(13), checkpoint(25))
        assert installed.well("delivery") == f"compaction at step 25 of {C}: it comes with the next call"

    def test_a_compaction_that_many_calls_followed(self, installed, home):
        delivered(home)
        home.append(C, *long_talk(13), checkpoint(25), *long_talk(26))
        detail, fix = installed.fault("delivery")
        assert detail == f"compaction at step 25 of {C}: nothing was put back, though 4 answers followed"
        assert "`hook`" in fix

    def test_a_hook_that_is_no_longer_run(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        home.append(C, checkpoint(12), *long_talk(13))
        assert installed.fault("delivery")[0].endswith("nothing was put back, though 4 answers followed")

    def test_a_compaction_from_before_the_hook_is_not_replayed(self, installed, home):
        home.write(C, [*long_talk(), checkpoint(12), *long_talk(13)])
        assert home.hook(C) == []
        assert installed.well("delivery").endswith("older than the hook's first call there, so nothing was put back")

    def test_no_compaction(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        assert installed.well("delivery") == "the hook has met no compaction yet"

    def test_a_compaction_before_the_hook_ran_there_is_named(self, installed, home):
        home.write(C, [*long_talk(), checkpoint(12)])
        told = installed.well("delivery")
        assert told == f"the hook has met no compaction yet; that at step 12 of {C} came before its first call there"

    def test_the_newest_that_was_compacted_is_told(self, installed, home):
        delivered(home)
        home.write(D, long_talk())
        home.hook(D)
        later_s = time.time() + 60
        os.utime(home.transcript(D), (later_s, later_s))
        assert f"compaction at step 12 of {C}" in installed.well("delivery")

    def test_a_client_that_does_not_run_hooks(self, installed, home):
        home.write(C, long_talk())
        os.utime(installed.file, (1_000_000_000, 1_000_000_000))
        detail, fix = installed.fault("delivery")
        assert detail == f"the client has not run the hook in {C}, though it was registered before"
        assert "start the client again" in fix

    def test_a_registration_for_another_folder_is_not_missed(self, checked, home):
        checked.install("--project")
        os.utime(checked.cwd / ".agents" / "hooks.json", (1_000_000_000, 1_000_000_000))
        home.write(C, long_talk())
        history = home.app / "history.jsonl"
        history.write_text(json.dumps({"conversationId": C, "workspace": "/elsewhere", "timestamp": 1}))
        assert checked.finding("delivery").ok
        history.write_text(json.dumps({"conversationId": C, "workspace": str(checked.cwd), "timestamp": 1}))
        assert checked.fault("delivery")[0].startswith("the client has not run the hook")

    def test_a_conversation_from_before_the_registration_needs_no_hook(self, installed, home):
        home.write(C, long_talk())
        assert installed.finding("delivery").ok

    def test_where_it_is_switched_off_no_hook_is_missed(self, installed, home):
        home.write(C, long_talk())
        os.utime(installed.file, (1_000_000_000, 1_000_000_000))
        (home.work / ".rehydrate-off").touch()
        assert installed.finding("delivery").ok


class TestError:
    def test_the_last_one(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        change(home, error={"what": "OSError: [Errno 28] No space left on device", "time_s": int(time.time())})
        detail, fix = installed.fault("error")
        assert detail.endswith(f", {C}: OSError: [Errno 28] No space left on device")
        assert fix.startswith(f"run `rehydrate show antigravity:{C} --debug`")

    def test_an_id_is_no_order_to_the_shell(self, installed, home):
        session = "x; touch y"
        home.write(session, long_talk())
        home.hook(session)
        state = json.loads(home.state(session).read_text())
        home.state(session).write_text(json.dumps({**state, "error": {"what": "x", "time_s": 2_000_000_000}}))
        assert "`rehydrate show 'antigravity:x; touch y' --debug`" in installed.fault("error")[1]

    def test_one_since_which_it_has_worked(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        change(home, error={"what": "OSError: x", "time_s": int(time.time()) - 60})
        assert installed.well("error").endswith("OSError: x; it has worked since")

    def test_one_that_a_later_call_did_not_meet(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        change(home, error={"what": "OSError: x", "time_s": int(time.time()), "over_s": int(time.time())})
        assert installed.well("error").endswith("OSError: x; it has worked since")

    def test_one_of_no_known_shape_says_nothing(self, installed, home):
        home.write(C, long_talk())
        home.hook(C)
        change(home, error=["?"])
        assert installed.finding("error").ok


def test_nothing_is_written(installed, home, tmp_path):
    for part in delivered(home):
        home.append(C, system_message(13, part))
    home.write(D, long_talk())
    before = {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*")}
    for check in (*CHECKS, "error", "registration", "twice", "off", "settings"):
        installed.findings(check)
    assert {each: each.stat().st_mtime_ns for each in tmp_path.rglob("*")} == before
