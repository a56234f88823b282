"""Every text that leaves is masked, whole, before anything is cut from it."""

import json
from dataclasses import replace

import pytest

from rehydrate import notable
from rehydrate.conversation import KEPT_CHARS, Agent, Conversation, ToolCall
from rehydrate.files import Access
from tests.recall.samples import conversation, rehydrated, said, touches, user

TOKEN = "ghp_" + "aB3dE5gH7j" * 4
KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAx0y9\n" * 30 + "-----END PRIVATE KEY-----\n"
PARTS = ("ghp_", "aB3dE5gH7j", "MIIEp")
"""What must not be left, not even half of it."""


def everything(made: Conversation, access: Access | None = None) -> str:
    """All that can leave: text, parts of any size, what `show --json` has, and values."""
    whole = rehydrated(made, access=access)
    found = [whole.text, *whole.parts(1_000), *whole.parts(5_000), *whole.parts(1_500, "utf16")]
    found += [json.dumps(section.as_json()) for section in whole.sections]
    for count in (1, 3):
        found += whole.values(made, count=count, redact=True, whereabouts="In a file.")
    return "\n".join(found)


def clean(made: Conversation, access: Access | None = None) -> bool:
    found = everything(made, access)
    return "[redacted: " in found and not any(part in found for part in PARTS)


@pytest.mark.parametrize("at", [80, 100, 110, 500, 960, 4_480, 5_990])
def test_a_token_at_any_clip_of_what_was_said(at: int) -> None:
    text = ("word " * at)[:at] + TOKEN + " more" * 3_000
    found = everything(conversation([user(0, text), said(1, text), user(2, "Go on: " + text)]))
    assert "word word" in found and not any(part in found for part in PARTS)


def test_the_name_path_and_command_of_a_call() -> None:
    calls = (
        ToolCall(f"tool {TOKEN}", path=f"/w/{TOKEN}/PASSWORD={TOKEN}/a.py", pending=True),
        ToolCall("Bash", command=f"curl -H 'x: {TOKEN}'", pending=True),
        ToolCall("Grep", detail=f"find {TOKEN}", pending=True),
    )
    agents = (Agent(f"n {TOKEN}", f"d {TOKEN}", f"i {TOKEN}"),)
    assert clean(replace(conversation([user(0, "go"), said(1, "ok", *calls), said(2, "")]), agents=agents))


@pytest.mark.parametrize("over", range(0, 44, 4))
def test_half_a_token_that_a_reader_kept_of_a_command_a_detail_or_a_task(over: int) -> None:
    text = ((f"{TOKEN} " * 200)[: KEPT_CHARS - over - 1] + " " + TOKEN)[:KEPT_CHARS]
    calls = (ToolCall("Bash", command=text, pending=True), ToolCall("Task", detail=text, pending=True))
    made = replace(conversation([user(0, "go"), said(1, "ok", *calls)]), agents=(Agent("a", text),))
    assert clean(made)


@pytest.mark.parametrize("before", [*range(150, 204, 6), *range(280, 330, 6), 790, 900])
def test_half_a_token_at_the_cut_of_a_line_or_a_sentence_that_is_noted(before: int) -> None:
    line = "error 1: " + "y" * (before - 10) + " " + TOKEN + " z" * 900
    sentence = "We decided on plan 2 because " + "y" * (before - 30) + " " + TOKEN + " z" * 900 + "."
    call = ToolCall("Bash", command="make", noted=notable.result_lines(line + "\n" + line[:20]))
    turn = replace(said(1, None, call), noted=notable.sentences(sentence))
    made = conversation([user(0, f"go {TOKEN}"), turn, said(2, "done")])
    assert call.noted and turn.noted and clean(made)


@pytest.mark.parametrize("padding", ["", "1 row of the log\n" * 590, "1 row of the log\n" * 3_000])
def test_no_line_of_a_private_key_is_noted(padding: str) -> None:
    text = padding + KEY + padding
    for found in (notable.result_lines(text), notable.file_lines(text), notable.changed_lines("", text)):
        assert not any("MIIE" in line for line in found)


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_no_half_line_of_the_ends_of_a_long_result_is_noted(shift: int) -> None:
    text = "\n".join(f"error {number}: {TOKEN}" for number in range(2_000)) + " 1 passed"
    kept = notable.result_lines("a" * shift + "\n" + text)
    turn = said(1, "done", ToolCall("Bash", command="make", noted=kept))
    assert clean(conversation([user(0, f"go {TOKEN}"), turn]))


def test_files_their_paths_and_the_names_of_those_that_were_refused(tmp_path) -> None:
    workspace = tmp_path / "w"
    (workspace / TOKEN).mkdir(parents=True)
    for name in ("PLAN.md", "a.py"):
        (workspace / TOKEN / name).write_text("x = 1\n" * 3_000 + KEY + f"t = '{TOKEN}'\n" + "x = 1\n" * 5_000)
    rows = [(f"{workspace}/{TOKEN}/{name}", 1, "read") for name in ("PLAN.md", "a.py", "gone.py", "HANDOFF.md")]
    made = conversation([user(0, "go")], touches(*rows))
    access = Access((str(workspace),))
    assert clean(made, access)
    assert any(each.refused for each in rehydrated(made, access=access).sections)


def test_what_a_person_should_know_of_how_it_was_read() -> None:
    made = conversation([user(0, "go")])
    assert clean(replace(made, notes=(f"Steps of {TOKEN} could not be read.",)))


def test_a_private_key_over_the_border_of_parts() -> None:
    assert clean(conversation([user(0, "a " * 300 + KEY + "b " * 3_000)]))
