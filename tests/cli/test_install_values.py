"""`install` and `uninstall` as typed, for a client that takes a delivery in several values."""

import json
import os

import pytest

from rehydrate import launch
from rehydrate.paths import settings_file
from rehydrate.settings import read_settings

OTHERS = '{\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n'


def file(claude):
    return claude.config / "settings.json"


def handlers(path):
    (group,) = json.loads(path.read_bytes())["hooks"]["SessionStart"]
    assert group["matcher"] == "compact"
    return group["hooks"]


def parts(path):
    return [launch.take_apart(each["command"]).options for each in handlers(path)]


def test_three_values_are_registered(claude):
    done = claude.run("install", "--json")
    first = handlers(file(claude))[0]["command"]
    assert done.json == [
        {"client": "claude-code", "file": str(file(claude)), "action": "added", "command": first, "backup": None}
    ]
    assert parts(file(claude)) == [("--part", "1"), ("--part", "2"), ("--part", "3")]
    assert all(each["type"] == "command" and each["timeout"] == 10 for each in handlers(file(claude)))


def test_the_command_names_this_installation_and_falls_back_to_silence(claude):
    claude.run("install")
    found = launch.take_apart(handlers(file(claude))[1]["command"])
    assert found == launch.Command.of_this("claude-code", ("--part", "2"), launch.SILENCE)


def test_another_number_of_values_is_registered_and_kept_as_a_setting(claude):
    done = claude.run("install", "--values", "5")
    assert done.status == 0 and "values is set to 5 in ~/" in done.out
    assert len(parts(file(claude))) == 5
    assert read_settings(os.environ)[0].values == 5
    assert claude.run("install", "--json").json[0]["action"] == "present"


def test_the_setting_is_the_default(claude):
    claude.run("config", "set", "values", "2")
    claude.run("install")
    assert len(parts(file(claude))) == 2


def test_one_value_needs_no_part(claude):
    claude.run("install", "--values", "1")
    assert parts(file(claude)) == [()]


def test_a_variable_above_the_setting_is_warned_of(claude, monkeypatch):
    monkeypatch.setenv("REHYDRATE_VALUES", "4")
    done = claude.run("install", "--values", "2")
    assert done.status == 0
    assert "REHYDRATE_VALUES in the environment stands above" in done.err


def test_the_default_number_writes_no_setting(claude):
    claude.run("install", "--values", "3")
    assert not os.path.exists(settings_file(os.environ))


def test_a_dry_run_writes_neither(claude):
    done = claude.run("install", "--values", "5", "--dry-run")
    assert '"--part 5 || true"' not in done.out and "--part 5 || true" in done.out
    assert not file(claude).exists() and not os.path.exists(settings_file(os.environ))


@pytest.mark.parametrize("number", ["0", "10", "x"])
def test_a_number_that_cannot_be(claude, number):
    assert claude.run("install", "--values", number).status == 2
    assert not file(claude).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("antigravity", "--values", "2"), "--values is not for antigravity"),
        (("claude-code", "--as", "ephemeralMessage"), "--as is not for claude-code"),
    ],
)
def test_an_option_that_the_client_does_not_know(claude, words, said):
    done = claude.run("install", *words)
    assert done.status == 2 and said in done.err
    assert not file(claude).exists()


def test_an_option_of_one_of_several_clients(claude):
    claude.home.mkdir()
    done = claude.run("install", "--values", "2", "--as", "ephemeralMessage", "--json")
    assert [(each["client"], each["action"]) for each in done.json] == [
        ("antigravity", "added"),
        ("claude-code", "added"),
    ]
    assert "--as ephemeralMessage" in done.json[0]["command"] and len(parts(file(claude))) == 2


def test_uninstall_gives_the_bytes_back(claude):
    file(claude).write_text(OTHERS)
    claude.run("install", "--values", "4")
    assert claude.run("uninstall", "--json").json[0]["action"] == "removed"
    assert file(claude).read_text() == OTHERS


def test_in_a_project(claude):
    own = claude.cwd / ".claude" / "settings.json"
    assert claude.run("install", "claude-code", "--project").status == 0
    assert len(parts(own)) == 3 and not file(claude).exists()
    assert claude.run("uninstall").status == 0
    assert not own.parent.exists()


def test_a_moved_home(claude, tmp_path, monkeypatch):
    (tmp_path / "c").mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    claude.run("install", "claude-code")
    assert len(parts(tmp_path / "c" / "settings.json")) == 3


def test_a_file_with_comments_is_refused(claude):
    file(claude).write_text("// mine\n{}\n")
    done = claude.run("install")
    assert done.status == 1 and "it holds a comment (line 1, column 1)" in done.err
    assert file(claude).read_text() == "// mine\n{}\n"


class TestBesideThePlugin:
    @pytest.fixture
    def plugged(self, claude):
        file(claude).write_text(json.dumps({"enabledPlugins": {"rehydrate@rehydrate": True}}))
        return claude

    @pytest.mark.parametrize("more", [(), ("--project",), ("--dry-run",)])
    def test_install_is_refused(self, plugged, more):
        before = file(plugged).read_bytes()
        done = plugged.run("install", "claude-code", *more)
        assert done.status == 1
        assert "the plugin 'rehydrate@rehydrate' runs the hook already" in done.err
        assert "`claude plugin uninstall rehydrate@rehydrate`" in done.err
        assert file(plugged).read_bytes() == before and not (plugged.cwd / ".claude").exists()

    @pytest.mark.parametrize("names", [("claude-code",), ("claude-code", "antigravity")])
    def test_no_setting_is_written_then(self, plugged, names):
        plugged.run("install", *names, "--values", "5")
        assert not os.path.exists(settings_file(os.environ))

    def test_once_it_is_disabled_it_is_not(self, plugged):
        file(plugged).write_text(json.dumps({"enabledPlugins": {"rehydrate@rehydrate": False}}))
        assert plugged.run("install").status == 0


class TestPurge:
    def test_what_the_hook_kept_beside_the_transcripts_goes(self, claude):
        claude.run("install")
        session = claude.config / "projects" / "-x" / "c1"
        ours = session / "rehydrate"
        ours.mkdir(parents=True, mode=0o700)
        log = session.with_name("c1.jsonl")
        log.write_text("{}\n")
        for name in ("plan.json", "plan.json.lock", "1-01234567.md"):
            (ours / name).write_text("x")
        assert "to be removed, too" in claude.run("uninstall", "--purge", "--dry-run").out
        assert claude.run("uninstall", "--purge").status == 0
        assert not session.exists() and log.exists()

    def test_what_somebody_put_there_stays(self, claude):
        claude.run("install")
        session = claude.config / "projects" / "-x" / "c1"
        ours = session / "rehydrate"
        ours.mkdir(parents=True, mode=0o700)
        (ours / "plan.json").write_text("x")
        (ours / "mine.txt").write_text("x")
        assert claude.run("uninstall", "--purge").status == 0
        assert [each.name for each in ours.iterdir()] == ["mine.txt"]

    def test_the_last_registered_client_takes_the_settings_and_the_state_along(self, claude):
        before = sorted(claude.folder.rglob("*"))
        os.mkdir(claude.folder / ".config")
        claude.run("install", "claude-code", "--values", "5")
        claude.run("uninstall", "claude-code", "--purge")
        os.rmdir(claude.folder / ".config")
        assert sorted(claude.folder.rglob("*")) == before

    def test_another_registered_client_keeps_them(self, claude):
        claude.run("install", "claude-code", "antigravity", "--values", "5")
        claude.run("uninstall", "antigravity", "--purge")
        assert os.path.exists(settings_file(os.environ))
        assert read_settings(os.environ)[0].values == 5 and len(parts(file(claude))) == 5

    def test_a_registration_in_a_home_that_is_not_named_now_goes_too(self, claude, monkeypatch):
        before = sorted(claude.folder.rglob("*"))
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude.config))
        claude.run("install", "claude-code")
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude.folder / "elsewhere"))
        assert claude.run("uninstall", "--purge").status == 0
        assert sorted(claude.folder.rglob("*")) == before

    def test_this_folders_local_settings_are_seen_to(self, claude):
        claude.run("install", "claude-code", "--project")
        shared = claude.cwd / ".claude" / "settings.json"
        local = shared.rename(shared.with_name("settings.local.json"))
        assert claude.run("doctor", "claude-code").status == 0
        claude.run("uninstall", "claude-code")
        assert not local.exists()
