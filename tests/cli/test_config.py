"""`config`: what holds and why, and a file that is changed in one place only."""

import os
import stat

import pytest

from rehydrate.settings import KEYS


@pytest.fixture
def file(shell, monkeypatch):
    """Where the user's file will be."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shell.folder / "config"))
    for key in KEYS:
        monkeypatch.delenv("REHYDRATE_" + key.upper().replace(".", "_"), raising=False)
    return shell.folder / "config" / "rehydrate" / "rehydrate.toml"


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def rows(done):
    """Setting -> (value, where it comes from)."""
    lines = done.out.partition("\n\n")[0].splitlines()[1:]
    return {line.split()[0]: (" ".join(line.split()[1:-1]), line.split()[-1]) for line in lines}


class TestShow:
    def test_every_setting_stands_there_with_its_default(self, shell, file):
        done = shell.run("config")
        assert (done.status, done.err) == (0, "")
        assert tuple(rows(done)) == KEYS
        assert {source for _, source in rows(done).values()} == {"default"}
        assert rows(done)["redact"] == ("true", "default") and rows(done)["deny"] == ("none", "default")
        assert "does not exist yet: ~/config/rehydrate/rehydrate.toml" in done.out

    def test_values_come_from_the_file_and_the_environment(self, shell, file, monkeypatch):
        write(file, 'deny = ["*.sql", "~/x"]\nfiles_chars = 7\n')
        monkeypatch.setenv("REHYDRATE_FILES_CHARS", "8")
        shown = rows(shell.run("config"))
        assert shown["deny"] == ("*.sql, ~/x", "file")
        assert shown["files_chars"] == ("8", "REHYDRATE_FILES_CHARS")

    def test_problems_are_warnings_with_their_line(self, shell, file):
        write(file, '\nfiles_chars = "\\u001b[31m"\n')
        done = shell.run("config")
        assert done.status == 0
        assert done.err.startswith("Warning: ~/config/rehydrate/rehydrate.toml:2: files_chars ")
        assert done.err.count("\n") == 1
        assert "\x1b" not in done.err

    def test_json(self, shell, file):
        write(file, 'deny = ["*.sql"]\nfile_chars = 1\n')
        done = shell.run("config", "--json")
        assert (done.status, done.err) == (0, "")
        assert list(done.json) == ["version", "file", "exists", "settings", "problems"]
        assert (done.json["file"], done.json["exists"], len(done.json["problems"])) == (str(file), True, 1)
        assert [each["key"] for each in done.json["settings"]] == list(KEYS)
        deny = {"key": "deny", "value": ["*.sql"], "source": "file", "variable": "REHYDRATE_DENY"}
        assert deny in done.json["settings"]

    def test_json_goes_with_no_other_form(self, shell, file):
        assert shell.run("config", "--json", "get", "redact").status == 2


class TestGet:
    @pytest.mark.parametrize(
        ("key", "printed"),
        [("part_bytes", "48000\n"), ("deadline_s", "8\n"), ("redact", "true\n"), ("deny", ""),
         ("clients.antigravity.enabled", "true\n")],
    )  # fmt: skip
    def test_without_a_file_the_default_is_printed(self, shell, file, key, printed):
        assert shell.run("config", "get", key) == (0, printed, "")

    def test_what_cannot_be_used_is_said_beside_what_holds_instead(self, shell, file):
        write(file, "part_bytes = 1\n")
        done = shell.run("config", "get", "part_bytes")
        assert (done.status, done.out) == (0, "48000\n")
        assert done.err.startswith("Warning: ~/config/rehydrate/rehydrate.toml:1: part_bytes ")

    def test_of_a_list_each_entry_is_a_line_and_a_path_is_whole(self, shell, file):
        write(file, 'extra_roots = ["~/a", "/b\\nc"]\n')
        assert shell.run("config", "get", "extra_roots").out == f"{shell.folder}/a\n/b\\nc\n"

    def test_an_unknown_key_is_wrong_usage_and_the_nearest_is_named(self, shell, file):
        done = shell.run("config", "get", "redac")
        assert done.status == 2 and "did you mean redact?" in done.err
        assert "there are: requests_chars, " in shell.run("config", "get", "x\x1b").err


class TestSet:
    @pytest.mark.parametrize(
        ("words", "written"),
        [
            (["files_chars", "100"], "files_chars = 100\n"),
            (["deadline_s", "2.5"], "deadline_s = 2.5\n"),
            (["redact", "off"], "redact = false\n"),
            (["deny", "*.sql"], 'deny = ["*.sql"]\n'),
            (["deny", "*.sql", "~/x"], 'deny = [\n    "*.sql",\n    "~/x",\n]\n'),
            (["deny"], "deny = []\n"),
            (["clients.antigravity.enabled", "false"], "[clients.antigravity]\nenabled = false\n"),
        ],
    )
    def test_the_file_and_its_folder_are_made(self, shell, file, words, written):
        assert shell.run("config", "set", *words) == (
            0,
            f"{words[0]} is set in ~/config/rehydrate/rehydrate.toml\n",
            "",
        )
        assert file.read_text() == written
        assert list(file.parent.iterdir()) == [file]

    @pytest.mark.parametrize(
        ("before", "words", "after"),
        [
            ("# top\nfiles_chars=1 # why\nredact = true\n", ["files_chars", "2"],
             "# top\nfiles_chars=2 # why\nredact = true\n"),
            ("# top\n\n[clients.antigravity]\nenabled = true # on\n", ["clients.antigravity.enabled", "false"],
             "# top\n\n[clients.antigravity]\nenabled = false # on\n"),
            ("clients = { antigravity = { enabled = true } } # so\n", ["clients.antigravity.enabled", "false"],
             "clients = { antigravity = { enabled = false } } # so\n"),
            ("clients.antigravity.enabled = true # so\n", ["clients.antigravity.enabled", "false"],
             "clients.antigravity.enabled = false # so\n"),
            ("[clients.antigravity]\nenabled = true\n", ["redact", "false"],
             "redact = false\n\n[clients.antigravity]\nenabled = true\n"),
            ("deny = [\n  '*.a', # one\n  '*.b', # two\n]\nredact = true", ["deny", "*.a", "*.b", "*.c"],
             "deny = [\n  '*.a', # one\n  '*.b', # two\n  \"*.c\",\n]\nredact = true"),
            ("deny = [\n  '*.a',\n  '*.b', # two\n]\n", ["deny", "*.b"], "deny = [\n  '*.b', # two\n]\n"),
            ("unknown = 'x'\nfiles_chars = 'bad'\n", ["files_chars", "5"], "unknown = 'x'\nfiles_chars = 5\n"),
        ],
    )  # fmt: skip
    def test_nothing_else_in_the_file_is_changed(self, shell, file, before, words, after):
        write(file, before)
        assert shell.run("config", "set", *words).status == 0
        assert file.read_text() == after

    @pytest.mark.parametrize("last", ["clients.antigravity.enabled = false", "redact = false # why", "a.b = [1]"])
    def test_a_last_line_without_an_end_is_ended(self, shell, file, last):
        write(file, last)
        assert shell.run("config", "set", "files_chars", "7").status == 0
        assert file.read_text() == f"{last}\nfiles_chars = 7\n"

    def test_a_file_that_would_be_too_large_to_be_read_is_not_written(self, shell, file):
        write(file, "files_chars = 7\n")
        done = shell.run("config", "set", "deny", *(f"name-{number}" for number in range(3_000)))
        assert done.status == 1 and "would be larger than 32 KiB" in done.err
        assert file.read_text() == "files_chars = 7\n"

    def test_an_entry_that_is_given_twice_is_written_once(self, shell, file):
        assert shell.run("config", "set", "deny", "*.sql", "x", "*.sql").status == 0
        assert file.read_text() == 'deny = [\n    "*.sql",\n    "x",\n]\n'

    def test_what_another_one_writes_while_this_one_waits_is_kept(self, shell, file, monkeypatch):
        fcntl = pytest.importorskip("fcntl")
        write(file, "files_chars = 7\n")
        monkeypatch.setattr(fcntl, "flock", lambda *_: write(file, "files_chars = 8\n"))
        assert shell.run("config", "set", "part_bytes", "5000").status == 0
        assert file.read_text() == "files_chars = 8\npart_bytes = 5000\n"

    def test_a_byte_order_mark_and_line_ends_stay(self, shell, file):
        write(file, b"\xef\xbb\xbf# a\r\nredact = true\r\nfiles_chars = 1\r\n")
        assert shell.run("config", "set", "redact", "false").status == 0
        assert file.read_bytes() == b"\xef\xbb\xbf# a\r\nredact = false\r\nfiles_chars = 1\r\n"

    @pytest.mark.parametrize(
        "words",
        [["files_chars", "many"], ["files_chars", "-1"], ["files_chars", "1", "2"], ["files_chars"], ["redact", "2"],
         ["deadline_s", "0"], ["deny", "a/b"], ["deny", "*.sql", ""], ["extra_roots", "/"], ["values", "10"],
         ["clients.antigravity", "1"]],
    )  # fmt: skip
    def test_what_cannot_be_used_is_wrong_usage_and_nothing_is_written(self, shell, file, words):
        write(file, "redact = true\n")
        done = shell.run("config", "set", *words)
        assert (done.status, done.out) == (2, "") and done.err
        assert file.read_text() == "redact = true\n"

    @pytest.mark.parametrize(
        ("before", "said"),
        [(b"redact = true\nredact = false\n", ":2: this is no TOML"), (b"a = 1\n\xff\n", ":2: this is not UTF-8"),
         (b"clients = 3\n", "cannot be changed safely"), (b"#" * 40_000, "larger than 32 KiB")],
    )  # fmt: skip
    def test_a_file_that_cannot_be_changed_is_refused_and_stays(self, shell, file, before, said):
        write(file, before)
        done = shell.run("config", "set", "clients.antigravity.enabled", "false")
        assert (done.status, done.out) == (1, "")
        assert said in done.err and done.err.count("\n") == 1
        assert file.read_bytes() == before and list(file.parent.iterdir()) == [file]

    @pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
    def test_where_no_file_can_be_made_that_is_said_of_the_file(self, shell, file):
        file.parent.parent.mkdir()
        file.parent.write_text("")
        done = shell.run("config", "set", "redact", "false")
        assert (done.status, done.err.count("\n")) == (1, 1)
        assert done.err.startswith("Error: ~/config/rehydrate/rehydrate.toml cannot be written (")

    def test_mode_and_link_stay(self, shell, file):
        real = shell.folder / "dotfiles.toml"
        write(real, "redact = true\n")
        real.chmod(0o640)
        file.parent.mkdir(parents=True)
        file.symlink_to(real)
        assert shell.run("config", "set", "redact", "false").status == 0
        assert file.is_symlink() and real.read_text() == "redact = false\n"
        assert stat.S_IMODE(real.stat().st_mode) == 0o640

    def test_a_variable_that_stands_above_is_named(self, shell, file, monkeypatch):
        monkeypatch.setenv("REHYDRATE_REDACT", "true")
        done = shell.run("config", "set", "redact", "false")
        assert done.status == 0 and "REHYDRATE_REDACT in the environment stands above the file" in done.err
        monkeypatch.setenv("REHYDRATE_REDACT", "perhaps")  # which does not hold
        assert shell.run("config", "set", "redact", "false").err == ""

    def test_what_was_set_holds_for_show(self, shell, file):
        shell.lay_out()
        assert shell.run("config", "set", "files_chars", "0").status == 0
        assert shell.run("show", "--json").json["sections"][3]["budget_chars"] == 0


def test_path_prints_where_the_file_is_whether_or_not_it_exists(shell, file):
    assert shell.run("config", "path") == (0, f"{file}\n", "")


def test_without_a_home_folder_there_is_nothing_to_write_to(shell, monkeypatch):
    monkeypatch.setattr("rehydrate.cli.config.settings_file", lambda _: None)
    for words in (["path"], ["set", "redact", "false"]):
        done = shell.run("config", *words)
        assert done.status == 1 and "set HOME" in done.err
    assert shell.run("config").status == 0


@pytest.mark.parametrize("words", [["get"], ["set"], ["path"]], ids=str)
def test_each_part_has_help_with_an_example_and_debug(shell, words):
    done = shell.run("config", *words, "--help")
    assert done.status == 0 and "--debug" in done.out
    assert f"rehydrate config {words[0]}" in done.out.partition("Example")[2]
