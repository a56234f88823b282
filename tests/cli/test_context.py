"""`rehydrate context`: what of a log a model is sent, and its checkpoints, looked at and checked."""

import json
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehydrate.cli import context
from rehydrate.context import Engine, Policy, Request, records
from rehydrate.context.restore import restore
from rehydrate.context.wire import FORMATS
from rehydrate.session import Place, SessionLog, assistant, result, user
from tests.cli.test_completion import offered, values
from tests.cli.test_json_page import members
from tests.cli.test_json_page import words as named
from tests.context.logs import compact
from tests.context.logs import talk as say
from tests.entries.strategies import records as odd_records
from tests.helpers import DATA

ID = "5e551000-0000-4000-8000-000000000001"
OTHER = "6e551000-0000-4000-8000-000000000002"
CALL = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}
EVERY = ("explain", "verify", "restore", "diff")


@pytest.fixture
def place(shell):
    return Place(str(shell.folder / "root"), "-srv-work", ID)


@pytest.fixture
def talk(place):
    """A session that was compacted, and has gone on; its path."""
    with SessionLog(place, cwd="/srv/work") as log:
        say(log, "one", "two")
        compact(log, text="They counted to two.")
        say(log, "three")
    return place.path


@pytest.fixture
def counted(place):
    """A session of an engine, of which the provider has counted the last call; its path."""
    request = Request(model="fast-1", format="openai-chat", system="Be brief.", tools=[{"name": "ls"}])
    with SessionLog(place, cwd="/srv/work") as log:
        engine = Engine(log, window=100_000, policy=Policy(tools={"ls": "read"}))
        engine.ledger.put("Exact next action", "count on")
        engine.pin(engine.append({"role": "user", "content": "one"}, format="openai-chat"))
        engine.prepare(request)
        usage = {"prompt_tokens": 40_000, "completion_tokens": 10}
        engine.observe(usage, {"choices": [{"message": {"role": "assistant", "content": "One."}}], "id": "m1"})
        engine.append({"role": "user", "content": "two"})
    return place.path


def words_for(name, path):
    return (name, path, "--at", "none") if name == "diff" else (name, path)


def told(shell, *words, status=0):
    done = shell.run("context", *words, "--json")
    assert (done.status, done.err) == (status, "")
    return done.json


def facts(text):
    """Names and values of the facts at the top."""
    names = [line.split("  ", 1) for line in text.partition("\n\n")[0].splitlines()]
    return {name: value.strip() for name, value in names}


def change(path, old, new):
    with open(path, "rb") as file:
        data = file.read()
    assert data.count(old) == 1
    with open(path, "wb") as file:
        file.write(data.replace(old, new))


class TestExplain:
    def test_it_says_how_full_it_is_and_what_comes_next(self, shell, counted):
        done = shell.run("context", "explain", counted, "--window", "100000")
        assert (done.status, done.err) == (0, "")
        found = facts(done.out)
        assert found["session"] == ID and found["file"] == f"~/root/-srv-work/{ID}.jsonl"
        assert found["for"] == "fast-1, in the format openai-chat"
        assert found["it holds"].startswith("40,01") and "in 3 messages" in found["it holds"]
        assert "as the provider has counted, and what came since" in found["it holds"]
        assert found["window"] == "100,000 tokens, of which 10,000 are kept for the answer"
        assert found["next"].startswith("the line for a hand-over at 63,000 tokens, 22,9")
        assert (found["checkpoint"], found["ledger"], found["pinned"]) == (
            "none; 3 entries",
            "1 open item",
            "1 message",
        )
        table = done.out.partition("\n\n")[2]
        assert {line.split("  ")[0] for line in table.splitlines()[1:]} == {
            *("answers", "pinned", "requests", "system and tools")
        }

    def test_json_has_the_same(self, shell, counted):
        found = told(shell, "explain", counted, "--window", "100000")
        assert (found["version"], found["session"], found["path"]) == (1, ID, counted)
        assert (found["format"], found["model"], found["label"]) == ("openai-chat", "fast-1", "provider_plus_estimate")
        assert found["lines"] == {"handoff": 63_000, "compaction": 72_000, "full": 90_000}
        assert found["next"]["left"] == 63_000 - found["tokens"] and found["violations"] == []
        assert found["counter"]["name"] and isinstance(found["counter"]["exact"], bool)

    def test_the_reserve_of_the_policy_can_be_told(self, shell, counted):
        found = told(shell, "explain", counted, "--window", "100000", "--reserve", "20000")
        assert (found["reserve"], found["lines"]["compaction"]) == (20_000, 64_000)

    def test_the_lines_of_the_policy_can_be_told(self, shell, counted):
        found = told(shell, "explain", counted, "--window", "100000", "--handoff", "50", "--compaction", "60")
        assert found["lines"] == {"handoff": 45_000, "compaction": 54_000, "full": 90_000}

    def test_lines_out_of_order_are_a_mistake_that_is_told(self, shell, counted):
        done = shell.run("context", "explain", counted, "--handoff", "90")
        assert done.status == 2 and "compaction line (80 %)" in " ".join(done.err.split())

    def test_without_a_window_no_line_is_known(self, shell, counted):
        found = facts(shell.run("context", "explain", counted).out)
        assert found["window"] == "not known; name it with --window" and found["next"] == "not known without a window"
        assert told(shell, "explain", counted)["next"] is None

    @pytest.mark.parametrize(
        ("records", "said", "word"),
        [
            (0, "between the line for a hand-over and a compaction", "none"),
            (1, "the model was told, and asked to write down what must survive", "given"),
            (2, "the model is not told before the next compaction", "suppressed"),
        ],
    )
    def test_it_says_whether_the_model_was_told_of_the_compaction(self, shell, place, records, said, word):
        policy = Policy(reserve=0)
        with SessionLog(place, cwd="/srv/work") as log:
            log.append(user("word " * 4_400))
            request = Request(model="m", format="anthropic")
            if records:
                assert "A note" in json.dumps(Engine(log, window=6_000, policy=policy).prepare(request).messages[-1])
            if records == 2:
                with open(place.path, "rb") as file:
                    (line,) = [each for each in file if b'"context-handoff"' in each]
                log.append({name: json.loads(line)[name] for name in ("type", "after", "checkpoint", "handoff")})
        words = ("explain", place.path, "--window", "6000", "--reserve", "0")
        assert said in " ".join(shell.run("context", *words).out.split())
        assert told(shell, *words)["handoff"] == word

    def test_it_says_what_is_left_out_and_what_the_model_was_told(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append(user("one"))
            thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
            log.append(assistant([thought, {"type": "text", "text": "two"}]))
            log.append([records.omitted(["d" * 64], thoughts=True, after=log.tip), records.go_on(after=log.tip)])
        found = told(shell, "explain", place.path)
        assert (found["omitted"], found["hidden"]) == ({"media": 1, "thoughts": 1}, {"continue": 1})
        said = facts(shell.run("context", "explain", place.path).out)
        assert said["left out"].startswith("1 image or document; the thoughts of 1 message")
        assert said["notes"] == "hidden ones tell the model to go on where an answer was cut off (1x)"

    def test_it_says_why_no_model_has_written_a_summary_and_whether_one_is_asked(self, shell, place):
        def refuse(_):
            raise NotImplementedError("no model\x1b is here: key sk-" + "a1B2" * 10)

        with SessionLog(place, cwd="/srv/work") as log:
            engine = Engine(log, window=100_000, summariser=refuse, clock=lambda: 1_700_000_000.0)
            for failures in (1, 2, 3):
                log.append([user("word " * 3_000), assistant("yes"), user("go on"), assistant("yes")])
                assert engine.compact() is not None
                log.flush()  # how it went is no decision, and on disk soon
                found = told(shell, "explain", place.path)
                assert (found["breaker"]["failures"], found["failure"]) == (failures, "deterministic")
                assert (found["checkpoint"]["strategy"], found["checkpoint"]["outcome"]) == ("fallback", "fallback")
                if failures == 1:
                    said = facts(shell.run("context", "explain", place.path).out)
                    assert said["breaker"] == "1 failure in a row; at 3 no model is asked any more"
        assert found["breaker"]["opened_s"] == 1_700_000_000.0
        said = facts(shell.run("context", "explain", place.path).out)
        assert said["breaker"] == "open since 2023-11-14 22:13 UTC, after 3 failures in a row"
        error = r"NotImplementedError: no model\x1b is here: key [redacted: openai key]"
        why = f"no model has written the last one: an error that comes again each time ({error})"
        assert said["summary"] == why

    def test_without_a_window_no_phase_is_told(self, shell, counted):
        assert "phase" not in facts(shell.run("context", "explain", counted).out)

    def test_for_another_model_all_is_counted_here(self, shell, counted):
        found = told(shell, "explain", counted, "--model", "other", "--format", "gemini")
        assert (found["model"], found["format"], found["label"]) == ("other", "gemini", "local_estimate")
        assert found["tokens"] == sum(found["holders"].values())

    @pytest.mark.parametrize(
        ("window", "said"),
        [
            (54_000, "a compaction is due; then all that is available at"),
            (40_000, "nothing: it does not fit any more"),
        ],
    )
    def test_a_line_that_was_passed_is_told(self, shell, counted, window, said):
        assert facts(shell.run("context", "explain", counted, "--window", window).out)["next"].startswith(said)

    def test_a_checkpoint_is_told(self, shell, talk):
        found = facts(shell.run("context", "explain", talk).out)
        made = restore(talk).checkpoint
        assert found["checkpoint"] == f"{made.id[:8]} (manual), 100 tokens became 10; 4 entries after it"
        assert told(shell, "explain", talk)["checkpoint"]["id"] == made.id

    def test_what_was_repaired_is_told(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("hi"), assistant([CALL]), user("Never mind.")])
        assert "c1" in facts(shell.run("context", "explain", place.path).out)["repaired"]
        assert told(shell, "explain", place.path)["repaired"]

    @pytest.mark.parametrize("words", [("--window", "0"), ("--window", "many"), ("--format", "soap")])
    def test_wrong_usage_is_2(self, shell, talk, words):
        assert shell.run("context", "explain", talk, *words).status == 2


class TestVerify:
    def test_a_sound_log_is_0(self, shell, talk):
        said = "9 records in 1 file, 1 checkpoint, 3 projections: nothing is wrong\n"
        assert shell.run("context", "verify", talk) == (0, said, "")
        assert told(shell, "verify", talk) == {
            **{"version": 1, "path": talk, "files": 1, "records": 9, "checkpoints": 1, "projections": 3},
            **{"findings": [], "unproven": []},
        }

    def test_a_damaged_line_is_1_with_its_place(self, shell, talk):
        change(talk, b"three!", b"THREE!")
        done = shell.run("context", "verify", talk)
        assert (done.status, done.err) == (1, "")
        assert done.out.startswith(f"line 9 of ~/root/-srv-work/{ID}.jsonl is not what was written")
        assert done.out.endswith(": 1 fault\n")
        row = told(shell, "verify", talk, status=1)["findings"][0]
        assert (row["code"], row["path"], row["line"], row["boundary"]) == ("damage", talk, 9, None)

    def test_a_checkpoint_of_other_entries_is_1_with_its_compaction(self, shell, talk):
        boundary = restore(talk).boundary
        change(talk, b'"content":"one"', b'"content":"ONE"')
        row = told(shell, "verify", talk, status=1)["findings"][1]
        assert (row["code"], row["boundary"], row["line"]) == ("digest", boundary, None)
        assert f"~/root/-srv-work/{ID}.jsonl: the checkpoint of the compaction {boundary[:8]} was made of other" in (
            shell.run("context", "verify", talk).out
        )

    def test_the_logs_of_agents_are_checked_too(self, shell, talk, place):
        with SessionLog(place, cwd="/srv/work") as log, log.sidechain("helper", type="helper") as helper:
            say(helper, "look", "around")
            compact(helper)
        assert (told(shell, "verify", talk)["files"], told(shell, "verify", talk)["checkpoints"]) == (2, 2)
        change(place.agent_path("helper"), b'"look"', b'"LOOK"')
        assert told(shell, "verify", talk, status=1)["findings"][0]["path"] == place.agent_path("helper")

    def test_what_a_copy_cannot_prove_is_told_and_no_fault(self, shell, talk):
        with SessionLog(Place.of(talk), cwd="/srv/work") as log:
            log.retract(first_of(talk))
        made = shell.run("session", "branch", talk, "--json").json["path"]
        done = shell.run("context", "verify", made)
        assert done.status == 0 and "cannot be proven here" in done.out and "nothing is wrong" in done.out
        assert told(shell, "verify", made)["unproven"][0]["path"] == made


def first_of(path):
    """Uuid of the first request of a log."""
    with open(path, encoding="utf-8") as file:
        return next(row["uuid"] for row in map(json.loads, file) if row["type"] == "user")


class TestRestore:
    def test_the_checkpoint_and_what_came_after_it_are_told(self, shell, talk):
        done = shell.run("context", "restore", talk)
        assert (done.status, done.err) == (0, "")
        found, made = facts(done.out), restore(talk)
        assert found["checkpoint"].startswith(made.checkpoint.id[:8])
        assert found["checkpoint"].endswith("; 4 entries after it")
        assert (found["messages"], found["it goes on"]) == ("5", f"from {made.tip[:8]}")
        said = done.out.partition("\n\n")[2]
        assert said.index("They counted to two.") < said.index("two!") < said.index("three!") and "one!" not in said

    @pytest.mark.parametrize("format", FORMATS)
    def test_json_has_the_messages_in_the_format(self, shell, talk, format):
        found = told(shell, "restore", talk, "--format", format)
        neutral = FORMATS["anthropic"].read(told(shell, "restore", talk)["messages"])
        assert found["messages"] == FORMATS[format].write(neutral) and len(neutral) == 5
        assert (found["format"], found["entries"], found["session"]) == (format, 4, ID)
        assert found["checkpoint"]["id"] == restore(talk).checkpoint.id and "messages" not in found["checkpoint"]

    def test_what_the_engine_would_send_is_what_is_restored(self, shell, counted):
        with SessionLog(Place.of(counted), cwd="/srv/work") as log:
            engine = Engine(log, window=100_000)
            sent = engine.prepare(Request(model="fast-1", format="openai-chat")).messages
        assert told(shell, "restore", counted)["messages"] == list(sent)

    def test_it_ends_where_it_is_asked_to(self, shell, talk):
        found = told(shell, "restore", talk, "--at", "msg-one")
        assert (found["checkpoint"], found["entries"], found["at"]) == (None, 2, "msg-one")
        done = shell.run("context", "restore", talk, "--at", "none")
        assert (done.status, done.err.count("\n")) == (1, 1) and "the id none" in done.err

    def test_a_checkpoint_that_does_not_count_is_told(self, shell, talk):
        change(talk, b'[{"role":"user","content":"They counted to two."}]', b'[{"role":"user","content":"No."}]')
        assert "is not what was written" in facts(shell.run("context", "restore", talk).out)["does not count"]
        found = told(shell, "restore", talk)
        assert found["checkpoint"] is None and len(found["bad"]) == 1 and found["entries"] == 6

    def test_a_compaction_without_a_checkpoint_is_told(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("One."), assistant("Two.")])
            boundary = log.compact("They counted.", trigger="manual")
        found = facts(shell.run("context", "restore", place.path).out)
        assert found["begins with"] == f"the compaction {boundary[:8]}, which has no checkpoint"


class TestDiff:
    def test_what_only_one_has_is_told(self, shell, talk):
        done = shell.run("context", "diff", talk, "--at", "msg-two")
        assert (done.status, done.err) == (0, "")
        found = facts(done.out)
        assert found["A"].startswith(f"~/root/-srv-work/{ID}.jsonl, up to ") and "4 messages" in found["A"]
        assert ", with the checkpoint " in found["B"] and found["common"] == "2 messages"
        only_a, _, only_b = done.out.partition("only in B: 3 messages")
        assert "only in A: 2 messages" in only_a and "one!" in only_a
        assert "They counted to two." in only_b and "three!" in only_b and "one!" not in only_b

    def test_json_has_the_messages_and_their_places(self, shell, talk):
        found = told(shell, "diff", talk, "--at", "msg-one", "--at", "msg-two")
        assert (found["only_a"], found["common"], found["same"]) == ([], 2, False)
        assert [each["place"] for each in found["only_b"]] == [2, 3]
        assert found["only_b"][0]["message"]["content"] == "two"
        assert (found["a"]["messages"], found["b"]["messages"], found["a"]["path"]) == (2, 4, talk)

    def test_two_logs(self, shell, talk):
        made = shell.run("session", "branch", talk, "--json").json["path"]
        assert facts(shell.run("context", "diff", talk, made).out)["difference"] == "none"
        assert told(shell, "diff", talk, made)["same"] is True
        assert told(shell, "diff", talk, made, "--at", "msg-one")["same"] is False

    def test_the_same_message_twice_is_one_more(self, shell, place):
        with SessionLog(place, cwd="/srv/work") as log:
            log.append([user("go on"), assistant("ok", uuid="a1"), user("go on"), assistant("ok", uuid="a2")])
        found = told(shell, "diff", place.path, "--at", "a1")
        assert (found["common"], [each["place"] for each in found["only_b"]]) == (2, [2, 3])

    def test_another_order_is_told(self, shell, place):
        other = Place(place.root, place.key, OTHER)
        for each, texts in ((place, ("a", "b")), (other, ("b", "a"))):
            with SessionLog(each, cwd="/srv/work") as log:
                log.append([entry for text in texts for entry in (user(text), assistant("ok"))])
        found = facts(shell.run("context", "diff", place.path, other.path).out)
        assert (found["common"], found["difference"]) == ("4 messages", "the order")

    @pytest.mark.parametrize("words", [(), ("--at", "a", "--at", "b", "--at", "c")])
    def test_wrong_usage_is_2(self, shell, talk, words):
        done = shell.run("context", "diff", talk, *words)
        assert done.status == 2 and "name two logs, or one with --at" in done.err


def test_the_formats_are_those_of_the_library():
    assert tuple(FORMATS) == context.FORMATS


def test_a_list_of_all_commands_does_not_load_the_library():
    code = "import sys, rehydrate.cli.context; sys.exit('rehydrate.context' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_group_alone_shows_its_help(shell):
    done = shell.run("context")
    assert done.status == 0 and "explain" in done.out and "..." not in done.out.partition("Commands:")[2]


@pytest.mark.parametrize("name", ["explain", "restore"])
def test_a_log_whose_writer_was_killed_as_it_began_holds_nothing(shell, name):
    (shell.folder / "begun.jsonl").write_text("")
    found = told(shell, name, shell.folder / "begun.jsonl")
    assert (found["entries"], found["checkpoint"]) == (0, None)
    assert shell.run("context", name, shell.folder / "begun.jsonl").status == 0


@pytest.mark.parametrize("name", EVERY)
class TestEveryCommand:
    def test_help_has_an_example(self, shell, name):
        done = shell.run("context", name, "--help")
        assert done.status == 0 and "--debug" in done.out and "--json" in done.out
        assert f"  rehydrate context {name}" in done.out.partition("Example")[2]

    def test_what_is_no_session_is_one_sentence(self, shell, name):
        (shell.folder / "talk.jsonl").write_text("hello\n")
        (shell.folder / "folder.jsonl").mkdir()
        for path in ("gone.jsonl", "talk.jsonl", "folder.jsonl"):
            done = shell.run("context", *words_for(name, shell.folder / path))
            assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
            assert "~/" in done.err and "should not happen" not in done.err

    def test_of_what_is_to_be_taken_in_first_that_is_said(self, shell, name):
        found = next((DATA / "antigravity").glob("*/*/transcript_full.jsonl"))
        done = shell.run("context", *words_for(name, found))
        assert done.status == 1 and "is a transcript of Antigravity: take it in first" in done.err

    def test_an_id_below_the_named_folders_is_enough(self, shell, name, talk, monkeypatch):
        monkeypatch.setenv("REHYDRATE_SESSION_ROOTS", str(shell.folder / "root"))
        at = ("--at", "msg-two") if name == "diff" else ()
        by_path = shell.run("context", name, talk, *at)
        assert by_path.status == 0 and by_path == shell.run("context", name, ID, *at)
        assert by_path == shell.run("context", name, ID[:6], *at) == shell.run("context", name, f"session:{ID}", *at)

    def test_an_id_that_there_is_not_is_one_sentence(self, shell, name):
        done = shell.run("context", *words_for(name, "5e55"))
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert "no conversation '5e55' here" in done.err

    def test_a_conversation_of_another_client_is_none(self, laid_out, name):
        done = laid_out.run("context", *words_for(name, laid_out.A))
        assert done.status == 1 and "no conversation" in done.err

    def test_nothing_is_written(self, shell, name, talk):
        before = {path: path.stat().st_mtime_ns for path in shell.folder.rglob("*")}
        shell.run("context", name, talk, *(("--at", "msg-two") if name == "diff" else ()))
        assert {path: path.stat().st_mtime_ns for path in shell.folder.rglob("*")} == before

    def test_work_on_a_log_shows_a_bar(self, shell, name, talk, monkeypatch):
        begun = []

        class Bar:
            def __init__(self, what, **_):
                begun.append(what)

            def __enter__(self):
                return lambda _: None

            def __exit__(self, *_):
                pass

        monkeypatch.setattr("rehydrate.cli.context.progress", Bar)
        shell.run("context", name, talk, *(("--at", "msg-two") if name == "diff" else ()))
        assert len(begun) == 1

    def test_what_a_terminal_would_obey_is_shown(self, shell, name, place):
        odd = "a\x1b[31m\u202eb\ud800"
        call = {**CALL, "name": odd, "id": odd, "input": {odd: odd}}
        with SessionLog(place, cwd=f"/srv/{odd}") as log:
            engine = Engine(log, window=50_000)
            engine.append({"role": "user", "content": odd})
            engine.ledger.put("Exact next action", "go on")
            log.append([user([result(odd, odd)]), assistant([call], uuid="a1"), user(odd)])
            compact(log, text=odd)
            log.append({"type": "context-usage", "after": None, "model": odd, "format": odd, "fixed": 9})
            say(log, odd)
            log.append(user(odd, sessionId=odd))
        for words in ((), ("--json",)):
            at = ("--at", "a1") if name == "diff" else ()
            done = shell.run("context", name, place.path, *at, *words)
            assert done.status in (0, 1) and "should not happen" not in done.err
            assert not {"\x1b", "\u202e", "\ud800"} & set(done.out + done.err)


def test_the_page_of_json_names_every_member(shell, counted, talk):
    with SessionLog(Place.of(counted), cwd="/srv/work") as log:
        compact(log, keep=1)
        log.append([user([result("gone", "?")]), {"type": "content-replacement", "replacements": []}])
    known = named("context") | {"system and tools", "pinned", "requests", "answers", "summary"}
    for words in (
        ["explain", counted],
        ["verify", counted],
        ["restore", counted],
        ["diff", counted, "--at", first_of(counted)],
    ):
        document = told(shell, *words)
        for name in ("messages", "only_a", "only_b"):  # what was said has members of its own
            if isinstance(document.get(name), list):
                document[name] = [{**each, "message": None} if "place" in each else None for each in document[name]]
        assert members(document) - known == set()


class TestCompletion:
    def test_commands_and_formats_are_offered(self, shell):
        assert values(shell, "cont") == ["context"]
        assert values(shell, "context", "ver") == ["verify"]
        assert values(shell, "context", "restore", "--format", "o") == ["openai-chat", "openai-responses"]

    @pytest.mark.parametrize("words", [(name,) for name in EVERY] + [("diff", "x")], ids=" ".join)
    def test_ids_of_ones_own_sessions_alone_are_offered_and_files(self, laid_out, talk, monkeypatch, words):
        monkeypatch.setenv("REHYDRATE_SESSION_ROOTS", str(laid_out.folder / "root"))
        assert values(laid_out, "context", *words, "") == [ID]
        assert offered(laid_out, "context", *words, "./tal") == [("./tal", "file", None)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(odd_records, max_size=8))
def test_any_file_is_looked_at_or_refused_with_a_sentence(shell, rows):
    path = shell.folder / f"{ID}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (["explain", path], ["verify", path], ["restore", path], ["restore", path, "--json"]):
        done = shell.run("context", *words)
        assert done.status in (0, 1) and "should not happen" not in done.err, done.err
    done = shell.run("context", "diff", path, path)
    assert done.status in (0, 1) and "should not happen" not in done.err, done.err
