"""The made-up conversation, and a look at an answer that is as strict as the host's."""

import json
from types import SimpleNamespace

import pytest

from rehydrate import launch
from rehydrate.clients.claude_code import contract, install, rehearsal, transcript
from rehydrate.clients.claude_code.layout import place_of

TEXT = (
    "[POST-COMPACT REHYDRATION v1 | checkpoint=1 | id=01234567]\nRehearsal of rehydrate doctor: nothing here is real."
)


@pytest.fixture
def stage(tmp_path):
    return rehearsal.made_up(str(tmp_path))


def reply(text=TEXT, **more):
    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text, **more}}
    ).encode()


class TestTheStage:
    def test_the_payload_leads_to_the_conversation(self, stage):
        payload = contract.read_payload(stage.payload)
        assert contract.locate(payload, {}).path == stage.transcript
        lost = {**json.loads(stage.payload), "transcript_path": "/gone"}
        assert contract.locate(contract.read_payload(json.dumps(lost).encode()), stage.environ).path == stage.transcript

    def test_nothing_was_compacted_before(self, stage):
        assert transcript.boundaries(place_of(stage.transcript)) == ()

    def test_all_of_it_lies_in_the_folder(self, stage, tmp_path):
        payload = json.loads(stage.payload)
        assert all(each.startswith(f"{tmp_path}/") for each in (payload["transcript_path"], payload["cwd"]))
        assert all(each.startswith(f"{tmp_path}/") for each in stage.environ.values())


class TestValue:
    def test_its_text(self):
        assert rehearsal.check_value(reply(), is_first=True) == [TEXT]

    def test_up_to_the_hosts_cap(self):
        text = TEXT + "x" * (10_000 - len(TEXT))
        assert rehearsal.check_value(reply(text), is_first=True) == [text]

    @pytest.mark.parametrize("answer", [b"", b"{}"])
    def test_only_the_first_must_say_something(self, answer):
        assert rehearsal.check_value(answer, is_first=False) == []
        with pytest.raises(ValueError, match="nothing would be put back"):
            rehearsal.check_value(answer, is_first=True)

    def test_only_the_first_must_hold_the_last_request(self):
        marker = TEXT.partition("\n")[0]
        assert rehearsal.check_value(reply(marker), is_first=False) == [marker]
        with pytest.raises(ValueError, match="does not hold what was said"):
            rehearsal.check_value(reply(marker), is_first=True)

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (b"hello", "plain text"),
            (reply() + b"\n}", "plain text"),
            (b"\xef\xbb\xbf" + reply(), "plain text"),
            (reply()[:-1] + b', "hookSpecificOutput": {}}', "a key twice"),
            (reply()[:-1] + b', "continue": true}', "hookSpecificOutput"),
            (reply(x=1), "hookSpecificOutput"),
            (reply(hookEventName="Stop"), "not one to SessionStart"),
            (reply(None), "not one to SessionStart"),
            (b"[]", "hookSpecificOutput"),
            (reply("\ud800"), "surrogate"),
            (reply(TEXT + "x" * (10_001 - len(TEXT))), "10,000 characters"),
            (reply(TEXT + "😀" * 5_000), "10,000 characters"),
            (reply("hello"), "not with the marker"),
        ],
    )
    def test_what_the_host_drops_or_cuts(self, answer, words):
        with pytest.raises(ValueError, match=words):
            rehearsal.check_value(answer, is_first=True)


class TestRehearse:
    def commands(self, values=3):
        return [launch.take_apart(each) for each in install.hook_command(values=values)]

    def rehearse(self, stage, *answers):
        left = list(answers)
        return rehearsal.rehearse(
            stage, self.commands(len(answers)), lambda _: SimpleNamespace(answer=left.pop(0), ms=len(left))
        )

    def test_every_value_is_asked_for(self, stage):
        told = self.rehearse(stage, reply(), reply(), reply())
        assert told == f"a made-up compaction gets 3 values of at most {len(TEXT)} characters, the slowest in 2 ms"

    def test_a_short_conversation_needs_one(self, stage):
        assert "gets 1 value of" in self.rehearse(stage, reply(), b"", b"")

    def test_a_single_value(self, stage):
        assert "gets 1 value of" in self.rehearse(stage, reply())

    def test_one_that_is_wrong_is_a_fault(self, stage):
        with pytest.raises(ValueError, match="plain text"):
            self.rehearse(stage, reply(), b"oh")


def test_options_of_a_registration(tmp_path):
    environ = {"HOME": str(tmp_path)}
    assert rehearsal.usual(environ) == [("--part", "1"), ("--part", "2"), ("--part", "3")]
    assert rehearsal.usual({**environ, "REHYDRATE_VALUES": "1"}) == [()]
    commands = [launch.take_apart(each).options for each in install.hook_command(values=9)]
    assert [(), *commands] == list(rehearsal.OPTIONS)


def test_the_size_of_what_the_model_would_see():
    assert rehearsal.too_large([]) is None
    assert rehearsal.too_large(["x" * 10_000]) is None
    assert "10,002 characters" in rehearsal.too_large(["x", "😀" * 5_001])[0]
