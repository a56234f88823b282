"""`show` and `lineage`: the hook's own answer, for people and for programs."""

import json
import os

import pytest

from rehydrate import serve
from rehydrate.clients import module
from rehydrate.invocation import invoke
from rehydrate.settings import Settings
from tests.process.home import Recorder


def record(step, type, content, **more):
    return {"step_index": step, "type": type, "status": "DONE", "content": content, **more}


def write(shell, session, *records):
    log = shell.transcript(session)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(each) + "\n" for each in records), "utf-8")
    return log


class TestJson:
    @pytest.fixture
    def told(self, laid_out):
        done = laid_out.run("show", laid_out.C, "--json")
        assert (done.status, done.err) == (0, "")
        return done.json

    def test_the_document_has_these_members_in_this_order(self, told, laid_out):
        assert list(told) == [
            *("version", "client", "session", "transcript", "boundary", "lineage"),
            *("stats", "sections", "parts", "text", "lossy"),
        ]
        assert (told["version"], told["client"], told["session"]) == (1, "antigravity", laid_out.C)
        assert told["transcript"] == str(laid_out.transcript(laid_out.C))

    def test_the_boundary_is_told_with_its_judgement(self, told):
        assert told["boundary"].keys() == {"step", "form", "counts", "why"}
        assert (told["boundary"]["step"], told["boundary"]["form"], told["boundary"]["counts"]) == (42, 2, True)

    def test_lineage_is_oldest_first(self, told, laid_out):
        segments = [(each["session"], each["min_step"], each["max_step"]) for each in told["lineage"]]
        assert segments == [(laid_out.A, 0, 11), (laid_out.B, 12, 24), (laid_out.C, 25, 42)]
        assert told["lineage"] == laid_out.run("lineage", laid_out.C, "--json").json["segments"]

    def test_the_four_sections_keep_their_budgets(self, told):
        assert [each["name"] for each in told["sections"]] == ["requests", "dialogue", "documents", "files"]
        for each in told["sections"]:
            assert each.keys() == {"name", "budget_chars", "used_chars", "items", "left_out", "refused"}
            assert 0 < each["used_chars"] <= each["budget_chars"]

    def test_items_have_their_members_in_reading_order(self, told):
        requests, dialogue, documents, files = (each["items"] for each in told["sections"])
        assert [(each["step"], each["role"]) for each in requests] == [
            *((0, "user"), (7, "user"), (12, "fork"), (12, "user"), (19, "user")),
            *((25, "fork"), (25, "user"), (34, "user"), (39, "user")),
        ]
        assert all(each.keys() >= {"step", "role", "text"} for each in requests)
        assert all(each.keys() >= {"step", "role", "text", "tools"} for each in dialogue)
        wanted = {"path", "step", "role", "clipped", "left_out_chars"}
        assert all(each.keys() >= wanted for each in (*documents, *files))
        assert [each["path"].rpartition("/")[2] for each in documents] == ["SKILL.md", "PLAN.md"]

    def test_stats_count_what_stands_in_the_text(self, told):
        sections = {each["name"]: each["items"] for each in told["sections"]}
        assert told["stats"] == {
            "checkpoint": 42,
            "fork_hops": 2,
            "user_msgs": sum(each["role"] == "user" for each in sections["requests"]),
            "kept_turns": len(sections["dialogue"]),
            "skills": len(sections["documents"]),
            "files": len(sections["files"]),
            "chars": len(told["text"]),
            "est_tokens": len(told["text"]) // 3,
        }

    def test_parts_are_numbered_and_measured(self, told, laid_out, monkeypatch):
        (only,) = told["parts"]
        assert only == {"k": 1, "n": 1, "bytes": len(told["text"].encode()), "utf16": len(told["text"]), **text(only)}
        monkeypatch.setenv("REHYDRATE_PART_BYTES", "4000")
        parts = laid_out.run("show", laid_out.C, "--json").json["parts"]
        assert [(each["k"], each["n"]) for each in parts] == [(k, len(parts)) for k in range(1, len(parts) + 1)]
        assert all(each["bytes"] == len(each["text"].encode()) <= 4000 for each in parts)
        assert [laid_out.run("show", laid_out.C, "--json", "--part", 2).json["parts"]] == [[parts[1]]]


def text(part_):
    return {"text": part_["text"]}


def test_it_is_what_serve_gives(laid_out):
    place = module("antigravity", "layout").place_of(str(laid_out.transcript(laid_out.C)))
    served = serve.serve("antigravity", place, settings=Settings())
    assert laid_out.run("show", laid_out.C, "--text").out == served.rehydration.text


def test_it_is_what_the_hook_sends(laid_out):
    reply = Recorder()
    payload = json.dumps({"transcriptPath": str(laid_out.transcript(laid_out.C))}).encode()
    invoke("antigravity", payload, message="ephemeralMessage", reply=reply, environ=os.environ)
    (step,) = json.loads(reply.sent[0])["injectSteps"]
    assert laid_out.run("show", laid_out.C, "--text").out == step["ephemeralMessage"]


def test_without_a_form_a_summary(laid_out):
    out = laid_out.run("show").out
    assert f"antigravity:{laid_out.C}" in out
    assert "step 42, counts" in out
    assert "\x1b" not in out


def test_part_prints_that_part_alone(laid_out, monkeypatch):
    monkeypatch.setenv("REHYDRATE_PART_BYTES", "4000")
    second = laid_out.run("show", "--part", 2)
    assert second.out.startswith("[POST-COMPACT REHYDRATION v1 | checkpoint=42 | ") and "part 2/" in second.out
    beyond = laid_out.run("show", "--part", 99)
    assert beyond.status == 1 and "no part 99" in beyond.err


def test_why_names_form_reason_and_refused_files(laid_out):
    (laid_out.cwd / "tidepool" / "cli.py").unlink()
    out = laid_out.run("show", "--why").out
    assert "42: counts: form 2" in out
    assert "~/work/tidepool/cli.py: gone" in out


def test_why_says_what_there_was_no_room_for(laid_out, monkeypatch):
    monkeypatch.setenv("REHYDRATE_SINGLE_FILE_CHARS", "500")
    monkeypatch.setenv("REHYDRATE_DIALOGUE_CHARS", "0")
    out = laid_out.run("show", "--why").out.partition("Left out")[2]
    assert "dialogue: 24 of its candidates" in out
    assert "characters of" in out


def test_at_end_is_a_compaction_now(shell):
    said = record(2, "PLANNER_RESPONSE", "After.", source="MODEL")
    one = [record(0, "USER_INPUT", "Hello.", source="USER_EXPLICIT"), record(1, "CHECKPOINT", "{{ CHECKPOINT 3 }}")]
    log = write(shell, "c1", *one, said)
    assert "After." not in shell.run("show", log, "--json").json["text"]
    told = shell.run("show", log, "--at", "end", "--json").json
    assert told["boundary"] is None and "After." in told["text"]


def test_at_a_boundary_that_does_not_count(shell):
    log = write(shell, "c1", record(0, "USER_INPUT", "Hello."), record(1, "CHECKPOINT", "{{ CHECKPOINT 0 }}"))
    assert shell.run("show", log, "--json").json["boundary"] is None
    told = shell.run("show", log, "--at", 1, "--json").json
    assert (told["boundary"]["step"], told["boundary"]["counts"]) == (1, False)


def test_no_such_boundary_names_those_there_are(laid_out):
    done = laid_out.run("show", "--at", 7)
    assert done.status == 1
    assert "42" in done.err


def test_a_conversation_without_a_message_is_1(shell):
    log = write(shell, "c1", record(0, "CHECKPOINT", "{{ CHECKPOINT 3 }}"))
    done = shell.run("show", log, "--json")
    assert (done.status, done.out) == (1, "")
    assert "no message" in done.err


def test_a_bad_setting_is_named_and_not_used(laid_out, monkeypatch):
    monkeypatch.setenv("REHYDRATE_FILES_CHARS", "many")
    done = laid_out.run("show", "--json")
    assert done.status == 0 and "REHYDRATE_FILES_CHARS" in done.err
    assert done.json["sections"][3]["budget_chars"] == 48_000


@pytest.mark.parametrize("command", [("show",), ("show", "--json"), ("lineage",), ("lineage", "--json")], ids=" ".join)
def test_nothing_is_written(laid_out, command):
    def tree():
        return {each: each.stat().st_mtime_ns for each in laid_out.folder.rglob("*")}

    before = tree()
    assert laid_out.run(*command).status == 0
    assert tree() == before


class TestLineage:
    def test_json_has_these_members_and_the_conversation_last(self, laid_out):
        told = laid_out.run("lineage", "--json").json
        assert list(told) == ["version", "client", "session", "segments", "complete", "why"]
        assert told["complete"] is True
        assert told["segments"][-1] == {
            "session": laid_out.C,
            "path": str(laid_out.transcript(laid_out.C)),
            "min_step": 25,
            "max_step": 42,
        }

    def test_a_missing_ancestor_is_said(self, laid_out):
        laid_out.transcript(laid_out.A).unlink()
        laid_out.transcript(laid_out.A).with_name("transcript.jsonl").unlink()
        told = laid_out.run("lineage", "--json").json
        assert told["complete"] is False and told["why"]
        assert "incomplete" in laid_out.run("lineage").out

    def test_text_shortens_paths(self, laid_out):
        first = laid_out.run("lineage").out.splitlines()[0].split()
        assert first[:2] == [laid_out.A, "0..11"]
        assert first[2].startswith("~/gemini/")
