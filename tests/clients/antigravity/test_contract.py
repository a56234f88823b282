import json
import os

import pytest

from rehydrate.clients.antigravity import contract
from tests.clients.antigravity.making import talk


def payload(**members):
    return contract.read_payload(json.dumps(members).encode())


def test_a_payload_is_read_with_all_its_members():
    read = payload(
        conversationId="c",
        transcriptPath="/t",
        artifactDirectoryPath="/a",
        workspacePaths=["/w"],
        invocationNum=3,
        more={},
    )
    assert read == contract.Payload("c", "/t", "/a", ("/w",))


def test_every_member_may_be_missing_or_of_a_wrong_type():
    assert payload() == contract.Payload(None, None, None, ())
    assert payload(conversationId=3, transcriptPath=None, artifactDirectoryPath=[], workspacePaths="x") == payload()
    assert payload(workspacePaths=[1, None, "", "/w", "/n\0ul"]).workspaces == ("/w",)


@pytest.mark.parametrize(
    "data", [b"", b"nothing", b"[]", b"3", b"null", b'{"a":', b"\xff\xfe", b'"text"', b"[" * 100_000]
)
def test_what_is_no_object_is_no_payload(data):
    assert contract.read_payload(data) is None


def test_only_the_first_value_is_read_and_only_a_mebibyte():
    assert (
        contract.read_payload(b'\xef\xbb\xbf \n{"conversationId":"c"}{"conversationId":"d"} junk').conversation == "c"
    )
    assert contract.read_payload(b'{"x":"' + b"a" * contract.PAYLOAD_BYTES + b'"}') is None


def test_f23_half_a_surrogate_pair_is_harmless():
    read = contract.read_payload(
        b'{"transcriptPath":"/x\\ud800","conversationId":"\\udfff","workspacePaths":["\\ud800"]}'
    )
    assert read == contract.Payload(None, None, None, ())
    assert contract.locate(read, {}) is None


def test_the_transcript_is_looked_for_by_path_then_artifacts_then_id(home):
    one, two, three = (home.write(session, talk(0, 1)) for session in ("one", "two", "three"))
    folder = str(home.conversation("two"))
    full = contract.Payload("three", one, folder, ())
    assert contract.locate(full, home.environ).path == one
    assert contract.locate(contract.Payload("three", "/gone/transcript.jsonl", folder, ()), home.environ).path == two
    assert contract.locate(contract.Payload("three", None, "/gone", ()), home.environ).path == three
    assert contract.locate(contract.Payload("four", None, None, ()), home.environ) is None


def test_a_file_among_the_artifacts_is_no_transcript(home):
    home.write("one", talk(0, 1))
    (home.conversation("one") / "transcript_full.jsonl").write_bytes(b"")
    place = contract.locate(contract.Payload(None, None, str(home.conversation("one")), ()), home.environ)
    assert place.path == str(home.logs("one") / "transcript_full.jsonl")
    bare = home.conversation("bare")
    bare.mkdir()
    (bare / "transcript.jsonl").write_bytes(b"")
    assert contract.locate(contract.Payload(None, None, str(bare), ()), home.environ) is None


def test_f58_an_id_that_disagrees_with_the_path_loses(home):
    one, _ = home.write("one", talk(0, 1)), home.write("two", talk(0, 1))
    assert contract.locate(contract.Payload("two", one, None, ()), home.environ).session == "one"


def test_the_uncut_file_is_taken_whichever_the_payload_names(home):
    full = home.write("one", talk(0, 1))
    cut = home.write("one", talk(0, 1), name="transcript.jsonl")
    assert contract.locate(contract.Payload(None, cut, None, ()), home.environ).path == full


def test_f58_a_path_that_is_no_regular_transcript_is_not_taken(home, tmp_path, monkeypatch):
    home.write("one", talk(0, 1))
    monkeypatch.chdir(home.logs("one"))
    other = tmp_path / "other.jsonl"
    other.write_bytes(b"")
    fifo = tmp_path / "transcript.jsonl"
    os.mkfifo(fifo)
    link = tmp_path / "transcript_full.jsonl"
    link.symlink_to(home.logs("one") / "transcript_full.jsonl")
    for path in ("transcript_full.jsonl", str(other), str(fifo), str(link), str(tmp_path), "/dev/zero", "/etc/passwd"):
        assert contract.locate(contract.Payload(None, path, None, ()), {}) is None


def test_a_reply_is_exactly_the_contracts_object():
    assert json.loads(contract.reply(["a", "b"])) == {
        "injectSteps": [{"systemMessage": {"systemMessage": "a"}}, {"systemMessage": {"systemMessage": "b"}}]
    }
    assert json.loads(contract.reply(["a"], message="ephemeralMessage")) == {"injectSteps": [{"ephemeralMessage": "a"}]}
    assert contract.reply([]) == "{}"


def test_a_reply_is_ascii_and_holds_no_half_of_a_pair():
    text = contract.reply(["é \U0001f600 \ud800 \udc00 \n\0"])
    assert text.isascii() and "\n" not in text
    assert json.loads(text)["injectSteps"][0]["systemMessage"]["systemMessage"] == "é \U0001f600 \ufffd \ufffd \n\0"


def test_any_other_kind_of_step_is_refused():
    with pytest.raises(ValueError, match="userMessage"):
        contract.reply(["a"], message="userMessage")
