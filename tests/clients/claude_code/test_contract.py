"""contract: what the host sends to SessionStart after a compaction, and what it takes as an answer."""

import json
from pathlib import Path

import pytest

from rehydrate import scan
from rehydrate.clients.claude_code import contract, layout
from rehydrate.conversation import MARKER_HEAD

from .making import WORKSPACE, Home, Talk, session_id

DATA = Path(__file__).parents[2] / "data" / "claude-code"
S = session_id(1)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def payload(**members):
    given = {"session_id": S, "transcript_path": None, "cwd": WORKSPACE, "hook_event_name": "SessionStart",
             "source": "compact", **members}  # fmt: skip
    return json.dumps({name: value for name, value in given.items() if value is not None}).encode()


def located(home, **members):
    read = contract.read_payload(payload(**members))
    assert read is not None
    return contract.locate(read, home.environ)


def talk(session=S, *, cwd=WORKSPACE):
    made = Talk(session, cwd=cwd)
    made.talk("Fix add.", "Fixed.")
    return made


class TestPayload:
    @pytest.mark.parametrize("scenario", ["auto-compact", "manual-compact"])
    def test_of_what_the_real_client_sends_the_compaction_alone_is_answered(self, scenario):
        rows = [json.loads(line) for line in (DATA / scenario / "hooks.jsonl").read_text().splitlines()]
        read = [(row, contract.read_payload(json.dumps(row).encode())) for row in rows]
        answered = [(row["hook_event_name"], row.get("source")) for row, found in read if found is not None]
        assert answered and set(answered) == {("SessionStart", "compact")}

    def test_its_members_are_taken(self):
        read = contract.read_payload(payload(transcript_path="/t/x.jsonl"))
        assert read == contract.Payload(S, "/t/x.jsonl", (WORKSPACE,))

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"7", b'"compact"', b"\xff\xfe", b"[" * 100_000])
    def test_what_is_no_object_is_none(self, data):
        assert contract.read_payload(data) is None

    @pytest.mark.parametrize(
        "members",
        [{"source": each} for each in ("resume", "startup", "clear", "fork", 7)]
        + [{"hook_event_name": each} for each in ("PreCompact", "PostCompact", 7)],
    )
    def test_any_other_event_is_none(self, members):
        assert contract.read_payload(payload(**members)) is None

    def test_that_of_a_subagent_is_none(self):
        assert contract.read_payload(payload(agent_id="a1b2", agent_type="Explore")) is None

    def test_that_of_a_session_run_as_an_agent_is_taken(self):
        assert contract.read_payload(payload(agent_type="reviewer"))

    @pytest.mark.parametrize("member", ["session_id", "transcript_path", "cwd", "hook_event_name", "source"])
    def test_a_member_may_be_missing(self, member):
        assert contract.read_payload(payload(**{member: None}))

    @pytest.mark.parametrize("value", [7, [], {}, "", True])
    def test_a_member_of_another_kind_counts_as_missing(self, value):
        read = contract.read_payload(payload(session_id=value, transcript_path=value, cwd=value))
        assert read == contract.Payload(None, None, ())

    def test_half_of_a_surrogate_pair_counts_as_missing(self):
        read = contract.read_payload(b'{"source": "compact", "session_id": "\\ud800", "cwd": "/w\\udc00"}')
        assert read == contract.Payload(None, None, ())

    def test_what_follows_the_first_value_is_passed_over(self):
        assert contract.read_payload(b"\xef\xbb\xbf \n" + payload() + b" {")


class TestLocate:
    def test_the_transcript_that_is_named(self, home):
        path = home.write(talk())
        assert located(home, transcript_path=path).path == path

    def test_without_a_path_the_only_one_with_the_id(self, home):
        path = home.write(talk(), project=home.projects / "-elsewhere")
        assert located(home).path == path

    def test_a_path_that_does_not_exist_yet_gives_way_to_the_id(self, home):
        path = home.write(talk(), project=home.projects / "-elsewhere")
        assert located(home, transcript_path=f"{home.project()}/{S}.jsonl").path == path

    def test_an_empty_file_gives_way_to_the_id(self, home):
        stub = Path(home.write(Talk(S)))
        assert stub.read_bytes() == b""
        path = home.write(talk(), project=home.projects / "-elsewhere")
        assert located(home, transcript_path=str(stub)).path == path

    def test_of_two_with_the_id_none_is_taken(self, home):
        home.write(talk(), project=home.projects / "-one")
        home.write(talk(), project=home.projects / "-two")
        assert located(home, transcript_path="/gone.jsonl") is None

    def test_an_empty_one_with_the_id_does_not_count(self, home):
        path = home.write(talk(), project=home.projects / "-one")
        home.write(Talk(S), project=home.projects / "-two")
        assert located(home).path == path

    @pytest.mark.parametrize("session", ["../../etc", "*", "", None, "x" * 300])
    def test_an_id_that_is_none_finds_nothing(self, home, session):
        home.write(talk())
        assert located(home, session_id=session) is None

    def test_f58_what_is_no_transcript_is_not_taken(self, home, tmp_path):
        other = tmp_path / "other.jsonl"
        other.write_text('{"a": 1}\n')
        (tmp_path / "link.jsonl").symlink_to(home.write(talk(session_id(2))))
        (tmp_path / "folder.jsonl").mkdir()
        for path in (
            other,
            tmp_path / "link.jsonl",
            tmp_path / "folder.jsonl",
            "relative.jsonl",
            "/etc/passwd",
            "/dev/zero",
        ):
            assert located(home, transcript_path=str(path)) is None


class TestGoesOn:
    def test_an_entry_behind_the_cursor(self, home):
        path = Path(home.write(talk()))
        place = layout.place_of(str(path))
        cursor = scan.scan_tail(str(path)).cursor
        assert not contract.goes_on(place, cursor)
        with path.open("a") as file:
            file.write('{"type": "last-prompt", "sessionId": "x"}\n{"uuid": "unfinished')
        assert not contract.goes_on(place, cursor)
        with path.open("a") as file:
            file.write('"}\n')
        assert contract.goes_on(place, cursor)


class TestReply:
    def test_it_is_exactly_the_documented_object(self):
        text = MARKER_HEAD + " | checkpoint=1 | id=0badcafe]\n汉 \U0001f600"
        answer = contract.reply(text)
        assert answer.isascii()
        assert json.loads(answer) == {
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
        }

    def test_half_of_a_surrogate_pair_is_replaced(self):
        assert "\\ufffd" in contract.reply(MARKER_HEAD + "\ud800")

    def test_any_other_text_is_refused(self):
        with pytest.raises(ValueError, match="marker"):
            contract.reply("hello")


class TestFiles:
    def test_they_lie_in_the_conversations_own_folder(self, home):
        path = home.write(talk())
        assert contract.private_folder(layout.place_of(path)) == f"{path.removesuffix('.jsonl')}/rehydrate"

    def test_the_whole_is_named_on_one_line(self, home):
        place = layout.place_of(home.write(talk()))
        assert contract.whereabouts(place, "/a\nb/1-0badcafe.md", chars=900).endswith(" /a\\u{a}b/1-0badcafe.md")
        assert "more than one page" in contract.whereabouts(place, "/a.md", chars=90_000)

    def test_without_a_file_the_log_is_named(self, home):
        path = home.write(talk())
        assert contract.whereabouts(layout.place_of(path), None, chars=900).endswith(path)

    def test_leavings_are_our_folders_and_nothing_else(self, home, tmp_path):
        folder = Path(home.write(talk()).removesuffix(".jsonl"))
        (folder / "rehydrate").mkdir(parents=True)
        (folder / "tool-results").mkdir()
        linked = Path(home.write(talk(session_id(2))).removesuffix(".jsonl"))
        linked.mkdir()
        (linked / "rehydrate").symlink_to(tmp_path)
        assert contract.leavings(home.environ) == [str(folder / "rehydrate")]
