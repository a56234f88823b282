"""The made-up conversation, and a look at an answer that is as strict as the host's."""

import json

import pytest

from rehydrate.clients.antigravity import contract, rehearsal, transcript
from rehydrate.clients.antigravity.layout import find, place_of
from rehydrate.settings import PART_BYTES_MAX

PART = (
    "[POST-COMPACT REHYDRATION v1 | checkpoint=4 | id=01234567]\nRehearsal of rehydrate doctor: nothing here is real."
)


@pytest.fixture
def stage(tmp_path):
    return rehearsal.made_up(str(tmp_path))


def reply(*steps, **more):
    return json.dumps({"injectSteps": list(steps), **more}).encode()


def system(text=PART):
    return {"systemMessage": {"systemMessage": text}}


class TestTheStage:
    def test_the_payload_leads_to_the_conversation(self, stage):
        payload = contract.read_payload(stage.payload)
        place = contract.locate(payload, {})
        assert place.path == stage.transcript
        assert find(stage.environ, payload.conversation).path == stage.transcript

    def test_it_is_quiet_until_it_compacts(self, stage):
        place = place_of(stage.transcript)
        assert transcript.boundaries(place) == ()
        rehearsal.compact(stage)
        assert [(each.step, each.counts) for each in transcript.boundaries(place)] == [(4, True)]

    def test_all_of_it_lies_in_the_folder(self, stage, tmp_path):
        payload = json.loads(stage.payload)
        named = [payload["transcriptPath"], payload["artifactDirectoryPath"], *payload["workspacePaths"]]
        homes = [value for key, value in stage.environ.items() if "HOME" in key or key == "USERPROFILE"]
        assert all(each.startswith(f"{tmp_path}/") for each in (*named, *homes))


class TestQuiet:
    def test_nothing_to_do(self):
        rehearsal.check_quiet(b"{}")

    @pytest.mark.parametrize("answer", [b"", b"{}\n", b"{ }", reply(system())])
    def test_anything_else(self, answer):
        with pytest.raises(ValueError, match="nothing had happened"):
            rehearsal.check_quiet(answer)


class TestDelivery:
    def test_parts_are_counted(self):
        assert rehearsal.check_delivery(reply(system(), system()), message="systemMessage") == 2

    def test_the_other_message(self):
        assert rehearsal.check_delivery(reply({"ephemeralMessage": PART}), message="ephemeralMessage") == 1

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (b"{}", "nothing would be put back"),
            (b"", "would drop"),
            (reply(system()) + b"\n}", "would drop"),
            (b"\xef\xbb\xbf" + reply(system()), "would drop"),
            (reply(system())[:-1] + b', "injectSteps": []}', "a key twice"),
            (reply(system(), metadata={}), "injectSteps"),
            (b'{"injectSteps": {}}', "injectSteps"),
            (reply({"userMessage": PART}), "no systemMessage"),
            (reply({"ephemeralMessage": PART}), "no systemMessage"),
            (reply({**system(), "x": 1}), "no systemMessage"),
            (reply({"systemMessage": PART}), "no systemMessage"),
            (reply(system("\ud800")), "surrogate"),
            (reply(system(PART + "x" * PART_BYTES_MAX)), "48,907 bytes"),
            (reply(system("hello")), "not with the marker"),
            (reply(system(PART.partition("\n")[0])), "does not hold what was said"),
            (reply(), "does not hold what was said"),
        ],
    )
    def test_what_the_host_drops_or_the_model_cannot_use(self, answer, words):
        with pytest.raises(ValueError, match=words):
            rehearsal.check_delivery(answer, message="systemMessage")


def test_options_of_a_registration():
    assert rehearsal.message_of(()) == "systemMessage"
    assert rehearsal.message_of(("--as", "ephemeralMessage")) == "ephemeralMessage"
    assert rehearsal.message_of(("--as", "userMessage")) is None
    assert rehearsal.message_of(("--as",)) is None
    assert rehearsal.message_of(("-x", "systemMessage")) is None
