"""What a conversation holds never changes the shape of a reply: the host takes it, and takes nothing else from it."""

import json
import os

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rehydrate.clients.antigravity import contract as antigravity
from rehydrate.clients.antigravity import layout as antigravity_layout
from rehydrate.clients.claude_code import contract as claude_code
from rehydrate.clients.claude_code import layout as claude_code_layout
from rehydrate.serve import serve
from rehydrate.settings import Settings
from tests.injection import grammar
from tests.injection.hostile import raw_signs, texts
from tests.process.home import Home, checkpoint, parts_of, said, user

SESSION = "c0ffee00-0000-4000-8000-000000000001"
several = st.lists(st.tuples(texts, texts, texts, texts), min_size=1, max_size=3)
quick = hypothesis_settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=25)


@quick
@given(several)
def test_a_reply_holds_the_parts_and_nothing_else(tmp_path_factory, rows):
    home = Home(tmp_path_factory.mktemp("home"))
    records = []
    for asked, answer, tool, about in rows:
        records += [
            user(len(records), asked),
            said(len(records) + 1, answer, (tool, {"Path": about, "CommandLine": about})),
        ]
    home.write(SESSION, [*records, checkpoint(len(records))])
    place = antigravity_layout.place_of(str(home.transcript(SESSION)))
    parts = serve("antigravity", place, settings=Settings(), workspaces=(f"/{rows[0][0]}",)).parts
    for message in antigravity.MESSAGES:
        reply = antigravity.reply(parts, message=message)
        assert reply.isascii() and raw_signs(reply) == set()
        assert parts_of(reply.encode()) == parts
    for part in parts:
        grammar.read(part)


def claude_log(folder, rows):
    entries, parent = [], None
    for number, (asked, answer, tool, about) in enumerate(rows):
        given = {"file_path": about, "command": about}
        told = [
            {"type": "text", "text": answer},
            {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given},
        ]
        for kind, content in (("user", asked), ("assistant", told)):
            uuid = f"{len(entries):08x}-0000-4000-8000-000000000000"
            message = {"role": kind, "content": content, "id": f"m{number}"}
            entries.append({"parentUuid": parent, "uuid": uuid, "sessionId": SESSION, "type": kind, "cwd": str(folder),
                            "message": message, "timestamp": "2026-03-01T10:00:00Z"})  # fmt: skip
            parent = uuid
    log = folder / f"{SESSION}.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in entries), "utf-8")
    return claude_code_layout.place_of(str(log))


@quick
@given(several)
def test_a_value_is_taken_as_it_is(tmp_path_factory, rows):
    place = claude_log(tmp_path_factory.mktemp("project"), rows)
    for value in serve("claude-code", place, settings=Settings()).parts:
        reply = claude_code.reply(value)
        assert reply.isascii() and raw_signs(reply) == set()
        answer = json.loads(reply)["hookSpecificOutput"]
        assert answer == {"hookEventName": "SessionStart", "additionalContext": value}
        grammar.read(value)


@pytest.mark.parametrize("name", [b"a\x1b[2J\xe2\x80\xa8\n## x", b"\x9b2J\xff"])
def test_a_folder_of_any_name_is_told_on_one_line(tmp_path, name):
    folder = tmp_path / os.fsdecode(name)
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    place = claude_log(folder, [("Do it.", "Done.", "Read", "/a")])
    (value,) = serve("claude-code", place, settings=Settings()).parts
    assert raw_signs(value) == set()
    notes = grammar.read(value).notes
    assert len(notes) == 2 and str(tmp_path) in notes[1]
    claude_code.reply(value).encode()
