"""Where Claude Code keeps things, and whose they are."""

import json
import os
import unicodedata

import pytest

from rehydrate.clients.claude_code import layout
from tests.helpers import DATA

from .making import WORKSPACE, Home, Talk, key_of, session_id

ONE, TWO, THREE = map(session_id, (1, 2, 3))


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def talk(session=ONE, **more):
    made = Talk(session, **more)
    made.talk("Fix it.", "Fixed.")
    return made


def aged(path, time_s):
    os.utime(path, (time_s, time_s))
    return path


def sessions(home, **more):
    return [place.session for place in layout.every(home.environ, **more)]


class TestHome:
    def test_it_is_in_the_users_home(self):
        assert layout.home({"HOME": "/home/user"}) == "/home/user/.claude"

    def test_the_environment_may_name_another(self):
        assert layout.home({"HOME": "/home/user", "CLAUDE_CONFIG_DIR": "/srv/claude"}) == "/srv/claude"

    def test_its_name_is_composed_where_that_is_there(self, tmp_path):
        (tmp_path / "caf\u00e9").mkdir()
        named = unicodedata.normalize("NFD", str(tmp_path / "caf\u00e9"))
        assert layout.home({"CLAUDE_CONFIG_DIR": named}) == str(tmp_path / "caf\u00e9")


class TestKeys:
    @pytest.mark.parametrize("cwd", ["/a/b-c", "/a/b/c", "/a/b.c", "/a/b_c", "/a b c"])
    def test_all_that_is_no_letter_or_digit_is_a_dash(self, cwd):
        assert layout.keys_of(cwd) == ("-a-b-c",)

    def test_letters_are_composed_first(self):
        assert layout.is_project_of("-caf-", "/cafe\u0301") and layout.is_project_of("-caf-", "/caf\u00e9")

    def test_what_takes_two_units_may_be_two_dashes_or_one(self):
        assert layout.is_project_of("-a---b", "/a/\U0001f600b") and layout.is_project_of("-a--b", "/a/\U0001f600b")

    @pytest.mark.parametrize("hashed", ["-1x2y3z", "-k9"])
    def test_of_a_long_one_two_hundred_characters_count_whatever_hash_follows(self, hashed):
        cwd = "/home/" + "x" * 300
        assert layout.is_project_of(key_of(cwd)[:200] + hashed, cwd)
        assert not layout.is_project_of(key_of(cwd)[:199] + "y" + hashed, cwd)

    def test_a_short_one_must_be_equal(self):
        assert not layout.is_project_of("-home-user-project-2", WORKSPACE)


class TestPlaceOf:
    def test_a_transcript_in_its_place(self, home):
        place = layout.place_of(home.write(talk()))
        assert (place.session, place.project, place.config) == (ONE, str(home.project()), str(home.config))
        assert place.folder == str(home.project() / ONE)

    def test_its_own_folder_means_the_transcript_beside_it(self, home):
        path = home.write(talk())
        (home.project() / ONE / "subagents").mkdir(parents=True)
        assert layout.place_of(str(home.project() / ONE)).path == path

    def test_a_folder_of_transcripts_means_the_one_written_last(self, home):
        aged(home.write(talk(TWO)), 1_000)
        aged(home.write(talk(ONE)), 2_000)
        assert layout.place_of(str(home.project())).session == ONE

    def test_outside_the_known_layout_nothing_is_known_of_siblings(self, tmp_path):
        path = Home(tmp_path).write(talk(), project=tmp_path / "saved")
        place = layout.place_of(path)
        assert (place.session, place.project, place.config) == (ONE, None, None)

    def test_a_file_of_another_name_has_the_name_of_its_folder(self, home, tmp_path):
        path = tmp_path / "saved" / "transcript.jsonl"
        path.parent.mkdir()
        os.rename(home.write(talk()), path)
        assert layout.place_of(str(path)).session == "saved"

    def test_a_folder_called_projects_is_none_of_the_client(self, tmp_path):
        path = Home(tmp_path).write(talk(), project=tmp_path / "projects" / "mine")
        assert layout.place_of(path).config is None

    def test_what_lies_in_the_clients_own_folder_is_known_whatever_its_project_is_called(self, home):
        path = home.write(talk(), project=home.projects / "demo")
        assert layout.place_of(path).project == layout.find(home.environ, ONE).project == str(home.projects / "demo")

    def test_a_subagents_transcript_belongs_to_the_configuration_but_to_no_project(self, home):
        folder = home.project() / ONE / "subagents"
        folder.mkdir(parents=True)
        (folder / "agent-a1.jsonl").write_text("{}\n")
        place = layout.place_of(str(folder / "agent-a1.jsonl"))
        assert (place.agent, place.project, place.config) == (True, None, str(home.config))

    @pytest.mark.parametrize("path", ["/nowhere/at/all", "a\0b", "\ud800"])
    def test_there_may_be_nothing(self, path):
        assert layout.place_of(path) is None

    def test_a_link_is_not_taken(self, home, tmp_path):
        (tmp_path / "link.jsonl").symlink_to(home.write(talk()))
        assert layout.place_of(str(tmp_path / "link.jsonl")) is None

    def test_a_folder_without_a_transcript_of_the_client_is_nothing(self, tmp_path):
        (tmp_path / "train.jsonl").write_text('{"text":"hello"}\n')
        assert layout.place_of(str(tmp_path)) is None


class TestRecognises:
    def test_a_real_transcript_wherever_it_lies(self):
        path = next((DATA / "claude-code" / "plain").glob("*-*.jsonl"))
        assert layout.recognises(layout.place_of(str(path)))

    @pytest.mark.parametrize("row", [{"step_index": 0, "type": "USER_INPUT"}, {"session_id": "x"}, {}])
    def test_not_what_another_program_wrote(self, tmp_path, row):
        path = tmp_path / "transcript.jsonl"
        path.write_text(json.dumps(row) + "\n")
        assert not layout.recognises(layout.place_of(str(path)))


class TestEvery:
    def test_the_one_written_last_comes_first_whatever_its_project(self, home):
        aged(home.write(talk(ONE)), 1_000)
        aged(home.write(talk(TWO, cwd="/srv/other")), 3_000)
        aged(home.write(talk(THREE)), 2_000)
        assert sessions(home) == [TWO, THREE, ONE]

    def test_a_prefix_limits_them(self, home):
        home.write(talk(ONE))
        home.write(talk(TWO))
        assert sessions(home, prefix="00000002") == [TWO]

    def test_an_empty_stub_is_no_conversation(self, home):
        home.write(talk(ONE))
        (home.project() / f"{TWO}.jsonl").touch()
        assert sessions(home) == [ONE]

    def test_subagents_have_none_of_their_own(self, home):
        home.write(talk(ONE))
        (home.project() / "agent-1234.jsonl").write_text("{}\n")
        folder = home.project() / ONE / "subagents"
        folder.mkdir(parents=True)
        (folder / "agent-a1.jsonl").write_text("{}\n")
        assert sessions(home) == [ONE]

    def test_of_a_moved_conversation_the_newest_file_counts(self, home):
        aged(home.write(talk(ONE)), 1_000)
        moved = aged(home.write(talk(ONE), project=home.project("/srv/other")), 2_000)
        assert [place.path for place in layout.every(home.environ)] == [moved]

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads every folder")
    def test_a_folder_that_cannot_be_listed_is_passed_over(self, home):
        home.write(talk(ONE))
        home.write(talk(TWO, cwd="/srv/other"))
        home.project("/srv/other").chmod(0)
        try:
            assert sessions(home) == [ONE]
        finally:
            home.project("/srv/other").chmod(0o700)

    def test_a_file_among_the_projects_is_passed_over(self, home):
        home.write(talk(ONE))
        (home.projects / "notes.txt").write_text("x")
        assert sessions(home) == [ONE]

    def test_there_may_be_no_home_at_all(self, tmp_path):
        assert list(layout.every({"HOME": str(tmp_path)})) == []


class TestFind:
    def test_it_looks_in_every_project(self, home):
        path = home.write(talk(ONE, cwd="/srv/other"))
        assert layout.find(home.environ, ONE).path == path

    @pytest.mark.parametrize("name", ["..", "", "a/b", "a\0b", "x" * 300])
    def test_what_can_be_no_id_is_not_found(self, home, name):
        home.write(talk(ONE))
        assert layout.find(home.environ, name) is None

    def test_a_stub_elsewhere_does_not_hide_the_real_one(self, home):
        path = aged(home.write(talk(ONE)), 1_000)
        stub = home.project("/srv/other") / f"{ONE}.jsonl"
        stub.parent.mkdir()
        stub.touch()
        assert [place.path for place in layout.find_everywhere(home.environ, ONE)] == [path]

    def test_all_files_of_an_id_are_told(self, home):
        old = aged(home.write(talk(ONE)), 1_000)
        new = aged(home.write(talk(ONE), project=home.project("/srv/other")), 2_000)
        assert [place.path for place in layout.find_everywhere(home.environ, ONE)] == [new, old]


class TestFolders:
    def test_the_first_working_directory_is_named_by_the_records(self, home):
        assert layout.folders_of(layout.place_of(home.write(talk()))) == [WORKSPACE]

    def test_a_commands_change_of_directory_is_none(self, home):
        made = talk()
        made.user("on", cwd="/etc")
        assert layout.folders_of(layout.place_of(home.write(made))) == [WORKSPACE]

    def test_after_a_move_the_present_one_comes_last(self, home):
        made = talk(cwd="/srv/old")
        made.user("on", cwd=WORKSPACE)
        place = layout.place_of(home.write(made, project=home.project(WORKSPACE)))
        assert layout.folders_of(place) == ["/srv/old", WORKSPACE]

    def test_projects_whose_names_collide_are_told_apart(self, home):
        one = layout.place_of(home.write(talk(ONE, cwd="/a/b-c")))
        two = layout.place_of(home.write(talk(TWO, cwd="/a/b/c")))
        assert one.project == two.project
        assert [layout.folders_of(each) for each in (one, two)] == [["/a/b-c"], ["/a/b/c"]]

    def test_a_long_last_line_does_not_hide_the_end(self, home):
        made = talk(cwd="/srv/old")
        made.assistant("x" * 40_000)
        made.user("on", cwd=WORKSPACE)
        made.meta("last-prompt", lastPrompt="y" * 20_000)
        place = layout.place_of(home.write(made, project=home.project(WORKSPACE)))
        assert layout.folders_of(place)[-1] == WORKSPACE

    def test_records_that_name_none_tell_none(self, home):
        made = Talk(ONE)
        made.meta("summary", summary="x", cwd="relative")
        assert layout.folders_of(layout.place_of(home.write(made))) == []

    def test_a_file_that_is_cut_short_meanwhile_tells_none(self, home, monkeypatch):
        made = talk()
        made.assistant("x" * 100_000)
        place = layout.place_of(home.write(made))

        def refuse(path, offset):
            raise ValueError("the file is shorter")

        monkeypatch.setattr(layout.scan, "cursor_at", refuse)
        assert layout.folders_of(place) == []

    def test_those_of_ancestors_count_as_workspaces(self, home):
        home.write(talk(TWO, cwd="/srv/other"))
        place = layout.place_of(home.write(talk(ONE)))
        assert layout.workspaces_of(place, [TWO, ONE]) == (WORKSPACE, "/srv/other")


class TestTitleBeside:
    def test_it_is_read_from_its_file(self, home):
        place = layout.place_of(home.write(talk()))
        os.makedirs(place.folder)
        with open(os.path.join(place.folder, "custom-title.json"), "w") as file:
            json.dump({"customTitle": "Tides"}, file)
        assert layout.title_beside(place) == "Tides"

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"customTitle": 7}', "[" * 50_000])
    def test_anything_else_is_none(self, home, text):
        place = layout.place_of(home.write(talk()))
        os.makedirs(place.folder)
        with open(os.path.join(place.folder, "custom-title.json"), "w") as file:
            file.write(text)
        assert layout.title_beside(place) is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_took_the_place_of_a_file_is_not_opened(tmp_path, make):
    make(tmp_path / "x")
    with pytest.raises(OSError):
        layout.open_file(str(tmp_path / "x"))


def test_its_own_stores_and_tokens_are_never_shown(home):
    place = layout.place_of(home.write(talk()))
    denied = layout.denied(place)
    assert str(home.projects) in denied and str(home.config / ".credentials.json") in denied
    assert f"{home.config}.json" in denied
