"""`show` and `lineage`: the hook's own answer, for people and for programs."""

import ast
import inspect
import json
import os
import subprocess
import sys

import pytest

from rehydrate import files, serve
from rehydrate.cli import reasons
from rehydrate.clients import module
from rehydrate.invocation import invoke
from rehydrate.settings import Settings
from tests.process.home import Recorder

MESSAGE = "ephemeralMessage"


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
    invoke("antigravity", payload, message=MESSAGE, reply=reply, environ=os.environ)
    (step,) = json.loads(reply.sent[0])["injectSteps"]
    assert laid_out.run("show", laid_out.C, "--text").out == step["ephemeralMessage"]


def test_part_prints_that_part_alone(laid_out, monkeypatch):
    monkeypatch.setenv("REHYDRATE_PART_BYTES", "4000")
    second = laid_out.run("show", "--part", 2)
    assert second.out.startswith("[POST-COMPACT REHYDRATION v1 | checkpoint=42 | ") and "part 2/" in second.out
    beyond = laid_out.run("show", "--part", 99)
    assert beyond.status == 1 and "no part 99" in beyond.err


class TestOverview:
    def test_names_the_conversation_and_how_its_boundary_is_judged(self, laid_out):
        lines = laid_out.run("show").out.splitlines()
        assert lines[0].startswith("Step 4, the cache. The key must be the digest")
        assert lines[1].split() == ["conversation", f"antigravity:{laid_out.C}"]
        assert lines[2].split() == ["transcript", tilde(laid_out, laid_out.transcript(laid_out.C))]
        assert lines[3].startswith("modified      2026-03-0")
        assert lines[4].startswith("boundary      step 42, counts: form 2: its first line begins")

    def test_the_title_is_masked_and_on_one_line(self, shell):
        secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
        log = write(shell, "c1", record(0, "USER_INPUT", f"\n  Use {secret}\x1b[31m now\nand more"))
        assert shell.run("show", log).out.splitlines()[0] == "Use [redacted: github token]\\x1b[31m now"

    def test_lineage_is_oldest_first(self, laid_out):
        out = laid_out.run("show").out
        assert out.index(laid_out.A) < out.index(laid_out.B) < out.rindex(laid_out.C)

    def test_without_ancestors_it_says_so(self, shell):
        log = write(shell, "c1", record(0, "USER_INPUT", "Hello."))
        assert "lineage       no ancestors\n" in shell.run("show", log).out

    def test_sections_have_a_line_each(self, laid_out):
        told = laid_out.run("show", "--json").json["sections"]
        lines = [line.split() for line in laid_out.run("show").out.splitlines()]
        assert ["section", "items", "left", "out", "characters", "budget"] in lines
        for each in told:
            count = sum(item["role"] != "fork" for item in each["items"])
            numbers = [count, each["left_out"], each["used_chars"], each["budget_chars"]]
            assert [each["name"], *(f"{number:,}" for number in numbers)] in lines

    def test_files_are_named_with_what_is_missing_of_them(self, laid_out, monkeypatch):
        monkeypatch.setenv("REHYDRATE_SINGLE_FILE_CHARS", "500")
        told = laid_out.run("show", "--json").json["sections"]
        out = laid_out.run("show").out
        for each in told[2]["items"] + told[3]["items"]:
            cut = f", {each['left_out_chars']:,} characters left out" if each["clipped"] else ""
            assert f"  {tilde(laid_out, each['path'])}, {each['role']} at step {each['step']}{cut}\n" in out

    def test_files_that_were_not_read_are_counted_by_reason(self, laid_out):
        (laid_out.cwd / "tidepool" / "cli.py").unlink()
        (laid_out.cwd / "PLAN.md").write_bytes(b"\0")
        assert "2 files not read: 1 not text, by its content; 1 no longer there\n" in laid_out.run("show").out

    def test_parts_are_told_with_their_bytes(self, laid_out, monkeypatch):
        monkeypatch.setenv("REHYDRATE_PART_BYTES", "4000")
        parts = laid_out.run("show", "--json").json["parts"]
        sizes = ", ".join(f"{each['bytes']:,}" for each in parts)
        assert f"in {len(parts)} parts of {sizes} bytes\n" in laid_out.run("show").out

    def test_a_delivery_that_was_sent_is_told(self, laid_out):
        assert "delivered     nothing that the hook remembers\n" in laid_out.run("show").out
        payload = json.dumps({"transcriptPath": str(laid_out.transcript(laid_out.C))}).encode()
        invoke("antigravity", payload, message=MESSAGE, reply=Recorder(), environ=os.environ)
        assert "delivered     step 42, sent, id " in laid_out.run("show").out
        assert "; not what is shown here\n" in laid_out.run("show", "--at", "end").out

    def test_the_last_line_says_what_to_do_next(self, laid_out):
        last = laid_out.run("show").out.splitlines()[-1]
        assert "--text" in last and "--why" in last

    def test_in_a_pipe_no_line_ends_in_a_blank_and_none_is_wrapped(self, laid_out):
        lines = laid_out.run("show").out.splitlines()
        assert all(line == line.rstrip() for line in lines)
        assert max(map(len, lines)) > 120


class TestWhy:
    def test_names_form_and_reason_of_every_boundary(self, shell):
        log = write(
            shell,
            "c1",
            record(0, "USER_INPUT", "Hello."),
            record(1, "CHECKPOINT", "{{ CHECKPOINT 0 }}"),
            record(2, "CHECKPOINT", "{{ CHECKPOINT 3 }}"),
        )
        told = why(shell, log)["Boundaries"]
        assert told[0].startswith("step 1 does not count: form 4: {{ CHECKPOINT 0 }}")
        assert told[1:] == ["step 2 counts: form 3: {{ CHECKPOINT 3 }} (this one is shown)"]

    def test_says_that_budgets_are_halved_and_why(self, shell):
        log = write(
            shell,
            "c1",
            record(0, "USER_INPUT", "Hello."),
            *(record(step, "CHECKPOINT", "{{ CHECKPOINT 3 }}") for step in (1, 3, 5)),
        )
        assert why(shell, log, "--at", "1")["Budgets"] == ["as the settings have them"]
        assert why(shell, log, "--at", "3")["Budgets"][0].startswith("halved: this compaction came soon after")
        (last,) = why(shell, log)["Budgets"]
        assert "third compaction in a row" in last
        assert f"budgets       {last}\n" in shell.run("show", log).out

    def test_names_bad_settings_there_alone(self, laid_out, monkeypatch):
        monkeypatch.setenv("REHYDRATE_FILES_CHARS", "many")
        done = laid_out.run("show", "--why")
        assert "REHYDRATE_FILES_CHARS" in done.out and done.err == ""

    def test_says_how_ancestors_were_found_and_that_one_is_missing(self, laid_out):
        assert laid_out.A in why(laid_out)["Lineage"][1]
        laid_out.transcript(laid_out.A).unlink()
        laid_out.transcript(laid_out.A).with_name("transcript.jsonl").unlink()
        assert why(laid_out)["Lineage"][0] == "an ancestor could not be found"

    def test_says_where_files_may_be_read_and_how_that_is_known(self, laid_out, monkeypatch):
        assert why(laid_out)["Where files may be read"] == ["~/work, a workspace by the client's history of prompts"]
        payload = {"transcriptPath": str(laid_out.transcript(laid_out.C)), "workspacePaths": [str(laid_out.cwd)]}
        invoke("antigravity", json.dumps(payload).encode(), message=MESSAGE, reply=Recorder(), environ=os.environ)
        assert why(laid_out)["Where files may be read"] == ["~/work, a workspace as the client told the hook"]
        (laid_out.folder / "more").mkdir()
        monkeypatch.setenv("REHYDRATE_EXTRA_ROOTS", str(laid_out.folder / "more"))
        assert "~/more, by the setting extra_roots" in why(laid_out)["Where files may be read"]

    def test_without_a_workspace_it_says_what_may_be_read(self, shell):
        log = write(shell, "c1", record(0, "USER_INPUT", "Hello."))
        assert why(shell, log)["Where files may be read"][0].startswith("no workspace is known")

    def test_names_refused_files_with_their_reason(self, laid_out):
        (laid_out.cwd / "tidepool" / "cli.py").unlink()
        assert why(laid_out)["Files that were not read"] == ["~/work/tidepool/cli.py: gone: no longer there"]

    def test_says_what_there_was_no_room_for(self, laid_out, monkeypatch):
        monkeypatch.setenv("REHYDRATE_SINGLE_FILE_CHARS", "500")
        monkeypatch.setenv("REHYDRATE_DIALOGUE_CHARS", "0")
        told = why(laid_out)["Left out"]
        assert "24 of 24 dialogue entries: the budget is 0" in told
        item = laid_out.run("show", "--json").json["sections"][3]["items"][0]
        assert f"{item['left_out_chars']} characters of {tilde(laid_out, item['path'])}, in files" in told

    def test_names_damaged_lines(self, laid_out):
        log = laid_out.transcript(laid_out.C)
        log.write_bytes(b'{"step_index":25,"type":"USER_INPUT",\n' + log.read_bytes())
        assert why(laid_out)["Notes"] == ["1 damaged line passed over."]

    def test_every_reason_has_its_words(self):
        tree = ast.parse(inspect.getsource(files))
        calls = (
            each for each in ast.walk(tree) if isinstance(each, ast.Call) and getattr(each.func, "id", "") == "Refused"
        )
        named = {each.args[0].value for each in calls if isinstance(each.args[0], ast.Constant)}
        assert named | set(files._REASONS.values()) | {"unreadable"} == set(reasons.WORDS)


def why(shell, *words):
    """Heading -> the lines below it."""
    told = {}
    for block in shell.run("show", *words, "--why").out.split("\n\n"):
        heading, *lines = block.splitlines()
        told[heading] = [line.removeprefix("  ") for line in lines]
    return told


def tilde(shell, path):
    return str(path).replace(str(shell.folder), "~", 1)


def test_rich_is_not_imported_for_json(laid_out):
    code = "import sys; from rehydrate.cli import group; group.run(); sys.exit('rich' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, "show", laid_out.C]
    assert subprocess.run([*command, "--json"], capture_output=True, env=environ).returncode == 0
    assert subprocess.run(command, capture_output=True, env=environ).returncode == 1  # the question can be answered


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
