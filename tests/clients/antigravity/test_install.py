"""hooks.json: our entry put in and taken out, and not one byte of anybody else's changed."""

import json
from pathlib import Path

import pytest

from rehydrate import hostfile
from rehydrate.clients.antigravity import install
from tests.clients.antigravity.hooks import COMMAND, ENTRY, OLD, OLDER, OTHER, OTHERS, Hooks, hook


@pytest.fixture
def hooks(tmp_path):
    return Hooks(tmp_path)


FORMS = {
    "empty object": b"{}",
    "empty object, blanks": b"  {  }\n\n",
    "empty object, line end": b"{\n}\n",
    "empty file": b"",
    "one line": OTHERS.encode(),
    "two blanks": json.dumps(json.loads(OTHERS), indent=2).encode() + b"\n",
    "tabs, no line end": json.dumps(json.loads(OTHERS), indent="\t").encode(),
    "CRLF": json.dumps(json.loads(OTHERS), indent=4).replace("\n", "\r\n").encode() + b"\r\n",
    "odd blanks": b'{ "lint" :{"PreInvocation":[ ]}\n ,\n\n"b"\n:{ } }   \n',
    "escapes and signs": '{"l\\u0069nt \\"x\\" \\ud83d": {"note": "Grüße, {}[]"}}'.encode(),
    "a nested file": json.dumps({"hooks": {"PreInvocation": [{"name": "a", "command": OTHER, "timeout": 3}]}}).encode(),
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
class TestAnyForm:
    def test_install_adds_our_hook_and_keeps_the_others(self, hooks, data):
        hooks.write(data)
        plan, backup = hooks.install()
        assert plan.action == "added"
        assert hooks.read() == {**json.loads(data or b"{}"), "rehydrate": ENTRY}
        assert Path(backup).read_bytes() == data

    def test_install_only_inserts(self, hooks, data):
        hooks.write(data)
        hooks.install()
        after, at = hooks.file.read_bytes(), 0
        for byte in data:  # what was there is there in its order
            at = after.index(byte, at) + 1

    def test_installing_twice_changes_nothing(self, hooks, data):
        hooks.write(data)
        hooks.install()
        after = hooks.file.read_bytes()
        plan, backup = hooks.install()
        assert (plan.action, backup, hooks.file.read_bytes()) == ("present", None, after)
        assert len(hooks.backups()) == 1

    def test_uninstall_gives_the_bytes_back(self, hooks, data):
        hooks.write(data)
        hooks.install()
        plan, _ = hooks.uninstall()
        assert (plan.action, plan.command, hooks.file.read_bytes()) == ("removed", COMMAND, data)

    def test_uninstall_gives_the_bytes_back_without_the_ledger(self, hooks, data):
        hooks.write(data)
        hooks.install()
        hooks.forget_all()
        hooks.uninstall()
        assert hooks.file.read_bytes() == data

    def test_uninstall_gives_the_bytes_back_after_an_update(self, hooks, data):
        hooks.write(data)
        hooks.install(OLD)
        assert hooks.install()[0].action == "updated"
        assert hooks.read()["rehydrate"] == ENTRY
        hooks.uninstall()
        assert hooks.file.read_bytes() == data


class TestNoFileBefore:
    def test_what_was_made_is_removed_again(self, hooks, tmp_path):
        assert hooks.install()[1] is None
        assert hooks.read() == {"rehydrate": ENTRY}
        hooks.uninstall()
        assert list(tmp_path.iterdir()) == []

    def test_folders_that_were_there_stay(self, hooks):
        hooks.file.parent.mkdir(parents=True)
        hooks.install()
        hooks.uninstall()
        assert list(hooks.file.parent.iterdir()) == []

    def test_a_folder_that_somebody_uses_now_stays(self, hooks):
        hooks.install()
        (hooks.file.parent / "config.json").write_text("{}")
        hooks.uninstall()
        assert [each.name for each in hooks.file.parent.iterdir()] == ["config.json"]

    def test_the_file_goes_without_the_ledger_too(self, hooks):
        hooks.install()
        hooks.forget_all()
        hooks.uninstall()
        assert not hooks.file.exists()

    def test_a_backup_of_an_earlier_installation_is_not_taken_for_the_original(self, hooks):
        hooks.write(b"{}")
        hooks.install()
        hooks.uninstall()
        hooks.file.unlink()
        hooks.install()
        hooks.uninstall()
        assert not hooks.file.exists()


class TestChangedSince:
    def test_only_our_entry_goes(self, hooks):
        hooks.write(b'{\n  "a": {}\n}\n')
        hooks.install()
        text = hooks.file.read_text().replace('"a": {}', '"a": {"note": 1}')
        hooks.file.write_text(text)
        plan, backup = hooks.uninstall()
        assert hooks.file.read_bytes() == b'{\n  "a": {"note": 1}\n}\n'
        assert Path(backup).read_text() == text
        assert plan.action == "removed"

    def test_it_is_remembered_through_an_update(self, hooks):
        hooks.install(OLD)
        hooks.file.write_text(hooks.file.read_text().rstrip()[:-1].rstrip() + ',\n  "b": {}\n}\n')
        hooks.install()
        assert hostfile.remembered("antigravity", hooks.environ) == [str(hooks.file)]
        hooks.uninstall()
        assert hooks.read() == {"b": {}}
        assert hostfile.remembered("antigravity", hooks.environ) == []

    def test_entries_after_ours_stay(self, hooks):
        hooks.install()
        hooks.file.write_text(hooks.file.read_text().rstrip()[:-1].rstrip() + ',\n  "b": {}\n}\n')
        hooks.uninstall()
        assert hooks.file.read_bytes() == b'{\n  "b": {}\n}\n'

    def test_a_handler_added_to_our_hook_stays(self, hooks):
        hooks.write(json.dumps({"rehydrate": {"PreInvocation": [{"command": OTHER}, {"command": COMMAND}]}}).encode())
        hooks.uninstall()
        assert hooks.read() == {"rehydrate": {"PreInvocation": [{"command": OTHER}]}}

    def test_a_change_between_plan_and_deed_stops_it(self, hooks):
        hooks.write(b"{}")
        plan = install.plan_install(str(hooks.file), COMMAND)
        hooks.write(b'{"new": {}}')
        with pytest.raises(OSError, match="changed meanwhile"):
            hostfile.carry_out(plan, hooks.environ)
        assert hooks.file.read_bytes() == b'{"new": {}}'
        assert hooks.backups() == []

    def test_a_ledger_that_lies_is_not_believed(self, hooks, tmp_path):
        hooks.write(b'{"a": {}}')
        hooks.install()
        ledger = tmp_path / "s" / "rehydrate" / hostfile.LEDGER
        victim = tmp_path / "victim"
        victim.write_text("keep")
        entries = json.loads(ledger.read_text())
        entries[str(hooks.file)].update(backup="../../victim", folders=[str(victim)])
        ledger.write_text(json.dumps(entries))
        hooks.uninstall()
        assert hooks.file.read_bytes() == b'{"a": {}}'
        assert victim.read_text() == "keep"


class TestOurs:
    def test_the_nested_shape_is_not_duplicated(self, hooks):
        data = json.dumps({"hooks": {"PreInvocation": [{"name": "r", "command": COMMAND, "timeout": 3}]}}).encode()
        hooks.write(data)
        assert hooks.install()[0].action == "present"
        assert hooks.file.read_bytes() == data

    def test_the_nested_shape_is_updated_in_place(self, hooks):
        old = "'/old/bin/rehydrate' hook antigravity || echo '{}'"
        handler = {"name": "r", "command": old, "timeout": 3, "enabled": False}
        hooks.write(json.dumps({"hooks": {"PreInvocation": [{"command": OTHER}, handler]}}).encode())
        assert hooks.install()[0].action == "updated"
        new = {**handler, "command": COMMAND, "enabled": True}
        assert hooks.read() == {"hooks": {"PreInvocation": [{"command": OTHER}, new]}}

    def test_a_changed_command_keeps_the_users_timeout(self, hooks):
        hooks.install(OLD)
        hooks.file.write_text(hooks.file.read_text().replace('"timeout": 10', '"timeout": 30'))
        hooks.install()
        assert hooks.read()["rehydrate"]["PreInvocation"][0] == {"type": "command", "command": COMMAND, "timeout": 30}

    def test_a_disabled_hook_is_enabled(self, hooks):
        hooks.write(json.dumps({"rehydrate": {**ENTRY, "enabled": False}}).encode())
        assert hooks.install()[0].action == "updated"
        assert hooks.read() == {"rehydrate": ENTRY}

    def test_a_disabled_hook_of_others_that_holds_our_command_is_left_alone(self, hooks):
        mixed = {"enabled": False, "PreInvocation": [{"command": OTHER}, {"command": COMMAND}]}
        hooks.write(json.dumps({"mixed": mixed}).encode())
        assert hooks.install()[0].action == "added"
        assert hooks.read() == {"mixed": mixed, "rehydrate": ENTRY}

    def test_our_command_under_another_event_is_no_registration(self, hooks):
        hooks.write(json.dumps({"x": {"Stop": [{"command": COMMAND}]}}).encode())
        assert hooks.install()[0].action == "added"

    def test_an_empty_hook_of_our_name_is_filled(self, hooks):
        hooks.write(b'{"rehydrate": {"enabled": false, "PreInvocation": []}}')
        assert hooks.install()[0].action == "added"
        assert hooks.read() == {"rehydrate": ENTRY}
        hooks.uninstall()
        assert hooks.file.read_bytes() == b'{"rehydrate": {"enabled": false, "PreInvocation": []}}'

    def test_an_empty_hook_of_our_name_that_says_more_is_refused(self, hooks):
        hooks.write(b'{"rehydrate": {"note": "mine", "PreInvocation": []}}')
        assert hooks.install()[0].action == "refused"

    def test_a_command_outside_a_list_is_nobodys_handler(self, hooks):
        data = json.dumps({"x": {"command": COMMAND}}).encode()
        hooks.write(data)
        assert hooks.uninstall()[0].action == "absent"
        assert hooks.install()[0].action == "added"
        hooks.uninstall()
        assert hooks.file.read_bytes() == data

    @pytest.mark.parametrize(
        "name", ["/opt/rehydrate.hook.sh", "sh /opt/my-rehydrate hook x", "/opt/rehydrate-hooks x"]
    )
    def test_a_hook_with_a_name_like_ours_is_left_alone(self, hooks, name):
        data = json.dumps({"x": hook(name)}).encode()
        hooks.write(data)
        assert hooks.install()[0].action == "added"
        hooks.forget_all()
        hooks.file.write_bytes(hooks.file.read_bytes() + b"\n")
        hooks.uninstall()
        assert hooks.file.read_bytes() == data + b"\n"

    @pytest.mark.parametrize("more", ['"$schema": "x"', '"a": {"Stop": [{"timeout": 1.5}]}'])
    def test_it_is_taken_out_of_a_file_that_the_client_ignores_by_now(self, hooks, more):
        hooks.install()
        hooks.file.write_text(f"{{\n  {more},{hooks.file.read_text()[1:]}")
        assert hooks.install()[0].action == "refused"
        assert hooks.uninstall()[0].action == "removed"
        assert hooks.file.read_text() == f"{{\n  {more}\n}}\n"

    def test_somebody_elses_hook_of_our_name_is_refused(self, hooks):
        hooks.write(json.dumps({"rehydrate": hook(OTHER)}).encode())
        plan, _ = hooks.install()
        assert plan.action == "refused"
        assert "named 'rehydrate'" in plan.why

    def test_absent_is_said(self, hooks):
        assert hooks.uninstall()[0].action == "absent"
        hooks.write(OTHERS.encode())
        plan, backup = hooks.uninstall()
        assert (plan.action, backup, hooks.file.read_text()) == ("absent", None, OTHERS)


DROPPED = {
    "byte order mark": (b'\xef\xbb\xbf{"a": {}}', "byte order mark"),
    "comment": (b'{\n  // mine\n  "a": {}\n}', "comment"),
    "block comment": (b'{"a": {} /* x */}', "comment"),
    "trailing comma": (b'{"a": {},}', "not JSON"),
    "two documents": (b"{} {}", "not JSON"),
    "NaN": (b'{"a": {"x": NaN}}', "NaN"),
    "a list": (b"[]", "not an object"),
    "$schema": (b'{"$schema": "https://x", "a": {}}', "'$schema'"),
    "float timeout": (b'{"a": {"PreInvocation": [{"command": "x", "timeout": 1.5}]}}', "timeout"),
    "whole float timeout": (b'{"a": {"PreInvocation": [{"command": "x", "timeout": 10.0}]}}', "timeout"),
    "text timeout": (b'{"a": {"Stop": [{"command": "x", "timeout": "10"}]}}', "timeout"),
    "deep text timeout": (b'{"a": {"PostToolUse": [{"hooks": [{"command": "x", "timeout": "1"}]}]}}', "timeout"),
    "huge timeout": (b'{"a": {"Stop": [{"command": "x", "timeout": 99999999999999999999}]}}', "timeout"),
    "timeout of 32 bits": (b'{"a": {"Stop": [{"command": "x", "timeout": 2147483648}]}}', "less than 2^31"),
    "true for a timeout": (b'{"a": {"Stop": [{"command": "x", "timeout": true}]}}', "timeout"),
    "Timeout": (b'{"a": {"Stop": [{"command": "x", "Timeout": 1.5}]}}', "a.Stop[0].Timeout (line 1)"),
    "text for enabled": (b'{"a": {"enabled": "false"}}', "a.enabled (line 1) must be true or false"),
    "number for enabled": (b'{"a": {"Enabled": 0}}', "a.Enabled (line 1) must be true or false"),
    "another type": (
        b'{"a": {"Stop": [{"type": "http", "command": "x"}]}}',
        'a.Stop[0].type (line 1) must be "command"',
    ),
    "no command": (b'{"a": {"SessionStart": [{"type": "command"}]}}', "a.SessionStart[0] (line 1) must be a handler"),
    "empty command": (b'{"a": {"PostInvocation": [{"command": ""}]}}', "must be a handler"),
    "list of words": (b'{"a": {"PreInvocation": [{"command": ["x", "y"]}]}}', "must be a handler"),
    "no handler": (b'{"a": {"PreInvocation": [null]}}', "a.PreInvocation[0] (line 1) must be an object"),
    "grouped where flat": (b'{"a": {"PreInvocation": [{"hooks": [{"command": "x"}]}]}}', "must be a handler"),
    "no list": (b'{"a": {"preInvocation": {"command": "x"}}}', "a.preInvocation (line 1) must be a list"),
    "no list of groups": (b'{"a": {"PreToolUse": "x"}}', "a.PreToolUse (line 1) must be a list"),
    "no group": (b'{"a": {"PreToolUse": ["x"]}}', "a.PreToolUse[0] (line 1) must be an object"),
    "no matcher": (b'{"a": {"PostToolUse": [{"matcher": 1}]}}', "matcher (line 1) must be a text"),
    "no list in a group": (b'{"a": {"PostToolUse": [{"hooks": {}}]}}', "hooks (line 1) must be a list"),
    "no command in a group": (b'{"a": {"PreToolUse": [{"hooks": [{}]}]}}', "a.PreToolUse[0].hooks[0] (line 1)"),
}
"""Measured with the vendor's harness 0.1.22: of another hook in these files nothing is run."""
UNCLEAR = {
    "not UTF-8": (b'{"a": {"note": "\xff"}}', "not UTF-8"),
    "UTF-16": ('{"a": {}}'.encode("utf-16"), "not UTF-8"),
    "a name twice": (b'{"a": {}, "a": {}}', "twice"),
    "a key twice below": (b'{"a": {"PreInvocation": [{"command": "x", "command": "y"}]}}', "twice"),
    "two spellings": (b'{"a": {"PreInvocation": [], "preInvocation": []}}', "two spellings"),
    "very deep": (b'{"a": ' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001, "deep"),
}
TAKEN = {
    "null hook": {"a": None},
    "null event": {"a": {"Stop": None}},
    "null group": {"a": {"PreToolUse": [None, {"hooks": None}]}},
    "null members": {"a": {"enabled": None, "Stop": [{"type": None, "command": "x", "timeout": None}]}},
    "empty type": {"a": {"Stop": [{"type": "", "command": "x"}]}},
    "timeout below 0": {"a": {"Stop": [{"command": "x", "timeout": -1}]}},
    "unknown members": {"a": {"timeout": 1.5, "Other": [{"timeout": 1.5}], "Stop": [{"command": "x", "name": 1}]}},
    "flat where grouped": {"a": {"PreToolUse": [{"command": "x", "timeout": 1.5}]}},
}
"""Measured likewise: these spoil nothing."""


@pytest.mark.parametrize("value", TAKEN.values(), ids=TAKEN.keys())
def test_what_the_client_takes_is_no_hindrance(hooks, value):
    hooks.write(json.dumps(value).encode())
    assert hooks.install()[0].action == "added"
    assert hooks.read() == {**value, "rehydrate": ENTRY}


def test_a_null_hook_of_our_name_is_filled(hooks):
    hooks.write(b'{"rehydrate": null}')
    assert hooks.install()[0].action == "added"
    assert hooks.read() == {"rehydrate": ENTRY}


def test_our_handler_is_found_whatever_the_case_of_its_names(hooks):
    hooks.write(json.dumps({"rehydrate": {"Enabled": False, "preInvocation": [{"Command": OLD}]}}).encode())
    assert hooks.install()[0].action == "updated"
    assert hooks.read() == {"rehydrate": {"Enabled": True, "preInvocation": [{"Command": COMMAND}]}}
    assert hooks.uninstall()[0].action == "removed"
    assert hooks.read() == {}


@pytest.mark.parametrize(("data", "words"), [*DROPPED.values(), *UNCLEAR.values()], ids=[*DROPPED, *UNCLEAR])
class TestFilesThatTheClientDrops:
    def test_install_refuses_and_writes_nothing(self, hooks, data, words):
        hooks.write(data)
        plan, _ = hooks.install()
        assert plan.action == "refused"
        assert words in plan.why
        assert not plan.changes
        assert [each.name for each in hooks.file.parent.iterdir()] == ["hooks.json"]

    def test_uninstall_leaves_it_as_it_is(self, hooks, data, words):
        hooks.write(data)
        assert hooks.uninstall()[0].action in ("refused", "absent")
        assert hooks.file.read_bytes() == data


class TestOlderScript:
    def test_it_is_refused_by_name(self, hooks):
        hooks.write(json.dumps({"memory": hook(OLDER), "lint": hook(OTHER)}).encode())
        plan, _ = hooks.install()
        assert plan.action == "refused"
        assert "'memory'" in plan.why and "--replace" in plan.why

    def test_it_is_found_anywhere(self, hooks):
        hooks.write(json.dumps({"x": {"Stop": [{"matcher": "", "hooks": [{"command": OLDER}]}]}}).encode())
        assert hooks.install()[0].action == "refused"

    def test_it_is_refused_beside_our_own(self, hooks):
        hooks.write(json.dumps({"rehydrate": ENTRY, "x": hook(OLDER)}).encode())
        assert hooks.install()[0].action == "refused"
        assert hooks.install(replace=True)[0].action == "updated"
        assert hooks.read() == {"rehydrate": ENTRY}

    def test_replace_takes_out_its_handler_only(self, hooks):
        mixed = {"enabled": True, "PreInvocation": [{"command": OTHER}, {"command": OLDER}, {"command": "z"}]}
        data = json.dumps({"mixed": mixed, "alone": hook(OLDER), "lint": hook(OTHER)}, indent=2).encode()
        hooks.write(data)
        plan, backup = hooks.install(replace=True)
        left = {"enabled": True, "PreInvocation": [{"command": OTHER}, {"command": "z"}]}
        assert plan.action == "added"
        assert hooks.read() == {"mixed": left, "lint": hook(OTHER), "rehydrate": ENTRY}
        assert Path(backup).read_bytes() == data

    def test_uninstall_gives_the_bytes_back_after_replace(self, hooks):
        data = json.dumps({"alone": hook(OLDER)}).encode()
        hooks.write(data)
        hooks.install(replace=True)
        hooks.uninstall()
        assert hooks.file.read_bytes() == data


def test_only_a_message_other_than_the_default_is_named_in_the_command():
    assert "--as" not in install.hook_command()
    assert " antigravity --as ephemeralMessage || " in install.hook_command("ephemeralMessage")


@pytest.mark.parametrize(
    ("inside", "there"),
    [
        ((), True),
        (("antigravity",), True),
        (("config",), True),
        (("x/brain",), True),
        (("settings.json", "tmp"), False),
    ],
)
def test_a_home_is_this_client_s_unless_only_another_s_things_are_in_it(tmp_path, inside, there):
    home = tmp_path / ".gemini"
    home.mkdir()
    for each in inside:
        (home / each).mkdir(parents=True)
    assert install.found({"HOME": str(tmp_path)}) is there
    assert install.found({"HOME": str(tmp_path / "nowhere")}) is False
