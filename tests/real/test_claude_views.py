"""The view of the model that we compute, held against what the real Claude Code CLI sends to the model.

Compared without system reminders and cache marks, and block by block, see `tests.rig.claude.evidence.plain_blocks`.
"""

import pytest

from rehydrate.entries.chain import Scope
from rehydrate.entries.log import Log
from rehydrate.entries.view import model_view
from tests.rig.claude import scenarios
from tests.rig.claude.evidence import plain_blocks

LOST_RESULT = "[Tool call interrupted: the session ended before this call's result was recorded"
"""What a resume writes for a call that has no result."""
NO_RESPONSE = "No response requested."
"""What a resume lets the assistant say after an interrupted turn."""


@pytest.fixture(scope="session", params=[(scenario, "ours") for scenario in scenarios.SCENARIOS], ids="-".join)
def played(request, play_claude):
    return play_claude(*request.param)


def viewed(path):
    """The blocks of the model's view of a transcript."""
    with Log(path) as log:
        records = [log.record(index) for index in model_view(Scope(log)).entries]
    return plain_blocks(message for record in records if (message := message_of(record)))


def message_of(record):
    """(role, content) of a record that is sent; what a command of the user's printed is sent as the user's text."""
    if record["type"] in ("user", "assistant"):
        return record["message"]["role"], record["message"]["content"]
    return ("user", record["content"]) if record.get("subtype") == "local_command" else None


def without_repairs(blocks):
    """Without what a resume adds for a turn that did not come to its end, and without the prompt at the end."""
    lost = {block["id"] for _, block in blocks if block.get("text", "").startswith(LOST_RESULT)}
    kept = [(role, block) for role, block in blocks[:-1] if block.get("id") not in lost]
    return kept[:-1] if kept and kept[-1] == ("assistant", {"type": "text", "text": NO_RESPONSE}) else kept


def test_a_resume_sends_the_view_of_the_transcript_before_it(played):
    compared = 0
    for number, asked in enumerate(played.facts["asked"]):
        requests = played.requests_of(number)
        if asked["before"] and requests and not played.requests_of(number, "summary"):
            assert without_repairs(requests[0].blocks) == viewed(asked["before"])
            compared += 1
    assert compared


def test_the_view_at_the_end_is_the_last_request_and_its_answer(played):
    for session, transcript in played.facts["sessions"].items():
        number = max(n for n, asked in enumerate(played.facts["asked"]) if asked["session"] == session)
        answer = ("assistant", {"type": "text", "text": played.facts["asked"][number]["scripted"]})
        assert viewed(transcript) == [*played.requests_of(number)[-1].blocks, answer]
