"""The commands for conversations of Claude Code, beside those of Antigravity."""

import json
import os
import shutil

import pytest

from rehydrate import clients, plan
from rehydrate.cli import complete, output
from rehydrate.clients.claude_code import contract, layout
from tests.clients.claude_code.making import Home, Talk, session_id
from tests.helpers import DATA

from .conftest import LAST_WRITE_S

A, B = session_id(0xA), session_id(0xB)
REAL = DATA / "claude-code"
COMPACTED = "77f4ef9b-1a94-46cf-98f4-7211f6b6d548"
ROOT, LEFT = "2520cb6b-c5d9-4e7b-be12-25e826ed8b4d", "2cff5501-04a4-472e-8178-72fdf4e31231"


@pytest.fixture
def both(shell, monkeypatch):
    """A home with both clients."""
    monkeypatch.setitem(clients.FOLDERS, "claude-code", "claude_code")
    shell.claude = Home(shell.folder)
    return shell


def write(shell, talk, *, age_s=0, **more):
    path = shell.claude.write(talk, **more)
    os.utime(path, (LAST_WRITE_S - age_s, LAST_WRITE_S - age_s))
    return path


def talk(session=A, *, cwd="/home/user/project", texts=("Fix the tide tables.", "Fixed.")):
    made = Talk(session, cwd=cwd)
    made.talk(*texts)
    return made


def compacted(session=A, **more):
    made = talk(session, **more)
    made.compact()
    made.talk("Now the stations.", "Done.")
    return made


def lay_out_real(shell, name):
    folder = shell.claude.project()
    folder.mkdir(parents=True, exist_ok=True)
    for path in (REAL / name).glob("*-*.jsonl"):
        shutil.copy(path, folder)


class TestSessions:
    def test_both_clients_are_listed_the_newest_first(self, both):
        both.lay_out()
        write(both, talk(A), age_s=-10)
        write(both, talk(B), age_s=10)
        rows = both.run("sessions", "--json").json
        assert [row["client"] for row in rows] == [
            "claude-code",
            "antigravity",
            "antigravity",
            "antigravity",
            "claude-code",
        ]

    def test_what_is_told_of_one(self, both):
        path = write(both, compacted())
        (row,) = both.run("sessions", "--json").json
        assert row == {
            "id": A,
            "client": "claude-code",
            "application": ".claude",
            "workspace": "/home/user/project",
            "title": "Fix the tide tables.",
            "transcript": path,
            "modified": row["modified"],
            "size": os.path.getsize(path),
            "steps": 6,
            "boundaries": 1,
            "last_delivery": None,
            "problem": None,
        }

    def test_a_secret_in_a_title_is_masked(self, both):
        made = talk()
        made.meta("custom-title", customTitle="use ghp_" + "a" * 36)
        write(both, made)
        assert "ghp_" not in both.run("sessions").out

    def test_a_subagent_is_no_conversation_of_its_own(self, both):
        write(both, talk())
        folder = both.claude.project() / A / "subagents"
        folder.mkdir(parents=True)
        (folder / "agent-a1.jsonl").write_bytes(b"{}\n")
        assert [row["id"] for row in both.run("sessions", "--json").json] == [A]

    def test_what_cannot_be_read_is_told_in_its_place(self, both, monkeypatch):
        def refuse(path):
            raise OSError(5, "Input/output error", path)

        write(both, talk())
        monkeypatch.setattr("rehydrate.transcripts.listing.Log", refuse)
        done = both.run("sessions", "--json")
        assert done.json[0]["problem"] == "Input/output error" and A in done.err

    def test_projects_whose_names_collide_are_told_apart(self, both):
        write(both, talk(A, cwd="/a/b-c"))
        write(both, talk(B, cwd="/a/b/c"), age_s=1)
        assert [row["workspace"] for row in both.run("sessions", "--json").json] == ["/a/b-c", "/a/b/c"]


class TestChoose:
    def told(self, shell, *words):
        done = shell.run("lineage", *words, "--json")
        return done.json["session"] if done.status == 0 else done.err

    @pytest.mark.parametrize("named", [A, "0000000a", f"claude-code:{A}", "claude-code:0000000a"])
    def test_by_id(self, both, named):
        both.lay_out()
        write(both, talk())
        assert self.told(both, named) == A

    def test_an_id_of_the_other_client_is_not_found_under_this_one(self, both):
        both.lay_out()
        write(both, talk())
        assert "no conversation" in self.told(both, f"claude-code:{both.A}")

    def test_by_path_wherever_the_transcript_lies(self, both, tmp_path):
        path = both.claude.write(talk(), project=tmp_path / "saved")
        done = both.run("lineage", path, "--json")
        assert (done.json["client"], done.json["session"]) == ("claude-code", A)

    def test_by_path_the_other_clients_stay_its_own(self, both, tmp_path):
        both.lay_out()
        path = tmp_path / "kept.jsonl"
        shutil.copy(both.transcript(both.A), path)
        assert both.run("lineage", path, "--json").json["client"] == "antigravity"

    def test_by_the_conversations_own_folder(self, both):
        write(both, talk())
        (both.claude.project() / A / "subagents").mkdir(parents=True)
        assert self.told(both, both.claude.project() / A) == A

    def test_the_newest_of_this_folder_whichever_client_had_it(self, both):
        both.lay_out()
        write(both, talk(A, cwd=str(both.cwd)), age_s=100)
        assert self.told(both) == both.C
        write(both, talk(A, cwd=str(both.cwd)), age_s=-100)
        assert self.told(both) == A

    def test_another_project_whose_name_collides_is_not_this_folder(self, both, tmp_path):
        both.cwd = tmp_path / "a" / "b"
        both.cwd.mkdir(parents=True)
        write(both, talk(A, cwd=str(tmp_path / "a-b")))
        write(both, talk(B, cwd=str(tmp_path / "a" / "b")), age_s=100)
        assert self.told(both) == B


class TestLineage:
    def test_steps_are_uuids_in_json_and_their_beginnings_for_people(self, both):
        lay_out_real(both, "fork-session")
        found = both.run("lineage", LEFT, "--json").json
        assert [each["session"] for each in found["segments"]] == [ROOT, LEFT] and found["complete"]
        assert found["segments"][0]["max_step"] == "ac16b6af-b2f7-4bbc-9685-e84082ee5a60"
        lines = both.run("lineage", LEFT).out.splitlines()
        assert lines[0].split()[:2] == [ROOT, "f1075e4c..ac16b6af"]

    def test_on_a_terminal_they_are_called_entries(self, both, monkeypatch):
        lay_out_real(both, "fork-session")
        monkeypatch.setattr(output, "is_terminal", lambda: True)
        monkeypatch.setenv("NO_COLOR", "1")
        assert f"{ROOT}  entries f1075e4c..ac16b6af" in both.run("lineage", LEFT).out

    def test_a_conversation_without_an_entry_has_no_steps(self, both):
        made = Talk(A)
        made.meta("summary", summary="x")
        write(both, made)
        assert both.run("lineage", A).out.split()[1:3] == ["no", "steps"]


class TestShow:
    def test_the_newest_compaction_is_shown_by_its_number(self, both):
        write(both, compacted())
        done = both.run("show", A)
        assert done.status == 0 and "compaction 1, counts" in done.out and "step" not in done.out

    def test_in_json_steps_are_uuids(self, both):
        made = compacted()
        write(both, made)
        found = both.run("show", A, "--json").json
        boundary = next(row["uuid"] for row in made.rows if row.get("subtype"))
        assert found["boundary"]["step"] == boundary and found["stats"]["checkpoint"] == 1
        items = next(each for each in found["sections"] if each["name"] == "requests")["items"]
        assert [(item["step"], item["text"]) for item in items] == [(made.rows[0]["uuid"], "Fix the tide tables.")]
        assert found["lineage"][0]["min_step"] == made.rows[0]["uuid"]

    def test_at_takes_the_number_of_the_compaction(self, both):
        made = compacted()
        made.compact()
        write(both, made)
        requests = [both.run("show", A, "--at", at, "--json").json["stats"]["user_msgs"] for at in (1, 2)]
        assert requests == [1, 2]
        assert both.run("show", A, "--at", 3).err.strip().endswith("it has: 1, 2")

    def test_before_the_first_compaction_it_is_what_one_now_would_bring_back(self, both):
        write(both, talk())
        assert both.run("show", A, "--json").json["boundary"] is None

    def test_the_text_is_the_same_before_the_boundary_is_written_and_after(self, both):
        made = compacted()
        write(both, made)
        before = both.run("show", A, "--at", "end", "--json").json
        made.compact()
        write(both, made)
        after = both.run("show", A, "--at", 2, "--json").json
        assert (before["text"], before["parts"]) == (after["text"], after["parts"])

    @pytest.mark.parametrize("texts", [("Left.", "Gone left."), ()])
    def test_so_is_that_of_a_fork(self, both, texts):
        source = compacted()
        fork = source.fork(B, proof=True)
        fork.talk(*texts)
        write(both, source)
        write(both, fork)
        before = both.run("show", B, "--at", "end", "--json").json
        fork.compact()
        write(both, fork)
        after = both.run("show", B, "--at", 2, "--json").json
        assert (before["text"], before["parts"]) == (after["text"], after["parts"])

    def test_what_the_hook_gave_is_told(self, both):
        path = write(both, compacted())
        place = layout.place_of(path)
        spot = plan.spot_for(
            "claude-code", A, transcript=path, folder=contract.private_folder(place), environ=both.claude.environ
        )
        with plan.locked(spot, wait_s=1) as desk:
            desk.save(plan.Plan(path, (1, 0, "00000000"), 3, ("a",), (1,), 1, "0123abcd"))
        assert "compaction 1, sent, id 0123abcd" in both.run("show", A).out
        told = both.run("sessions", "--json").json[0]["last_delivery"]
        assert told == {"step": 1, "id": "0123abcd", "status": "sent"}

    def test_why_tells_where_the_workspace_is_known_from(self, both):
        write(both, compacted())
        assert "a workspace by the conversation's records" in both.run("show", A, "--why").out

    def test_nothing_that_the_source_of_a_fork_did_later_is_in_it(self, both):
        source = talk(A)
        fork = source.fork(B, hint="requestSessionId")
        fork.talk("Left.", "Gone left.")
        source.talk("Later and elsewhere.", "Done later.")
        write(both, source)
        write(both, fork)
        text = both.run("show", B, "--text").out
        assert "Fix the tide tables." in text and "Left." in text and "ater" not in text

    @pytest.mark.parametrize("way", [{"proof": True}, {"renamed": True}, {"hint": "session_id"}])
    def test_a_compaction_that_was_copied_into_a_fork_ends_where_it_did_in_the_source(self, both, way):
        source = compacted(A)
        fork = source.fork(B, **way)
        fork.talk("Left.", "Gone left.")
        write(both, source)
        write(both, fork)
        found = both.run("show", B, "--at", 1, "--json").json
        requests, dialogue = (
            [item["text"] for item in each["items"] if item["role"] != "fork"] for each in found["sections"][:2]
        )
        assert requests == ["Fix the tide tables."] and dialogue == ["Fix the tide tables.", "Fixed."]

    def test_the_title_is_the_one_that_the_client_keeps(self, both):
        made = talk()
        made.meta("custom-title", customTitle="Tides")
        write(both, made)
        assert both.run("show", A).out.splitlines()[0] == "Tides"

    def test_a_stub_holds_no_message(self, both):
        made = Talk(A)
        made.meta("mode", mode="normal")
        write(both, made)
        done = both.run("show", A)
        assert done.status == 1 and "holds no message yet" in done.err

    @pytest.mark.parametrize("name", sorted(each.name for each in REAL.iterdir()))
    @pytest.mark.parametrize("form", [(), ("--why",), ("--text",), ("--json",), ("--at", "end", "--json")])
    def test_every_real_one_can_be_shown(self, both, name, form):
        lay_out_real(both, name)
        for path in (REAL / name).glob("*-*.jsonl"):
            done = both.run("show", path.stem, *form)
            assert done.status == 0 and not done.err, done.err


class TestScan:
    def test_uuids_stand_in_the_place_of_steps(self, both):
        made = compacted()
        made.meta("mode", mode="normal")
        path = write(both, made)
        rows = [json.loads(each) for each in both.run("scan", path, "--json").out.splitlines()]
        assert [row["step"] for row in rows] == [*(row["uuid"] for row in made.rows[:-1]), None]
        with open(path, "rb") as file:
            data = file.read()
        found = [json.loads(data[row["offset"] : row["offset"] + row["length"]]) for row in rows]
        assert found == made.rows and [row["type"] for row in rows] == [row["type"] for row in found]

    def test_types_limit_them(self, both):
        path = write(both, compacted())
        lines = both.run("scan", path, "--types", "system").out.splitlines()
        assert len(lines) == 2 and lines[1].split()[2:] == ["00000003", "system"]

    def test_the_tail_tells_the_compactions(self, both):
        made = compacted()
        path = write(both, made)
        told = both.run("scan", path, "--tail", "--json").json
        boundary = next(row["uuid"] for row in made.rows if row.get("subtype"))
        assert [each["step"] for each in told["boundaries"]] == [boundary]
        assert (told["last_step"], told["lines"], told["damaged"]) == (made.last, 6, 0)
        assert f"boundary at entry {boundary[:8]}" in both.run("scan", path, "--tail").out

    def test_a_cursor_goes_on_where_it_stood(self, both):
        made = compacted()
        path = write(both, made)
        cursor = json.dumps(both.run("scan", path, "--tail", "--json").json["cursor"])
        made.compact()
        write(both, made)
        told = both.run("scan", path, "--tail", "--json", "--cursor", cursor).json
        assert len(told["boundaries"]) == 1 and told["last_step"] == made.last
        assert len(both.run("scan", path, "--json", "--cursor", cursor).out.splitlines()) == 2


class TestCompletion:
    def test_ids_of_both_clients_are_offered_the_newest_first(self, both):
        both.lay_out()
        write(both, talk(A), age_s=-10)
        offered = complete.complete_session(None, None, "")
        assert [each.value for each in offered][:2] == [A, both.C]
        assert offered[0].help.endswith("/home/user/project")


class TestListingOfNothing:
    def test_both_homes_are_named(self, both):
        assert both.run("sessions").err.strip().endswith("gemini, ~/.claude")
