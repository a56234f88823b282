"""The checks, one at a time, for a client that takes a delivery in several values and whose hook keeps no state."""

import json
import os
import sys
from pathlib import Path

import pytest

import rehydrate
from rehydrate import launch
from rehydrate.cli.checks import CHECKS
from rehydrate.cli.checks.subject import Subject
from rehydrate.clients.claude_code import contract, install
from rehydrate.clients.claude_code.layout import place_of
from tests.cli.checks.conftest import Checked
from tests.clients.claude_code.hooks import OLD, group, hooks_of
from tests.clients.claude_code.making import START_S, Home, Talk, session_id

PACKAGE = Path(str(rehydrate.__file__)).parent
PLUGIN = "rehydrate@rehydrate"
MARKER = "[POST-COMPACT REHYDRATION v1 | checkpoint=1 | id=01234567 | part {}/{}]\nText."
ANSWERS = """
import json, sys
sys.stdin.read()
part = sys.argv[sys.argv.index("--part") + 1] if "--part" in sys.argv else "1"
text = "[POST-COMPACT REHYDRATION v1 | checkpoint=1 | id=01234567 | part %s/3]\\n" % part
text += "Rehearsal of rehydrate doctor: nothing here is real."
print(json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}), end="")
"""
"""A hook that answers as it should."""


class ClaudeChecked(Checked):
    def __init__(self, shell):
        self.shell, self.cwd, self.config = shell, shell.cwd, shell.config
        self.file = shell.config / "settings.json"

    def subject(self):
        return Subject("claude-code", environ=os.environ, folder=str(self.cwd))

    def install(self, *words):
        assert self.shell.run("install", "claude-code", *words).status == 0

    def register(self, script, *, values=3, file=None, folder=None):
        """An installation of its own, whose interpreter runs `script` instead."""
        python = (folder or self.shell.folder) / "my python"
        code = python.with_name("code.py")
        code.write_text(script)
        python.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{code}' \"$@\"\n")
        python.chmod(0o755)
        options = [("--part", str(part)) for part in range(1, values + 1)]
        made = [launch.Command(str(python), str(PACKAGE.parent), "claude-code", each, "true") for each in options]
        return self.write(hooks_of(group(*(each.text() for each in made))), file)

    def settings(self, **members):
        before = json.loads(self.file.read_bytes()) if self.file.exists() else {}
        return self.write({**before, **members})

    def plug(self, *commands):
        """The plugin, installed and enabled."""
        root = self.config / "plugins" / "cache" / "rehydrate"
        commands = commands or [f"rehydrate hook claude-code --part {part} || true" for part in (1, 2, 3)]
        self.write(hooks_of(group(*commands)), root / "hooks" / "hooks.json")
        rows = {PLUGIN: [{"scope": "user", "installPath": str(root)}]}
        self.write({"version": 2, "plugins": rows}, self.config / "plugins" / "installed_plugins.json")
        self.settings(enabledPlugins={PLUGIN: True})


@pytest.fixture
def checked(claude):
    return ClaudeChecked(claude)


class TestRegistration:
    def test_installed(self, installed):
        assert installed.well("registration") == "hooks.SessionStart[0].hooks[0], line 7 of ~/.claude/settings.json"

    def test_not_installed(self, checked):
        detail, fix = checked.fault("registration")
        assert detail == "it is not registered: there is no ~/.claude/settings.json"
        assert fix == "run `rehydrate install claude-code`"

    def test_a_file_without_it(self, checked):
        checked.settings(model="opus")
        assert checked.fault("registration")[0] == "it is not registered in ~/.claude/settings.json"

    def test_in_the_workspace(self, checked):
        checked.install("--project")
        assert checked.well("registration").endswith("of ~/work/.claude/settings.json")

    @pytest.mark.parametrize("data", [b"{,}", b"[]", b'{"hooks": []}'])
    def test_a_file_that_the_client_cannot_use(self, checked, data):
        checked.write(data)
        detail, fix = checked.fault("registration")
        assert detail.startswith("the client runs no hook from ~/.claude/settings.json: ")
        assert fix == "correct that in ~/.claude/settings.json, then run `rehydrate install claude-code`"

    def test_one_that_is_not_run(self, installed):
        installed.write(hooks_of(group(*install.hook_command(values=3), matcher="startup")))
        detail, fix = installed.fault("registration")
        assert "is not run: the matcher of its group is 'startup'" in detail
        assert fix == "run `rehydrate uninstall claude-code`, then `rehydrate install claude-code`"
        installed.shell.run("uninstall", "claude-code")
        installed.install()
        assert installed.finding("registration").ok

    def test_other_values_than_the_setting_wants(self, installed):
        installed.shell.run("config", "set", "values", "5")
        detail, fix = installed.fault("registration")
        assert detail.endswith("registered are the values 1, 2, 3, and the setting values is 5")
        assert fix == "run `rehydrate install claude-code`"
        installed.install()
        assert installed.finding("registration").ok

    def test_another_installation(self, checked):
        checked.write(hooks_of(group(*(launch.Command("/p", "/opt", "claude-code", each, "true").text() for each in
                                       (("--part", "1"), ("--part", "2"), ("--part", "3"))))))  # fmt: skip
        assert "for the installation in /opt, which is not the one you are running" in checked.well("registration")

    def test_by_the_plugin(self, checked):
        checked.plug()
        assert checked.well("registration").endswith("of ~/.claude/plugins/cache/rehydrate/hooks/hooks.json")

    def test_the_plugin_with_other_values_than_the_setting_wants(self, checked):
        checked.plug()
        checked.shell.run("config", "set", "values", "5")
        assert checked.fault("registration")[1] == "run `rehydrate config set values 3`"


class TestTwice:
    def test_once(self, installed):
        assert installed.well("twice") == "no other registration delivers"

    def test_the_plugin_beside_the_user_s(self, installed):
        installed.plug()
        detail, fix = installed.fault("twice")
        assert "~/.claude/plugins/cache/rehydrate/hooks/hooks.json runs the hook, too, beside" in detail
        assert fix == (f"run `claude plugin uninstall {PLUGIN}`, or `rehydrate uninstall claude-code` to keep that one")
        installed.shell.run("uninstall", "claude-code")
        assert installed.finding("twice").ok and installed.finding("registration").ok

    def test_the_same_in_the_workspace_is_run_once(self, installed):
        installed.install("--project")
        assert installed.finding("twice").ok

    def test_another_installation_in_the_workspace(self, installed):
        installed.write(hooks_of(group(*OLD)), installed.cwd / ".claude" / "settings.json")
        detail, fix = installed.fault("twice")
        assert "of ~/work/.claude/settings.json runs the hook, too" in detail
        assert fix == "run `rehydrate uninstall claude-code` in ~/work, then `rehydrate install claude-code`"

    def test_another_installation_in_the_same_file(self, installed):
        installed.write(hooks_of(group(*install.hook_command(values=3), *OLD)))
        assert installed.fault("twice")[1].startswith("run `rehydrate uninstall claude-code`, then")

    def test_another_installation_in_the_workspace_s_own_settings(self, installed):
        installed.write(hooks_of(group(*OLD)), installed.cwd / ".claude" / "settings.local.json")
        assert installed.fault("twice")[1] == "take the hook 'SessionStart' out of ~/work/.claude/settings.local.json"


class TestOff:
    def test_nothing(self, installed):
        assert installed.well("off") == "nothing switches it off"

    def test_by_the_user(self, installed):
        installed.settings(disableAllHooks=True)
        assert installed.fault("off") == (
            "disableAllHooks is true in ~/.claude/settings.json, so the client runs no hook",
            "take disableAllHooks out of ~/.claude/settings.json",
        )

    @pytest.mark.parametrize("member", ["disableAllHooks", "allowManagedHooksOnly", "strictPluginOnlyCustomization"])
    def test_by_a_manager(self, installed, member):
        installed.write({member: True}, installed.shell.managed / "managed-settings.json")
        detail, fix = installed.fault("off")
        assert member in detail and "~/managed/managed-settings.json" in detail and fix

    def test_a_manager_may_allow_the_plugin(self, checked):
        checked.plug()
        managed = {"strictPluginOnlyCustomization": True}
        checked.write(managed, checked.shell.managed / "managed-settings.json")
        assert checked.finding("off").ok


class TestHook:
    def test_every_value_is_asked_for(self, checked):
        checked.register(ANSWERS)
        assert checked.well("hook").startswith("a made-up compaction gets 3 values of at most ")

    def test_a_hook_that_says_nothing(self, checked):
        checked.register("")
        assert checked.fault("hook")[0] == "it answered nothing to a made-up compaction: nothing would be put back"

    def test_a_hook_that_fails(self, checked):
        checked.register("raise RuntimeError('oh no')")
        detail, _ = checked.fault("hook")
        assert detail == "the hook fails, and only the command's fall-back answers: RuntimeError: oh no"

    def test_one_value_that_fails(self, checked):
        checked.register(f"import sys\nif '3' in sys.argv: sys.exit('oh no')\n{ANSWERS}")
        assert "oh no" in checked.fault("hook")[0]

    def test_an_answer_that_the_host_would_take_for_text(self, checked):
        checked.register("print('hello')")
        assert "plain text" in checked.fault("hook")[0]

    def test_it_is_run_as_the_client_runs_it(self, checked, tmp_path, monkeypatch):
        monkeypatch.setenv("REHYDRATE_REQUESTS_CHARS", "0")
        seen = tmp_path / "seen"
        checked.register(f"import os, sys\nopen({str(seen)!r}, 'a').write(repr((dict(os.environ), sys.stdin.read())))")
        checked.findings("hook")
        environ, payload = eval(seen.read_text())
        payload = json.loads(payload)
        assert (payload["hook_event_name"], payload["source"]) == ("SessionStart", "compact")
        assert payload["transcript_path"].startswith(environ["CLAUDE_CONFIG_DIR"])
        assert "REHYDRATE_REQUESTS_CHARS" not in environ and str(tmp_path) != environ["HOME"]

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("-I", "-i"),
            (" || true", "; touch MARK"),
            (" --part", " `touch MARK` --part"),
            ("true", "touch MARK"),
        ],
    )
    def test_another_form_is_not_run(self, checked, tmp_path, before, after):
        mark = tmp_path / "mark"
        changed = [each.replace(before, after.replace("MARK", str(mark))) for each in install.hook_command(values=3)]
        checked.write(hooks_of(group(*changed)))
        assert "not to the letter" in checked.fault("hook")[0]
        assert "was not asked" in checked.well("backend")
        assert not mark.exists()

    def test_a_value_that_does_not_exist(self, checked):
        checked.register(ANSWERS, values=10)
        assert "ends in 'claude-code --part 10'" in checked.fault("hook")[0]

    def test_another_installation_in_a_workspace_is_not_run(self, checked, tmp_path):
        mark = tmp_path / "mark"
        checked.register(f"open({str(mark)!r}, 'w')", file=checked.cwd / ".claude" / "settings.json")
        assert "not your own" in checked.fault("hook")[0]
        assert not mark.exists()

    def test_the_plugin_finds_no_program(self, checked, monkeypatch):
        checked.plug()
        monkeypatch.setenv("PATH", str(checked.cwd))
        detail, fix = checked.fault("hook")
        assert detail.endswith("plugins/cache/rehydrate/hooks/hooks.json finds no `rehydrate`")
        assert "uv tool install" in fix

    def test_a_plugin_needs_no_registration_anew(self, checked, monkeypatch):
        checked.plug()
        program = checked.shell.folder / ".local" / "bin" / "rehydrate"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
        (checked.shell.folder / "lib" / "rehydrate").mkdir(parents=True)
        monkeypatch.setattr(launch, "__file__", str(checked.shell.folder / "lib" / "rehydrate" / "launch.py"))
        assert checked.fault("hook")[1] == "install rehydrate again"

    def test_what_a_plugin_runs_is_not_run(self, checked, tmp_path, monkeypatch):
        mark = tmp_path / "mark"
        checked.plug(f"touch {mark}; rehydrate hook claude-code || true")
        monkeypatch.setenv("PATH", str(checked.cwd))
        checked.findings("hook")
        assert not mark.exists()


class TestConversation:
    @pytest.fixture
    def talk(self):
        talk = Talk(session_id(1))
        talk.talk("Build it.", "Yes.", "Go on.", "Done.")
        return talk

    def put(self, checked, talk, *texts):
        for text in texts:
            content = {"type": "hook_additional_context", "content": [text], "hookEvent": "SessionStart"}
            talk.entry("attachment", attachment=content)
        return Home(checked.shell.folder).write(talk)

    @pytest.mark.parametrize("check", ["transcript", "state", "view", "delivery", "error"])
    def test_without_one_all_is_well(self, checked, check):
        assert checked.finding(check).ok

    def test_it_is_read(self, checked, talk):
        path = self.put(checked, talk)
        assert checked.well("transcript").endswith(f"{os.path.getsize(path):,} bytes, 4 records")

    def test_where_the_text_is_kept(self, checked, talk):
        self.put(checked, talk)
        assert checked.well("state").endswith(f"{talk.session}/rehydrate")

    def test_nowhere_to_keep_it(self, checked, talk, monkeypatch):
        path = self.put(checked, talk)
        Path(path).with_suffix("").write_text("no folder")
        assert "/rehydrate/claude-code-" in checked.well("state")
        (checked.shell.folder / ".local").write_text("no folder")
        detail, fix = checked.fault("state")
        assert "cannot be kept" in detail and "is no folder" in detail and fix

    def test_what_the_model_would_see(self, checked, talk):
        self.put(checked, talk)
        assert "characters" in checked.well("view") and "part" in checked.well("view")

    def test_no_compaction_yet(self, checked, talk):
        self.put(checked, talk)
        assert checked.well("delivery") == "the hook has met no compaction yet"

    def test_every_value_arrived(self, checked, talk):
        talk.compact()
        self.put(checked, talk, *(MARKER.format(part, 3) for part in (2, 1, 3)))
        assert checked.well("delivery") == f"compaction 1 of {talk.session}: all 3 values reached the model"

    def test_one_did_not(self, checked, talk):
        talk.compact()
        self.put(checked, talk, MARKER.format(1, 3), MARKER.format(3, 3))
        detail, fix = checked.fault("delivery")
        assert detail.endswith("value 2 of 3 did not reach the model") and fix

    def test_nothing_did_though_the_hook_was_registered(self, installed, talk):
        os.utime(installed.file, (START_S - 60, START_S - 60))
        talk.compact()
        self.put(installed, talk)
        assert installed.fault("delivery")[0].endswith("nothing was put back, though the hook was registered")

    def test_what_the_hook_printed_then_is_told(self, installed, talk):
        os.utime(installed.file, (START_S - 60, START_S - 60))
        talk.compact()
        command = "rehydrate hook claude-code || true"
        failed = {"type": "hook_success", "hookEvent": "SessionStart", "command": command, "stderr": "a\noh no\n"}
        talk.entry("attachment", attachment=failed)
        self.put(installed, talk)
        assert "(the hook printed: oh no)" in installed.fault("delivery")[0]

    def test_before_it_was_registered_nothing_could(self, installed, talk):
        os.utime(installed.file, (START_S + 3_600, START_S + 3_600))
        talk.compact()
        self.put(installed, talk)
        assert "the next one will tell" in installed.well("delivery")

    def test_an_error_of_the_hook(self, checked, talk):
        path = self.put(checked, talk)
        folder = Path(contract.private_folder(place_of(path)))
        folder.mkdir(parents=True, mode=0o700)
        error = {"what": "TooLate: it took long", "time_s": START_S}
        plan = {"version": 1, "client": "claude-code", "transcript": path, "cursor": None, "count": 0, "parts": [],
                "taken": [], "checkpoint": 0, "id": "", "file": None, "time_s": 0, "error": error}  # fmt: skip
        (folder / "plan.json").write_text(json.dumps(plan))
        detail, fix = checked.fault("error")
        assert detail.endswith(f"{talk.session}: TooLate: it took long")
        assert f"`rehydrate show claude-code:{talk.session} --debug`" in fix
        (folder / "plan.json").write_text(json.dumps({**plan, "error": None}))
        assert checked.well("error") == "the hook has met no error"


def test_all_checks_have_a_row(checked):
    for name in CHECKS:
        assert checked.findings(name), name
