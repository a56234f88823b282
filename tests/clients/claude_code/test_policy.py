"""Which settings count, what in them stops hooks, and which plugins run ours."""

import json
from pathlib import Path

import pytest

from rehydrate.clients.claude_code import install, plugins, policy
from tests.clients.claude_code.hooks import COMMANDS, OTHER, group, hooks_of

OURS = "rehydrate@rehydrate"


class Machine:
    """A home, a workspace and a folder of managed settings."""

    def __init__(self, folder, monkeypatch):
        self.home, self.work, self.managed = folder / "home", folder / "work", folder / "etc"
        for each in (self.home, self.work, self.managed):
            each.mkdir()
        self.config = self.home / ".claude"
        self.environ = {"HOME": str(self.home)}
        monkeypatch.setattr(policy, "MANAGED", str(self.managed))

    def write(self, file, value):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))

    def user(self, **value):
        self.write(self.config / "settings.json", value)

    def project(self, **value):
        self.write(self.work / ".claude" / "settings.json", value)

    def local(self, **value):
        self.write(self.work / ".claude" / "settings.local.json", value)

    def manage(self, name="managed-settings.json", **value):
        self.write(self.managed / name, value)

    def switches(self, **more):
        found = policy.switches(self.environ, folder=str(self.work), **{"by_plugin": False, **more})
        return [each.detail.replace("{file}", each.file or "") for each in found]

    def plugins(self):
        return [each.name for each in plugins.ours(self.environ, folder=str(self.work))]

    def plugin(self, name=OURS, *commands, root=None, **row):
        """Files of a plugin, and the client's record of them."""
        root = root or self.config / "plugins" / "cache" / name / "1.0"
        self.write(root / "hooks" / "hooks.json", hooks_of(group(*(commands or COMMANDS))))
        self.write(root / ".claude-plugin" / "plugin.json", {"name": name.partition("@")[0]})
        rows = {name: [{"scope": "user", "installPath": str(root), **row}]}
        self.write(self.config / "plugins" / "installed_plugins.json", {"version": 2, "plugins": rows})


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


class TestSwitches:
    def test_nothing_is_there(self, machine):
        assert machine.switches() == []

    def test_hooks_are_disabled_by_the_user(self, machine):
        machine.user(disableAllHooks=True)
        file = machine.config / "settings.json"
        assert machine.switches() == [f"disableAllHooks is true in {file}, so the client runs no hook"]

    @pytest.mark.parametrize("where", ["project", "local"])
    def test_hooks_are_disabled_in_the_workspace(self, machine, where):
        getattr(machine, where)(disableAllHooks=True)
        assert len(machine.switches()) == 1

    def test_the_workspace_s_own_word_stands_above_the_user_s(self, machine):
        machine.user(disableAllHooks=True)
        machine.project(disableAllHooks=True)
        machine.local(disableAllHooks=False)
        assert machine.switches() == []

    def test_the_managed_word_stands_above_all(self, machine):
        machine.user(disableAllHooks=True)
        machine.manage(disableAllHooks=False)
        assert machine.switches() == []

    def test_the_last_managed_file_stands_above_the_others(self, machine):
        machine.manage(allowManagedHooksOnly=True)
        assert "allowManagedHooksOnly" in machine.switches()[0]
        machine.manage("managed-settings.d/10-a.json", allowManagedHooksOnly=True)
        machine.manage("managed-settings.d/20-b.json", allowManagedHooksOnly=False)
        assert machine.switches() == []

    def test_only_managed_settings_can_allow_managed_hooks_only(self, machine):
        machine.user(allowManagedHooksOnly=True, strictPluginOnlyCustomization=True)
        assert machine.switches() == []

    @pytest.mark.parametrize("value", [True, ["hooks", "skills"]])
    def test_only_hooks_of_plugins_are_allowed(self, machine, value):
        machine.manage(strictPluginOnlyCustomization=value)
        assert "hooks of plugins only" in machine.switches()[0]
        assert machine.switches(by_plugin=True) == []

    @pytest.mark.parametrize("value", [False, ["skills"], "hooks"])
    def test_other_customizations_are_none_of_ours(self, machine, value):
        machine.manage(strictPluginOnlyCustomization=value)
        assert machine.switches() == []

    @pytest.mark.parametrize("name", ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"])
    def test_a_variable_stops_all_hooks(self, machine, name):
        machine.environ[name] = "1"
        assert name in machine.switches()[0]
        machine.environ[name] = "0"
        assert machine.switches() == []

    def test_files_that_cannot_be_used_say_nothing(self, machine):
        machine.write(machine.config / "settings.json", '{"disableAllHooks": true,}')
        machine.write(machine.work / ".claude" / "settings.json", "[]")
        machine.user(disableAllHooks="yes")
        (machine.managed / "managed-settings.json").mkdir()
        assert machine.switches() == []


class TestPlugins:
    def test_without_any(self, machine):
        assert machine.plugins() == []

    def test_one_that_is_enabled(self, machine):
        machine.plugin()
        machine.user(enabledPlugins={OURS: True})
        (found,) = plugins.ours(machine.environ, folder=None)
        assert found.remedy == f"claude plugin uninstall {OURS}"
        assert json.loads(Path(found.file).read_bytes()) == hooks_of(group(*COMMANDS))

    @pytest.mark.parametrize("where", ["project", "local", "manage"])
    def test_one_that_is_enabled_elsewhere(self, machine, where):
        machine.plugin()
        getattr(machine, where)(enabledPlugins={OURS: True})
        assert machine.plugins() == [OURS]

    def test_one_that_is_disabled_or_only_installed(self, machine):
        machine.plugin()
        assert machine.plugins() == []
        machine.user(enabledPlugins={OURS: True})
        machine.local(enabledPlugins={OURS: False})
        assert machine.plugins() == []

    def test_one_of_another_name_that_runs_our_hook(self, machine):
        machine.plugin("memory@team")
        machine.user(enabledPlugins={"memory@team": True})
        assert machine.plugins() == ["memory@team"]

    def test_one_that_runs_something_else(self, machine):
        machine.plugin("lint@team", OTHER)
        machine.user(enabledPlugins={"lint@team": True})
        assert machine.plugins() == []

    def test_ours_counts_before_it_was_fetched(self, machine):
        machine.user(enabledPlugins={"rehydrate@team": True, "rehydrated@team": True})
        assert machine.plugins() == ["rehydrate@team"]
        assert install.also_read(machine.environ, folder=None) == []

    def test_a_record_of_the_first_version(self, machine, tmp_path):
        machine.plugin("memory@team", root=tmp_path / "there")
        rows = {"memory@team": {"installPath": str(tmp_path / "there")}}
        machine.write(machine.config / "plugins" / "installed_plugins.json", {"version": 1, "plugins": rows})
        machine.user(enabledPlugins={"memory@team": True})
        assert machine.plugins() == ["memory@team"]

    def test_plugins_in_another_folder(self, machine, tmp_path):
        machine.plugin("memory@team")
        (machine.config / "plugins").rename(tmp_path / "p")
        rows = {"memory@team": [{"installPath": str(tmp_path / "p" / "cache" / "memory@team" / "1.0")}]}
        machine.write(tmp_path / "p" / "installed_plugins.json", {"plugins": rows})
        machine.user(enabledPlugins={"memory@team": True})
        machine.environ["CLAUDE_CODE_PLUGIN_CACHE_DIR"] = str(tmp_path / "p")
        assert machine.plugins() == ["memory@team"]

    @pytest.mark.parametrize("above", ["config", "work"])
    def test_one_beside_the_skills(self, machine, above):
        base = machine.config if above == "config" else machine.work / ".claude"
        machine.plugin("rehydrate", root=base / "skills" / "any")
        (machine.config / "plugins" / "installed_plugins.json").unlink()
        (found,) = plugins.ours(machine.environ, folder=str(machine.work))
        assert (found.name, found.remedy) == (
            "rehydrate@skills-dir",
            "claude plugin disable rehydrate@skills-dir",
        )
        machine.user(enabledPlugins={"rehydrate@skills-dir": False})
        assert machine.plugins() == []

    @pytest.mark.parametrize(
        "rows", [None, [], {"plugins": []}, {"plugins": {"memory@team": [1, {"installPath": "\0"}]}}]
    )
    def test_records_that_make_no_sense(self, machine, rows):
        machine.write(machine.config / "plugins" / "installed_plugins.json", json.dumps(rows))
        machine.user(enabledPlugins={"memory@team": True})
        assert machine.plugins() == []

    def test_a_name_that_a_shell_would_obey_is_quoted(self, machine):
        machine.user(enabledPlugins={"rehydrate@$(x)": True})
        (found,) = plugins.ours(machine.environ, folder=None)
        assert found.remedy == "claude plugin uninstall 'rehydrate@$(x)'"

    def test_install_is_refused_beside_it(self, machine):
        machine.plugin()
        assert install.elsewhere(machine.environ, folder=None) is None
        machine.user(enabledPlugins={OURS: True})
        why = install.elsewhere(machine.environ, folder=None)
        assert "put back twice" in why and f"`claude plugin uninstall {OURS}`" in why
