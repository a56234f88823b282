"""What stands in a settings.json, and what the client makes of it."""

import json

import pytest

from rehydrate import jsonspans
from rehydrate.clients.claude_code import registered
from tests.clients.claude_code.hooks import COMMANDS, OLD, OTHER, group, handler, hooks_of


@pytest.fixture
def file(tmp_path):
    return tmp_path / "settings.json"


def found(file, value):
    file.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=2).encode())
    return registered.registrations(str(file))


def only(file, value):
    (one,) = found(file, value)
    return one


class TestRegistrations:
    def test_no_file(self, file):
        assert registered.registrations(str(file)) == []

    def test_nothing_of_ours(self, file):
        assert found(file, hooks_of(group(OTHER))) == []

    def test_the_handlers_of_one_installation_are_one_registration(self, file):
        one = only(file, hooks_of(group(OTHER), group(*reversed(COMMANDS))))
        assert one.commands == COMMANDS
        assert one.place == "hooks.SessionStart[1].hooks[0], line 17"
        assert (one.timeout_s, one.fault, one.may_run, one.remedy) == (10, None, True, None)

    def test_those_of_several_groups_are_one(self, file):
        assert only(file, hooks_of(group(COMMANDS[0]), group(*COMMANDS[1:]))).commands == COMMANDS

    def test_another_installation_is_another(self, file):
        assert [each.commands for each in found(file, hooks_of(group(*COMMANDS, *OLD)))] == [COMMANDS, OLD]

    def test_those_that_are_not_run_are_another(self, file):
        one, two = found(file, hooks_of(group(*COMMANDS, matcher="resume"), group(*COMMANDS)))
        assert "'resume'" in one.fault and two.fault is None

    def test_what_is_there_twice_is_told_once(self, file):
        assert only(file, hooks_of(group(*COMMANDS), group(*COMMANDS))).commands == COMMANDS

    def test_the_shortest_time_limit_counts(self, file):
        hooks = [handler(COMMANDS[0], timeout=30), handler(COMMANDS[1], timeout=2.5), {**handler(COMMANDS[2])}]
        del hooks[2]["timeout"]
        assert only(file, hooks_of({"matcher": "compact", "hooks": hooks})).timeout_s == 2.5

    def test_a_strangers_file_is_told_in_part(self, file):
        commands = [f"/{number}/rehydrate hook claude-code" for number in range(100)]
        assert len(found(file, hooks_of(group(*commands)))) == registered.MOST


class TestNotRun:
    @pytest.mark.parametrize(
        "matcher", ["compact", "", "*", "startup|compact", "compact, clear", "com.*", ".", "^compact$"]
    )
    def test_matchers_that_hold_after_a_compaction(self, file, matcher):
        assert only(file, hooks_of(group(*COMMANDS, matcher=matcher))).fault is None

    @pytest.mark.parametrize("matcher", ["startup", "Compact", "comp", "|", "(", "compaction", "^x", "resume|clear"])
    def test_matchers_that_do_not(self, file, matcher):
        assert "must be 'compact'" in only(file, hooks_of(group(*COMMANDS, matcher=matcher))).fault

    def test_without_a_matcher_it_is_run(self, file):
        assert only(file, hooks_of({"hooks": [handler(COMMANDS[0])]})).fault is None

    def test_under_another_event(self, file):
        fault = only(file, {"hooks": {"PreCompact": [group(COMMANDS[0])]}}).fault
        assert fault.startswith("it stands under 'PreCompact', and only SessionStart")

    @pytest.mark.parametrize("limit", [0, -1, "10", True, None])
    def test_a_time_limit_that_the_client_does_not_take(self, file, limit):
        hooks = [handler(COMMANDS[0], timeout=limit)]
        assert "timeout" in only(file, hooks_of({"matcher": "compact", "hooks": hooks})).fault

    @pytest.mark.parametrize("more", [{"type": "prompt"}, {"type": None}])
    def test_another_type(self, file, more):
        assert '"type"' in only(file, hooks_of({"matcher": "compact", "hooks": [handler(COMMANDS[0], **more)]})).fault

    @pytest.mark.parametrize(
        "key, value",
        [
            *(("async", True), ("if", "Bash(git *)"), ("shell", "powershell"), ("args", []), ("async", "true")),
            *(("if", None), ("once", 1), ("asyncRewake", "x"), ("shell", None), ("args", None), ("statusMessage", 5)),
        ],
    )
    def test_a_member_with_which_the_model_gets_nothing(self, file, key, value):
        hooks = [handler(COMMANDS[0], **{key: value})]
        assert key in only(file, hooks_of({"matcher": "compact", "hooks": hooks})).fault

    @pytest.mark.parametrize("more", [{"async": False}, {"if": ""}, {"shell": "bash"}, {"once": True}, {"other": 1}])
    def test_a_member_that_changes_nothing(self, file, more):
        hooks = [handler(COMMANDS[0], **more)]
        assert only(file, hooks_of({"matcher": "compact", "hooks": hooks})).fault is None

    def test_a_matcher_that_would_take_hours_is_not_tried(self, file):
        assert only(file, hooks_of(group(*COMMANDS, matcher="(.*)*" * 20 + "x"))).fault is not None

    def test_a_matcher_that_is_no_text(self, file):
        assert "no text" in only(file, hooks_of({"matcher": 1, "hooks": [handler(COMMANDS[0])]})).fault


class TestOddShapes:
    @pytest.mark.parametrize(
        "value",
        [
            {"hooks": None},
            {"hooks": {"SessionStart": None}},
            {"hooks": {"Stop": {}}},
            hooks_of(None, "x", {"hooks": None}, {"hooks": [None, "x", {"command": 1}]}),
        ],
    )
    def test_the_client_passes_over_them(self, file, value):
        assert found(file, value) == []

    @pytest.mark.parametrize(
        "data", [b"[]", b"{,}", b'{"a": 1} // x', b'{"hooks": 1}', b'{"hooks": {"SessionStart": 1}}']
    )
    def test_no_hook_is_run_from_these(self, file, data):
        with pytest.raises(registered.Dropped):
            found(file, data)

    @pytest.mark.parametrize("data", [b"\xef\xbb\xbf{}", b'{"a": "\xff"}', b'{"a": 1, "a": 2}'])
    def test_of_these_it_is_not_sure(self, file, data):
        with pytest.raises(jsonspans.Unclear):
            found(file, data)


class TestRepeats:
    def registration(self, file, commands, **more):
        file.write_text(json.dumps(hooks_of(group(*commands))))
        (one,) = registered.registrations(str(file), **more)
        return one

    def test_the_same_commands_in_another_file_are_run_once(self, file, tmp_path):
        one = self.registration(file, COMMANDS)
        assert not self.registration(tmp_path / "b.json", COMMANDS).repeats(one)
        assert not self.registration(tmp_path / "b.json", COMMANDS[:1]).repeats(one)

    def test_other_commands_are_run_as_well(self, file, tmp_path):
        assert self.registration(tmp_path / "b.json", OLD).repeats(self.registration(file, COMMANDS))

    def test_those_of_a_plugin_are_run_in_any_case(self, file, tmp_path):
        one = self.registration(file, COMMANDS)
        plugin = self.registration(tmp_path / "b.json", COMMANDS, remedy="claude plugin uninstall x")
        assert plugin.repeats(one) and one.repeats(plugin)


class TestLacking:
    def lacking(self, file, commands, *, values=None, remedy=None):
        file.write_text(json.dumps(hooks_of(group(*commands))))
        (one,) = registered.registrations(str(file), remedy=remedy)
        environ = {"HOME": str(file.parent), **({"REHYDRATE_VALUES": values} if values else {})}
        return registered.lacking(one, environ)

    def test_as_many_as_the_setting_says(self, file):
        assert self.lacking(file, COMMANDS) is None
        assert self.lacking(file, COMMANDS[:2], values="2") is None

    def test_a_single_one_without_a_number(self, file):
        assert self.lacking(file, ["rehydrate hook claude-code || true"], values="1") is None

    def test_one_is_missing(self, file):
        detail, fix = self.lacking(file, [COMMANDS[0], COMMANDS[2]])
        assert (detail, fix) == ("registered are the values 1, 3, and the setting values is 3", None)

    def test_fewer_than_the_setting_says(self, file):
        assert self.lacking(file, COMMANDS[:1])[0] == "registered is value 1, and the setting values is 3"

    def test_a_plugin_has_as_many_as_it_has(self, file):
        assert self.lacking(file, COMMANDS, values="5", remedy="x")[1] == "rehydrate config set values 3"


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("x claude-code || true", 1),
        ("x --part 2 || true", 2),
        ("x --part=9", 9),
        ("x --partial 3", 1),
        ("x --part 99999999", 9999),
    ],
)
def test_the_number_of_the_value_in_a_command(command, part):
    assert registered.part_of(command) == part
