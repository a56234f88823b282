"""settings.json: our handlers put in and taken out, and not one byte of anything else changed."""

import copy
import json
import tempfile
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehydrate import hostfile, launch
from rehydrate.clients.claude_code import install, registered
from tests.clients.claude_code.hooks import COMMANDS, OLD, OTHER, OTHERS, OURS, Settings, group, handler, hooks_of


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path)


def with_ours(value):
    """The settings with our group behind what is there."""
    value = copy.deepcopy(value)
    hooks = value.get("hooks") or {}
    value["hooks"] = hooks
    hooks["SessionStart"] = [*(hooks.get("SessionStart") or []), group(*COMMANDS)]
    return value


BESIDE = {**OTHERS, "hooks": {**OTHERS["hooks"], "SessionStart": [group(OTHER), group(OTHER, matcher="startup")]}}
FORMS = {
    "empty object": b"{}",
    "empty object, blanks": b"  {  }\n\n",
    "empty file": b"",
    "no hooks": b'{\n  "model": "opus"\n}\n',
    "no hooks, one line": b'{"model": "opus"}',
    "null hooks": b'{"hooks": null, "model": "opus"}',
    "empty hooks": b'{\n\t"hooks": {},\n\t"model": "opus"\n}',
    "empty event": b'{\n  "hooks": {\n    "SessionStart": []\n  }\n}\n',
    "null event": b'{"hooks": {"SessionStart": null}}',
    "other events": json.dumps(OTHERS, indent=2).encode() + b"\n",
    "other groups": json.dumps(BESIDE, indent=4).encode(),
    "other groups, one line": json.dumps(BESIDE).encode(),
    "CRLF": json.dumps(BESIDE, indent=2).replace("\n", "\r\n").encode() + b"\r\n",
    "odd blanks": b'{ "hooks" :{"SessionStart":[ ]}\n ,\n\n"b"\n:{ } }   \n',
    "signs": '{"note": "Grüße \\ud83d {}[]", "hooks": {"Stop": []}}'.encode(),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
class TestAnyForm:
    def test_install_adds_our_group_and_keeps_the_rest(self, settings, data):
        settings.write(data)
        plan, backup = settings.install()
        assert (plan.action, plan.command) == ("added", COMMANDS[0])
        assert settings.read() == with_ours(json.loads(data or b"{}"))
        assert Path(backup).read_bytes() == data

    def test_installing_twice_changes_nothing(self, settings, data):
        settings.write(data)
        settings.install()
        after = settings.file.read_bytes()
        plan, backup = settings.install()
        assert (plan.action, backup, settings.file.read_bytes()) == ("present", None, after)

    def test_uninstall_gives_the_bytes_back(self, settings, data):
        settings.write(data)
        settings.install()
        plan, _ = settings.uninstall()
        assert (plan.action, plan.command, settings.file.read_bytes()) == ("removed", COMMANDS[0], data)

    def test_uninstall_gives_the_bytes_back_without_the_ledger(self, settings, data):
        settings.write(data)
        settings.install()
        settings.forget_all()
        settings.uninstall()
        assert settings.file.read_bytes() == data

    def test_uninstall_gives_the_bytes_back_after_other_numbers_of_values(self, settings, data):
        settings.write(data)
        for commands in (OLD[:1], COMMANDS, COMMANDS[:2]):
            settings.install(commands)
        settings.uninstall()
        assert settings.file.read_bytes() == data

    def test_uninstall_leaves_what_somebody_added_since(self, settings, data):
        settings.write(data)
        settings.install()
        changed = {**settings.read(), "theme": "dark"}
        settings.write(changed)
        plan, backup = settings.uninstall()
        left = settings.read()
        hooks = left.pop("hooks", None) or {}
        before = json.loads(data or b"{}")
        kept = {event: groups for event, groups in (before.pop("hooks", None) or {}).items() if groups}
        assert (plan.action, left) == ("removed", {**before, "theme": "dark"})
        assert {event: groups for event, groups in hooks.items() if groups} == kept
        assert json.loads(Path(backup).read_bytes()) == changed


NAMES = st.sampled_from(["hooks", "SessionStart", "matcher", "command", "type", "x"])
LEAVES = st.none() | st.booleans() | st.integers(-1, 99) | st.sampled_from(["compact", "command", *COMMANDS])
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(ANYTHING, max_size=3)}, optional={"matcher": LEAVES}) | LEAVES
)
EVENTS = st.dictionaries(st.sampled_from(["SessionStart", "Stop"]), GROUPS | LEAVES, max_size=2)


@hypothesis.settings(deadline=None, max_examples=50)  # each example writes files, and waits for the disk
@given(
    st.fixed_dictionaries({}, optional={"hooks": EVENTS | ANYTHING, "x": ANYTHING}), st.sampled_from([None, 2, "\t"])
)
def test_whatever_stands_there_install_and_uninstall_touch_nothing_else(value, indent):
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder))
        settings.write(json.dumps(value, indent=indent).encode())
        before = settings.file.read_bytes()
        plan, _ = settings.install()
        if plan.action == "refused":
            assert settings.file.read_bytes() == before
            return
        assert settings.install()[0].action == "present"
        (one, *_) = [each for each in registered.registrations(str(settings.file)) if each.fault is None]
        assert one.commands == COMMANDS
        settings.uninstall()
        assert [each for each in registered.registrations(str(settings.file)) if each.fault is None] == []
        left = settings.read() if settings.file.exists() else {}
        if not any(command in before.decode() for command in map(json.dumps, COMMANDS)):
            assert (left, settings.file.read_bytes()) == (value, before)
        assert left.get("x") == value.get("x")


class TestNoFileBefore:
    def test_what_was_made_is_removed_again(self, settings, tmp_path):
        assert settings.install()[1] is None
        assert settings.read() == OURS
        settings.uninstall()
        assert list(tmp_path.iterdir()) == []

    def test_it_goes_without_the_ledger_too(self, settings):
        settings.install()
        settings.forget_all()
        settings.uninstall()
        assert not settings.file.exists()

    def test_a_file_that_the_client_fills_stays(self, settings):
        settings.install()
        settings.write({**settings.read(), "theme": "dark"})
        settings.uninstall()
        assert settings.read() == {"theme": "dark"}


class TestValues:
    def test_fewer_values_take_the_surplus_out(self, settings):
        settings.install()
        assert settings.install(COMMANDS[:1])[0].action == "updated"
        assert settings.read() == hooks_of(group(COMMANDS[0]))

    def test_more_values_follow_in_the_same_group(self, settings):
        settings.install(COMMANDS[:1])
        assert settings.install()[0].action == "updated"
        assert settings.read() == OURS

    def test_each_value_has_a_command_of_its_own(self):
        commands = install.hook_command(values=3)
        assert [each.rpartition(" claude-code")[2] for each in commands] == [
            f" --part {part} || true" for part in (1, 2, 3)
        ]

    def test_a_single_value_names_no_part(self):
        (command,) = install.hook_command(values=1)
        assert command.endswith(" claude-code || true")

    def test_a_command_can_be_taken_apart(self):
        for command in install.hook_command(values=2):
            assert launch.take_apart(command).text() == command


class TestOurs:
    def test_another_installation_is_updated_in_place(self, settings):
        settings.write(hooks_of(group(OTHER), group(*OLD), group(OTHER, matcher="startup")))
        assert settings.install()[0].action == "updated"
        assert settings.read() == hooks_of(group(OTHER), group(*COMMANDS), group(OTHER, matcher="startup"))

    def test_other_handlers_in_our_group_stay(self, settings):
        settings.write(hooks_of(group(OTHER, *OLD[:2], "z")))
        settings.install()
        assert settings.read() == hooks_of(group(OTHER, *COMMANDS[:2], "z", COMMANDS[2]))
        settings.uninstall()
        assert settings.read() == hooks_of(group(OTHER, "z"))

    def test_handlers_in_several_groups_are_taken_out_of_all(self, settings):
        mixed = hooks_of(group(COMMANDS[0]), group(OTHER, COMMANDS[1]), Stop=[group(OTHER)])
        settings.write(mixed)
        settings.uninstall()
        assert settings.read() == hooks_of(group(OTHER), Stop=[group(OTHER)])

    def test_handlers_in_several_groups_are_none_too_many(self, settings):
        data = hooks_of(group(COMMANDS[0]), group(*COMMANDS[1:]))
        settings.write(data)
        assert settings.install()[0].action == "present"

    def test_a_doubled_handler_goes(self, settings):
        settings.write(hooks_of(group(*COMMANDS), group(OLD[0])))
        assert settings.install()[0].action == "updated"
        assert settings.read() == OURS

    def test_a_changed_command_keeps_the_users_timeout(self, settings):
        settings.write(hooks_of({"matcher": "compact", "hooks": [handler(OLD[0], timeout=30)]}))
        settings.install(COMMANDS[:1])
        assert settings.read()["hooks"]["SessionStart"][0]["hooks"] == [handler(COMMANDS[0], timeout=30)]

    def test_one_that_is_not_run_is_no_registration(self, settings):
        settings.write(hooks_of(group(*COMMANDS, matcher="startup")))
        assert settings.install()[0].action == "added"
        assert settings.read() == hooks_of(group(*COMMANDS, matcher="startup"), group(*COMMANDS))
        settings.uninstall()
        assert settings.read() == {}

    def test_a_wider_matcher_of_the_user_stays(self, settings):
        settings.write(hooks_of(group(*OLD, matcher="startup|compact")))
        assert settings.install()[0].action == "updated"
        assert settings.read() == hooks_of(group(*COMMANDS, matcher="startup|compact"))

    def test_absent_is_said(self, settings):
        assert settings.uninstall()[0].action == "absent"
        settings.write(OTHERS)
        before = settings.file.read_bytes()
        plan, backup = settings.uninstall()
        assert (plan.action, backup, settings.file.read_bytes()) == ("absent", None, before)

    @pytest.mark.parametrize("name", ["/opt/rehydrate.hook.sh", "sh /opt/my-rehydrate hook x", "rehydrate-hooks x"])
    def test_a_hook_with_a_name_like_ours_is_left_alone(self, settings, name):
        settings.write(hooks_of(group(name)))
        assert settings.install()[0].action == "added"
        settings.write({**settings.read(), "x": 1})
        settings.uninstall()
        assert settings.read() == {**hooks_of(group(name)), "x": 1}


REFUSED = {
    "comment": (b'{\n  // mine\n  "model": "opus"\n}', "comment"),
    "trailing comma": (b'{"model": "opus",}', "not JSON"),
    "half a file": (b'{"model": ', "not JSON"),
    "a list": (b"[]", "not an object"),
    "byte order mark": (b"\xef\xbb\xbf{}", "byte order mark"),
    "not UTF-8": (b'{"note": "\xff"}', "not UTF-8"),
    "a name twice": (b'{"hooks": {}, "hooks": {}}', "twice"),
    "very deep": (b'{"a": ' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001, "deep"),
    "hooks that are no object": (b'{\n"hooks": []}', "hooks (line 2) must be an object"),
    "an event that is no list": (b'{"hooks": {"SessionStart": {}}}', "hooks.SessionStart (line 1) must be a list"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED.keys())
class TestRefused:
    def test_install_says_why_and_writes_nothing(self, settings, data, words):
        settings.write(data)
        plan, _ = settings.install()
        assert plan.action == "refused" and words in plan.why and plan.why.endswith("run this again")
        assert [each.name for each in settings.file.parent.iterdir()] == ["settings.json"]
        assert settings.file.read_bytes() == data

    def test_uninstall_leaves_it_as_it_is(self, settings, data, words):
        settings.write(data)
        assert settings.uninstall()[0].action in ("refused", "absent")
        assert settings.file.read_bytes() == data


class TestTheFile:
    def test_a_link_stays_a_link(self, settings, tmp_path):
        real = tmp_path / "dotfiles.json"
        real.write_bytes(b"{}")
        settings.file.parent.mkdir(parents=True)
        settings.file.symlink_to(real)
        settings.install()
        assert settings.file.is_symlink() and json.loads(real.read_bytes()) == OURS
        settings.uninstall()
        assert settings.file.is_symlink() and real.read_bytes() == b"{}"

    def test_a_folder_in_its_place_is_refused(self, settings):
        settings.file.mkdir(parents=True)
        assert settings.install()[0].action == "refused"

    def test_a_change_between_plan_and_deed_stops_it(self, settings):
        settings.write(b"{}")
        plan = install.plan_install(str(settings.file), COMMANDS)
        settings.write(b'{"new": 1}')
        with pytest.raises(OSError, match="changed meanwhile"):
            hostfile.carry_out(plan, settings.environ)
        assert settings.file.read_bytes() == b'{"new": 1}'
        assert settings.backups() == []

    def test_purge_takes_the_backups_along(self, settings):
        settings.write(b"{}")
        settings.install()
        settings.uninstall(purge=True)
        assert [each.name for each in settings.file.parent.iterdir()] == ["settings.json"]


class TestWhere:
    def test_the_users_file(self, tmp_path):
        assert install.hooks_file({"HOME": str(tmp_path)}) == str(tmp_path / ".claude" / "settings.json")
        moved = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
        assert install.hooks_file(moved) == str(tmp_path / "c" / "settings.json")

    def test_a_workspaces_files(self, tmp_path):
        files = [str(tmp_path / ".claude" / name) for name in ("settings.json", "settings.local.json")]
        assert install.workspace_files(str(tmp_path)) == files
        assert install.hooks_file({}, workspace=str(tmp_path)) == files[0]

    def test_a_moved_home_is_told(self, tmp_path):
        environ = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
        assert install.moved_home(environ) == f"CLAUDE_CONFIG_DIR={tmp_path / 'c'}"
        assert install.moved_home({"HOME": str(tmp_path)}) is None

    def test_it_is_there_when_its_folder_is(self, tmp_path):
        environ = {"HOME": str(tmp_path)}
        assert not install.found(environ)
        (tmp_path / ".claude").mkdir()
        assert install.found(environ)
