"""Where sessions of one's own agent are."""

import os
import shutil

import pytest

from rehydrate.clients.claude_code import layout as claude_code
from rehydrate.clients.session import layout
from rehydrate.files import Access, FileText
from rehydrate.session import NewerVersion, Place, SessionLog, import_session, key_of, user
from tests.clients.claude_code.making import Talk
from tests.helpers import write_lines

from .conftest import KEY, OTHER, SESSION

HI = user("Hi.")


def aged(path, age_s):
    os.utime(path, (1_796_000_000 - age_s,) * 2)
    return path


class TestRoots:
    def test_they_are_written_as_path_is(self, tmp_path):
        named = os.pathsep.join(["/a", "", "/b/", "relative", "/a"])
        assert layout.roots({layout.ROOTS: named}) == ["/a", "/b"]

    def test_without_a_word_of_the_users_there_are_none(self):
        assert layout.roots({}) == [] and list(layout.every({})) == []

    def test_all_of_them_are_looked_through_the_newest_session_first(self, begin, tmp_path, environ):
        first = aged(begin(HI), 100)
        second = Place(str(tmp_path / "more"), KEY, OTHER)
        with SessionLog(second, cwd="/srv/project") as log:
            log.append(HI)
        found = layout.every({layout.ROOTS: f"{environ[layout.ROOTS]}{os.pathsep}{second.root}"})
        assert [place.path for place in found] == [second.path, first]
        assert [place.session for place in layout.every(environ)] == [SESSION]

    def test_of_an_id_with_several_files_the_newest_is_taken(self, begin, environ):
        aged(begin(HI), 100)
        newest = begin(HI, key="-srv-moved")
        assert [place.path for place in layout.every(environ)] == [newest] == [layout.find(environ, SESSION).path]

    def test_empty_files_links_and_those_of_subagents_are_none(self, begin, environ, root):
        path = begin(HI, user("Look.", agentId="helper"))
        folder = os.path.dirname(path)
        open(os.path.join(folder, "empty.jsonl"), "w").close()
        os.symlink(path, os.path.join(folder, "link.jsonl"))
        assert [place.session for place in layout.every(environ)] == [SESSION]

    def test_a_prefix_limits_them(self, begin, environ):
        begin(HI), begin(HI, session=OTHER)
        assert [place.session for place in layout.every(environ, prefix=OTHER)] == [OTHER]
        assert layout.find(environ, OTHER[:-1]) is None


class TestPaths:
    def test_its_file_its_own_folder_and_the_folder_of_sessions_mean_a_session(self, begin):
        aged(begin(HI, session=OTHER), 100)
        path = begin(HI, user("Look.", agentId="helper"))
        own = path.removesuffix(".jsonl")
        for each in (path, own, os.path.dirname(path)):
            place = layout.place_of(each)
            assert (place.session, place.path, place.folder) == (SESSION, path, own)
            assert place.project == os.path.dirname(path)

    def test_elsewhere_it_has_no_siblings(self, begin, tmp_path):
        path = shutil.copy(begin(HI), tmp_path / "kept.txt")
        place = layout.place_of(str(path))
        assert (place.session, place.project, place.siblings(), place.sibling(SESSION)) == ("kept.txt", None, [], None)

    def test_a_subagents_log_is_one_of_its_own(self, begin):
        path = begin(HI, user("Look.", agentId="helper"))
        place = layout.place_of(Place.of(path).agent_path("helper"))
        assert place.agent and place.project is None

    @pytest.mark.parametrize("path", ["/nowhere/x.jsonl", "/dev/null", "\0", "\ud800", "/"])
    def test_what_is_not_there_is_none(self, path):
        assert layout.place_of(path) is None


class TestWhose:
    def test_what_our_library_wrote_is_ours_even_where_claude_code_keeps_its_files(self, begin):
        path = begin(HI)
        assert layout.recognises(layout.place_of(path)) and claude_code.recognises(claude_code.place_of(path))

    def test_what_another_one_wrote_is_not(self, tmp_path):
        talk = Talk(SESSION)
        talk.user("Hi.")
        assert layout.place_of(write_lines(tmp_path / "a.jsonl", talk.rows)) is None

    def test_what_was_taken_in_from_claude_code_is_ours(self, tmp_path, root):
        talk = Talk(SESSION)
        talk.user("Hi.")
        taken = import_session(write_lines(tmp_path / f"{SESSION}.jsonl", talk.rows), root=root)
        assert layout.place_of(taken.path).session == SESSION

    @pytest.mark.parametrize(
        "first",
        [{"type": "session"}, {"type": "session", "format": "1"}, {"type": "user", "format": 1}, b"[]", b"",
         {"seq": 1, "crc": "no"}, {"seq": "1", "crc": "01234567"}],
    )  # fmt: skip
    def test_a_first_record_that_only_resembles_ours_is_none(self, tmp_path, first):
        assert layout.place_of(write_lines(tmp_path / "a.jsonl", [first, {"type": "user"}])) is None

    def test_a_later_format_is_ours_and_refused(self, tmp_path):
        head = {"type": "session", "format": 2}
        place = layout.place_of(write_lines(tmp_path / "a.jsonl", [head]))
        with pytest.raises(NewerVersion, match="has format 2, and this version knows 1; update rehydrate"):
            layout.check_version(place)


class TestFolders:
    def test_it_worked_where_it_was_begun(self, begin):
        path = begin(HI, user("There.", cwd="/srv/project/below"))
        assert layout.folders_of(layout.place_of(path)) == ["/srv/project"]

    def test_and_in_the_folder_that_it_is_kept_under(self, begin, tmp_path):
        cwd = str(tmp_path)
        path = begin(HI, user("There.", cwd=cwd), key=key_of(cwd))
        place = layout.place_of(path)
        assert layout.workspaces_of(place, [SESSION]) == ("/srv/project", cwd)

    def test_those_of_its_ancestors_count(self, begin):
        begin(HI, session=OTHER, cwd="/srv/elsewhere", key="-srv-elsewhere")
        place = layout.place_of(begin(HI))
        assert layout.workspaces_of(place, [OTHER, "gone", SESSION]) == ("/srv/project", "/srv/elsewhere")

    def test_sessions_are_never_shown_and_what_lies_beside_them_is(self, begin, root):
        place = layout.place_of(begin(HI))
        begin(HI, session=OTHER, key="-srv-other")
        beside = os.path.join(root, "notes.md")
        with open(beside, "w") as file:
            file.write("x")
        access = Access([root], denied=layout.denied(place))
        refused = [access.read(path).reason for path in (place.path, Place(root, "-srv-other", OTHER).path)]
        assert refused == ["denied"] * 2 and isinstance(access.read(beside), FileText)


class TestSiblings:
    def test_they_are_the_others_of_its_folder(self, begin):
        place = layout.place_of(begin(HI))
        begin(HI, session=OTHER), begin(HI, session="elsewhere", key="-srv-other")
        assert [each.session for each in place.siblings()] == [OTHER]

    def test_one_is_found_by_its_id_in_the_same_folder_else_in_another_one(self, begin):
        place = layout.place_of(begin(HI))
        far = begin(HI, session=OTHER, key="-srv-other")
        assert place.sibling(OTHER).path == far
        near = begin(HI, session=OTHER)
        assert place.sibling(OTHER).path == near

    @pytest.mark.parametrize("session", ["gone", "../x", "", None])
    def test_what_is_no_id_or_not_there_is_none(self, begin, session):
        assert layout.place_of(begin(HI)).sibling(session) is None
