"""`registration`, `twice`, `settings` and `off`: each fault by its name."""

import json
import sys
from pathlib import Path

import pytest

from rehydrate import launch

COMMAND = launch.hook_command("antigravity")
HANDLER = {"type": "command", "command": COMMAND, "timeout": 10}
OLDER = {"PreInvocation": [{"type": "command", "command": "python3 /home/u/rehydrate_after_compact.py"}]}
ELSEWHERE = launch.Command(sys.executable, "/opt/other", "antigravity", ()).text()


class TestRegistration:
    def test_installed(self, installed):
        assert installed.well("registration").startswith(
            "rehydrate.PreInvocation[0], line 7 of ~/gemini/config/hooks.json"
        )

    def test_a_moved_home_is_said(self, installed, monkeypatch, tmp_path):
        assert f"started with GEMINI_HOME={installed.home}, too" in installed.well("registration")
        (tmp_path / ".gemini").symlink_to(installed.home)
        monkeypatch.delenv("GEMINI_HOME")
        assert "GEMINI_HOME" not in installed.well("registration")

    def test_no_file(self, checked):
        detail, fix = checked.fault("registration")
        assert "there is no ~/gemini/config/hooks.json" in detail
        assert fix == "run `rehydrate install antigravity`"

    def test_not_registered(self, checked):
        checked.write({"lint": {"PreInvocation": [{"command": "lint"}]}})
        detail, fix = checked.fault("registration")
        assert detail == "it is not registered in ~/gemini/config/hooks.json"
        assert fix == "run `rehydrate install antigravity`"

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b'\xef\xbb\xbf{"a": {}}', "byte order mark"),
            (b'{\n  // mine\n  "a": {}\n}', "a comment (line 2"),
            (b'{"a": {},}', "not JSON (line 1"),
            (b"[]", "not an object"),
            (b'{\n"a": {},\n"$schema": "x"}', "'$schema' (line 3)"),
            (b'{"a": {"Stop": [\n{"command": "x",\n"timeout": 1.5}]}}', "a.Stop[0].timeout (line 3)"),
            (b'{"a": {"Stop": [{"command": "x", "timeout": "10"}]}}', "timeout"),
        ],
        ids=["BOM", "comment", "no JSON", "list", "non-object member", "float timeout", "string timeout"],
    )
    def test_a_file_that_the_client_drops(self, installed, data, words):
        installed.write(data)
        detail, fix = installed.fault("registration")
        assert detail.startswith("the client ignores ~/gemini/config/hooks.json as a whole, without a word: ")
        assert words in detail
        assert fix == "correct that in ~/gemini/config/hooks.json, then run `rehydrate install antigravity`"

    def test_a_folder_in_place_of_the_file(self, checked):
        checked.file.mkdir(parents=True)
        detail, _ = checked.fault("registration")
        assert "~/gemini/config/hooks.json cannot be" in detail

    def test_the_nested_shape_of_other_clients(self, checked):
        checked.write({"rehydrate": {"PreInvocation": [{"matcher": "", "hooks": [HANDLER]}]}})
        detail, fix = checked.fault("registration")
        assert "as a whole, without a word: rehydrate.PreInvocation[0] (line 4) must be a handler" in detail
        assert fix == "run `rehydrate uninstall antigravity`, then `rehydrate install antigravity`"
        checked.shell.run("uninstall")
        checked.install()
        assert checked.findings("registration")[0].ok

    def test_a_time_limit_of_ours_that_is_a_text(self, checked):
        checked.write({"rehydrate": {"PreInvocation": [{**HANDLER, "timeout": "10"}]}})
        detail, fix = checked.fault("registration")
        assert "rehydrate.PreInvocation[0].timeout (line 7) must be a whole number" in detail
        assert fix == "run `rehydrate uninstall antigravity`, then `rehydrate install antigravity`"
        checked.shell.run("uninstall")
        checked.install()
        assert checked.finding("registration").ok

    def test_a_name_twice(self, checked):
        checked.write(b'{"a": {}, "a": {}}')
        detail, fix = checked.fault("registration")
        assert (
            detail == "it is not sure what the client makes of ~/gemini/config/hooks.json: the key 'a' is there twice"
        )
        assert fix.startswith("correct that in ")

    def test_a_handler_without_its_list(self, checked):
        checked.write({"rehydrate": {"PreInvocation": HANDLER}})
        detail, fix = checked.fault("registration")
        assert "must be a list" in detail
        assert fix.startswith("take the hook 'rehydrate' out of ~/gemini/config/hooks.json, then run ")

    def test_a_bare_command_in_the_list(self, checked):
        checked.write({"rehydrate": {"PreInvocation": [COMMAND]}})
        assert "must be an object" in checked.fault("registration")[0]

    def test_another_event(self, checked):
        checked.write({"rehydrate": {"PostToolUse": [HANDLER]}})
        assert "it stands under 'PostToolUse'" in checked.fault("registration")[0]

    def test_a_command_in_a_note_is_no_registration(self, checked):
        checked.write({"lint": {"note": COMMAND, "PreInvocation": []}})
        assert checked.fault("registration")[0].startswith("it is not registered")

    def test_the_wrapper_named_hooks_loads(self, checked):
        checked.write({"hooks": {"PreInvocation": [HANDLER]}})
        assert checked.well("registration").startswith("hooks.PreInvocation[0], line 6")

    @pytest.mark.parametrize("place", ["hook", "handler"])
    def test_a_disabled_entry(self, installed, place):
        hooks = installed.hooks()
        hook = hooks["rehydrate"]
        (hook if place == "hook" else hook["PreInvocation"][0])["enabled"] = False
        installed.write(hooks)
        detail, fix = installed.fault("registration")
        assert "disabled" in detail
        assert fix == "run `rehydrate install antigravity`"
        installed.install()
        assert installed.finding("registration").ok

    def test_a_disabled_entry_keeps_its_message(self, checked):
        checked.install("--as", "ephemeralMessage")
        hooks = checked.hooks()
        hooks["rehydrate"]["enabled"] = False
        checked.write(hooks)
        assert checked.fault("registration")[1] == "run `rehydrate install antigravity --as ephemeralMessage`"

    def test_another_command_under_our_name(self, checked):
        checked.write({"rehydrate": {"PreInvocation": [{"command": "echo hello"}]}})
        detail, fix = checked.fault("registration")
        assert "line 5" in detail and "is not ours" in detail
        assert "another name" in fix

    def test_another_installation_is_named(self, checked):
        checked.write({"rehydrate": {"PreInvocation": [{**HANDLER, "command": ELSEWHERE}]}})
        told = checked.well("registration")
        assert "for the installation in /opt/other, which is not the one you are running" in told

    def test_this_folder_s_file_counts(self, checked):
        checked.install("--project")
        assert " of ~/work/.agents/hooks.json" in checked.well("registration")


class TestTwice:
    def test_installed_once(self, installed):
        assert installed.well("twice") == "no other registration delivers"

    def test_a_second_hook_in_this_folder(self, installed):
        installed.install("--project")
        detail, fix = installed.fault("twice")
        assert detail.startswith("rehydrate.PreInvocation[0], line 7 of ~/work/.agents/hooks.json runs the hook, too")
        assert fix == "run `rehydrate uninstall antigravity` in ~/work, then `rehydrate install antigravity`"
        installed.shell.run("uninstall")
        installed.install()
        assert installed.finding("twice").ok

    def test_a_foreign_copy_in_the_workspace_of_a_conversation(self, laid_out, tmp_path):
        hook = {"mine": {"PreInvocation": [{**HANDLER, "command": ELSEWHERE}]}}
        laid_out.write(hook, tmp_path / "elsewhere" / ".agents" / "hooks.json")
        history = laid_out.shell.app / "history.jsonl"
        row = {"display": "x", "timestamp": 1, "workspace": str(tmp_path / "elsewhere")}
        history.write_text(json.dumps({**row, "conversationId": laid_out.shell.C}) + "\n")
        detail, _ = laid_out.fault("twice")
        assert detail.startswith("mine.PreInvocation[0], line 6 of ~/elsewhere/.agents/hooks.json")

    @pytest.mark.parametrize("folder", [".agent", "_agents", "_agent"])
    def test_a_second_hook_where_the_client_looks_too(self, installed, folder):
        copy = installed.write(installed.hooks(), installed.cwd / folder / "hooks.json")
        detail, fix = installed.fault("twice")
        assert detail.startswith(f"rehydrate.PreInvocation[0], line 7 of ~/work/{folder}/hooks.json runs the hook, too")
        assert fix == f"take the hook 'rehydrate' out of ~/work/{folder}/hooks.json"
        copy.unlink()
        assert installed.finding("twice").ok

    def test_a_handler_that_only_some_versions_switch_off(self, installed):
        handler = {**installed.hooks()["rehydrate"]["PreInvocation"][0], "enabled": False}
        installed.write({**installed.hooks(), "copy": {"PreInvocation": [handler]}})
        assert installed.fault("twice")[0].startswith("copy.PreInvocation[0]")

    def test_a_file_that_the_ledger_remembers(self, installed, tmp_path):
        (tmp_path / "other").mkdir()
        installed.shell.cwd = tmp_path / "other"
        installed.install("--project")
        assert "~/other/.agents/hooks.json" in installed.fault("twice")[0]

    def test_two_in_one_file(self, installed):
        installed.write({**installed.hooks(), "more": {"PreInvocation": [HANDLER]}})
        detail, fix = installed.fault("twice")
        assert detail.startswith("more.PreInvocation[0]")
        assert fix == "run `rehydrate uninstall antigravity`, then `rehydrate install antigravity`"
        installed.shell.run("uninstall")
        installed.install()
        assert installed.finding("twice").ok

    def test_the_older_script_in_the_same_file(self, installed):
        installed.write({**installed.hooks(), "memory": OLDER})
        detail, fix = installed.fault("twice")
        assert detail.startswith("memory.PreInvocation[0]")
        assert fix == "run `rehydrate install antigravity --replace`"
        installed.install("--replace")
        assert installed.finding("twice").ok

    def test_the_older_script_in_this_folder(self, installed):
        installed.write({"memory": OLDER}, installed.cwd / ".agents" / "hooks.json")
        detail, fix = installed.fault("twice")
        assert "older script" in detail
        assert fix == "take the hook 'memory' out of ~/work/.agents/hooks.json"

    def test_what_is_disabled_delivers_nothing(self, installed):
        installed.write({"memory": {**OLDER, "enabled": False}}, installed.cwd / ".agents" / "hooks.json")
        assert installed.finding("twice").ok

    def test_a_file_that_the_client_drops_delivers_nothing(self, installed):
        installed.write(b'\xef\xbb\xbf{"memory": {}}', installed.cwd / ".agents" / "hooks.json")
        assert installed.finding("twice").ok

    def test_two_workspaces_that_never_meet_are_well(self, checked, tmp_path):
        checked.install("--project")
        (tmp_path / "other").mkdir()
        checked.shell.cwd = tmp_path / "other"
        checked.install("--project")
        assert checked.finding("twice").ok


class TestSettings:
    def test_none(self, checked):
        assert checked.well("settings") == "every setting can be used"

    def test_a_bad_variable(self, checked, monkeypatch):
        monkeypatch.setenv("REHYDRATE_PART_BYTES", "many")
        assert "REHYDRATE_PART_BYTES" in checked.fault("settings")[0]

    def test_a_bad_file(self, checked):
        path = Path(checked.shell.run("config", "path").out.strip())
        path.parent.mkdir(parents=True)
        path.write_text("requests_chars = 'x'\nunknown = 1\n")
        details = [detail for detail, _ in checked.faults("settings")]
        assert len(details) == 2
        assert all("rehydrate.toml:" in each for each in details)


class TestOff:
    def test_nothing(self, checked):
        assert checked.well("off") == "nothing switches it off"

    def test_a_variable(self, checked, monkeypatch):
        monkeypatch.setenv("REHYDRATE_OFF", "1")
        detail, fix = checked.fault("off")
        assert "REHYDRATE_OFF is set" in detail and fix.startswith("unset REHYDRATE_OFF")

    def test_a_file_in_this_folder(self, checked):
        (checked.cwd / ".rehydrate-off").touch()
        assert checked.fault("off") == ("~/work/.rehydrate-off switches it off there", "remove ~/work/.rehydrate-off")

    def test_a_file_in_the_workspace_of_the_newest_conversation(self, laid_out, tmp_path):
        (laid_out.cwd / ".rehydrate-off").touch()
        laid_out.cwd = tmp_path
        assert laid_out.fault("off")[1] == "remove ~/work/.rehydrate-off"

    def test_a_setting(self, checked):
        assert checked.shell.run("config", "set", "clients.antigravity.enabled", "false").status == 0
        detail, fix = checked.fault("off")
        assert "settings" in detail and fix == "run `rehydrate config set clients.antigravity.enabled true`"
