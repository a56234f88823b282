"""What the log shows of our hook after a compaction."""

import pytest

from rehydrate.clients.claude_code import arrival, transcript
from rehydrate.clients.claude_code.layout import place_of
from tests.clients.claude_code.making import START_S, Home, Talk, session_id

MARKER = "[POST-COMPACT REHYDRATION v1 | checkpoint=1 | id=01234567{}]\nText."


def context(*texts, event="SessionStart"):
    return {"type": "hook_additional_context", "content": list(texts), "hookEvent": event}


def ran(command="rehydrate hook claude-code || true", **more):
    return {"type": "hook_success", "hookEvent": "SessionStart", "command": command, "stderr": "", **more}


@pytest.fixture
def after(tmp_path):
    """What is seen after a compaction that these attachments follow."""

    def look(*attachments):
        talk = Talk(session_id(1))
        talk.talk("Build it.", "Yes.")
        talk.entry("attachment", attachment=context(MARKER.format(" | part 3/3")))  # of an earlier one
        talk.compact()
        for each in attachments:
            talk.entry("attachment", attachment=each)
        path = Home(tmp_path).write(talk)
        return arrival.after(path, transcript.boundaries(place_of(path))[-1].offset)

    return look


def test_nothing_came(after):
    found = after()
    assert (found.parts, found.trouble, found.time_s) == ((), None, START_S + 4)


def test_the_values_that_came(after):
    texts = [MARKER.format(f" | part {number}/3") for number in (2, 1)]
    assert after(context(*texts), context(texts[0])).parts == ((1, 3), (2, 3))


def test_a_single_value_has_no_number(after):
    assert after(context(MARKER.format(""))).parts == ((1, 1),)


@pytest.mark.parametrize(
    "attachment",
    [
        context(f"> {MARKER.format('')}"),
        context(MARKER.format(""), event="UserPromptSubmit"),
        {"type": "hook_additional_context", "hookEvent": "SessionStart", "content": MARKER.format("")},
        context(1, None),
        "text",
    ],
)
def test_what_is_none_of_ours(after, attachment):
    assert after(attachment).parts == ()


def test_what_the_hook_printed(after):
    assert after(ran(), ran(stderr="Traceback\nValueError: oh no\n")).trouble == "ValueError: oh no"


def test_what_another_hook_printed_is_its_own_business(after):
    assert after(ran("lint", stderr="oh no")).trouble is None


def test_an_offset_behind_the_end(tmp_path):
    path = Home(tmp_path).write(Talk(session_id(1)))
    assert arrival.after(path, 10_000) == arrival.Arrival((), None, None)
