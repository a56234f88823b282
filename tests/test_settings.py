"""settings: what the environment and the file may change, and what is said of what cannot be used."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from rehydrate import settingsfile
from rehydrate.clients import FOLDERS
from rehydrate.settings import (
    CHARS_MAX,
    KEYS,
    PART_BYTES_MAX,
    PART_BYTES_MIN,
    Settings,
    look_up,
    read_settings,
    variable,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"


class Written:
    """A home folder with a settings file."""

    def __init__(self, folder):
        self.path = folder / "config" / "rehydrate" / "rehydrate.toml"
        self.path.parent.mkdir(parents=True)
        self.environ = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}

    def read(self, content=None, **environ):
        if isinstance(content, bytes):
            self.path.write_bytes(content)
        elif content is not None:
            self.path.write_text(content, "utf-8")
        return read_settings({**self.environ, **environ})


@pytest.fixture
def file(tmp_path):
    return Written(tmp_path)


@pytest.fixture
def home(tmp_path):
    return {"HOME": str(tmp_path)}


class TestEnvironment:
    def test_with_nothing_set_the_defaults_hold(self, home):
        assert read_settings(home) == (Settings(), [])

    def test_a_value_in_the_environment_wins(self, home):
        settings, problems = read_settings(
            home | {"REHYDRATE_REQUESTS_CHARS": "100", "REHYDRATE_REDACT": "off", "REHYDRATE_DEADLINE_S": "2.5"}
        )
        assert (settings.requests_chars, settings.redact, settings.deadline_s) == (100, False, 2.5)
        assert problems == []

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("REQUESTS_CHARS", "-1"),
            ("REQUESTS_CHARS", "many"),
            ("REQUESTS_CHARS", ""),
            ("REQUESTS_CHARS", "1e3"),
            ("REQUESTS_CHARS", "1.5"),
            ("REQUESTS_CHARS", "1000001"),
            ("REQUESTS_CHARS", "9" * 5_000),
            ("REQUESTS_CHARS", "٣"),
            ("PART_BYTES", "10"),
            ("PART_BYTES", "60000"),
            ("DEADLINE_S", "0"),
            ("DEADLINE_S", "61"),
            ("DEADLINE_S", "nan"),
            ("DEADLINE_S", "5."),
            ("REDACT", "perhaps"),
            ("REDACT", "2"),
            ("EXTRA_ROOTS", "relative"),
            ("CLIENTS_ANTIGRAVITY_ENABLED", "never"),
        ],
    )
    def test_a_bad_value_is_named_and_the_default_holds(self, home, key, value):
        settings, problems = read_settings(home | {f"REHYDRATE_{key}": value})
        assert settings == Settings()
        assert len(problems) == 1 and problems[0].startswith(f"REHYDRATE_{key} ") and len(problems[0]) < 200

    def test_a_list_is_separated_as_PATH_is(self, home):
        text = os.pathsep.join(["/a", "~/b", "", "*.sql"])
        settings, problems = read_settings(home | {"REHYDRATE_DENY": text})
        assert (settings.deny, problems) == (("/a", f"{home['HOME']}/b", "*.sql"), [])
        assert read_settings(home | {"REHYDRATE_DENY": ""}) == (Settings(), [])

    def test_a_client_is_switched_off(self, home):
        assert read_settings(home | {"REHYDRATE_CLIENTS_ANTIGRAVITY_ENABLED": "0"})[0].disabled == {"antigravity"}
        assert not read_settings(home | {"REHYDRATE_CLIENTS_ANTIGRAVITY_ENABLED": "1"})[0].disabled

    def test_a_variable_that_is_nearly_a_settings_is_named(self, home):
        settings, problems = read_settings(home | {"REHYDRATE_REQUEST_CHARS": "5"})
        assert settings == Settings()
        assert problems == ["REHYDRATE_REQUEST_CHARS is no setting; did you mean REHYDRATE_REQUESTS_CHARS?"]

    @pytest.mark.parametrize("name", ["REHYDRATE_OFF", "REHYDRATE_PURE", "REHYDRATE_SOMETHING_OF_YOURS"])
    def test_other_variables_are_nobodys_business(self, home, name):
        assert read_settings(home | {name: "1"})[1] == []


class TestFile:
    def test_it_stands_above_the_defaults(self, file):
        settings, problems = file.read(
            "requests_chars = 1_000\ndeadline_s = 5\nredact = false\n"
            'extra_roots = ["~/notes", "/srv/docs/"]\ndeny = ["*.sql", "~/work/secret"]\n'
            "[clients.antigravity]\nenabled = false\n"
        )
        home = file.environ["HOME"]
        assert problems == []
        assert settings == Settings(
            requests_chars=1_000,
            deadline_s=5,
            redact=False,
            extra_roots=(f"{home}/notes", "/srv/docs/"),
            deny=("*.sql", f"{home}/work/secret"),
            disabled=frozenset({"antigravity"}),
        )

    def test_the_environment_stands_above_it(self, file):
        settings, _ = file.read("requests_chars = 1\nfiles_chars = 2\n", REHYDRATE_REQUESTS_CHARS="3")
        assert (settings.requests_chars, settings.files_chars) == (3, 2)

    def test_where_the_environment_is_wrong_the_file_holds(self, file):
        settings, problems = file.read("requests_chars = 1\n", REHYDRATE_REQUESTS_CHARS="x")
        assert settings.requests_chars == 1 and len(problems) == 1

    def test_only_the_key_that_is_wrong_falls_back(self, file):
        settings, problems = file.read('# mine\nrequests_chars = "many"\nfiles_chars = 7\n')
        assert settings == Settings(files_chars=7)
        assert problems == [f"{file.path}:2: requests_chars must be a whole number from 0 to 1,000,000, not 'many'"]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("part_bytes = 100", "part_bytes must be a whole number from 2,000 to 48,907, not 100"),
            ("part_bytes = true", "part_bytes must be a whole number from 2,000 to 48,907, not true"),
            ("files_chars = 0.5", "files_chars must be a whole number from 0 to 1,000,000, not 0.5"),
            ("files_chars = 0x" + "f" * 9_000, "files_chars must be a whole number from 0 to 1,000,000, not a number"),
            ("deadline_s = nan", "deadline_s must be a number from 1 to 60, not nan"),
            ("deadline_s = 2026-01-01", "deadline_s must be a number from 1 to 60, not a date or time"),
            ("redact = 1", "redact must be true or false, not 1"),
            ("redact = [true]", "redact must be true or false, not a list"),
            ('deny = "*.sql"', "deny must be a list of texts"),
            ('deny = ["a/b"]', "deny takes absolute paths (~/… counts as one) and names without a slash"),
            ("deny = [3]", "not 3"),
            ('deny = [" "]', "not ' '"),
            ('deny = ["/"]', "deny holds '/', which is every file there is; name a folder below it"),
            ('extra_roots = ["/a/.."]', "extra_roots holds '/a/..', which is every file there is"),
            ('extra_roots = ["notes"]', "extra_roots takes absolute paths (~/… counts as one), not 'notes'"),
            ('extra_roots = ["~other/x"]', "not '~other/x'"),
            ("request_chars = 1", "request_chars: there is no such setting; did you mean requests_chars?"),
            ("colours = 3", "colours: there is no such setting; `rehydrate config` shows them all"),
            ("x" * 9_000 + " = 3", "'xxx"),
            ('"a.b\\u001b" = 3', "'a.b\\x1b': there is no such setting"),
            ("clients = 3", "clients must be a table, such as [clients.antigravity] with enabled = false in it"),
            ("clients.antigravity = 3", "clients.antigravity must be a table"),
            ("clients.antigravty.enabled = false", "clients.antigravty: there is no such client; did you mean"),
            ("[clients.nobody]\nenabled = 1", "clients.nobody: there is no such client; known: antigravity"),
            ("clients.antigravity.enable = false", "there is no such setting; did you mean clients.antigravity.en"),
            ('"clients.antigravity.enabled" = false', "'clients.antigravity.enabled': there is no such setting"),
            ("clients.antigravity.enabled = 0", "clients.antigravity.enabled must be true or false, not 0"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_with_its_line(self, file, text, said):
        settings, problems = file.read(f"# a comment\n\n{text}\n")
        assert settings == Settings()
        assert len(problems) == 1
        assert problems[0].startswith(f"{file.path}:3: ") and said in problems[0]
        assert len(problems[0]) < len(str(file.path)) + 200

    def test_of_many_things_that_are_wrong_the_rest_is_counted(self, file):
        _, problems = file.read("".join(f"a{number} = 1\n" for number in range(1_020)))
        assert len(problems) == 21 and problems[-1] == f"{file.path}: 1,000 more such things in it"

    def test_of_a_list_the_right_entries_hold_and_the_wrong_ones_are_named(self, file):
        settings, problems = file.read('deny = ["*.sql", "a/b", "/x", 7]\n')
        assert settings.deny == ("*.sql", "/x")
        assert len(problems) == 2

    def test_without_a_home_folder_a_tilde_is_nothing(self, file, monkeypatch):
        monkeypatch.setattr("rehydrate.settings.home_folder", lambda _: None)
        settings, problems = file.read('deny = ["~/x"]\n')
        assert settings.deny == () and "no home folder is known" in problems[0]

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("files_chars = 'x'", 1),
            ("\n# files_chars = 1\nrequests_chars = 1\nfiles_chars = 'x'", 4),
            ("deny = [\n  '*.sql',\n  '*.csv',\n]\nfiles_chars = 'x'", 5),
            ("deny = [\n  'files_chars = 1',\n]\n  'files_chars'   =\t'x'", 4),
            ("x = '''\nfiles_chars = 1\n'''\nfiles_chars = [\n'x',\n'y']\n", 4),
            ("[a]\nfiles_chars = 1\n[[b]]\nfiles_chars = 'y'\n[clients.antigravity]\nenabled = 7\n", 6),
            ("clients = { antigravity = { enabled = 7 } }", 1),
            ("[clients]\n# off\n\nantigravity.enabled = 7", 4),
            ("a = 1\r\nfiles_chars = 'x'\r\n", 2),
            ("a = 1\n\"files\\u005fchars\" = 'x'\n", 2),
        ],
    )
    def test_the_line_of_a_key_is_where_it_begins(self, file, text, line):
        _, problems = file.read(text.encode())
        said = [each for each in problems if "files_chars must" in each or "enabled must" in each]
        assert len(said) == 1 and said[0].startswith(f"{file.path}:{line}: ")

    def test_where_looking_for_the_line_takes_too_long_it_is_left_out(self, file):
        _, problems = file.read("deny = [\n" + "'abcdef',\n" * 2_500 + "]\nfiles_chars = 'x'\n")
        assert problems == [f"{file.path}: files_chars must be a whole number from 0 to 1,000,000, not 'x'"]

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"requests_chars = 1\nrequests_chars = 2\n", ":2: this is no TOML"),
            (b"requests_chars = 1\n\n\nfiles_chars =\n", ":4: this is no TOML"),
            (b"requests_chars = 1\nfiles_chars = [1,\n\n", ":2: this is no TOML"),
            (b"requests_chars = 1\n\xff\xfe", ":2: this is not UTF-8"),
            ("requests_chars = 1".encode("utf-16"), ":1: this is not UTF-8"),
            (b"requests_chars = 1\nx = " + b"[" * 5_000, "this is no TOML"),
            (b"requests_chars = 1\nx = " + b"9" * 5_000, "this is no TOML"),
            (b"requests_chars = 1\n" + b"#" * settingsfile.SIZE_MAX, "is larger than 32 KiB"),
            (b"\0" * 100, ":1: this is no TOML"),
        ],
    )
    def test_a_file_that_is_no_TOML_is_left_out_as_a_whole(self, file, content, said):
        settings, problems = file.read(content)
        assert settings == Settings()
        assert len(problems) == 1 and str(file.path) in problems[0] and said in problems[0]

    def test_a_byte_order_mark_does_no_harm(self, file):
        assert file.read(b"\xef\xbb\xbfrequests_chars = 1\n") == (Settings(requests_chars=1), [])

    @pytest.mark.parametrize("content", [b"", b"# nothing\n", b"[clients]\n"])
    def test_an_empty_file_is_no_problem(self, file, content):
        assert file.read(content) == (Settings(), [])

    @pytest.mark.skipif(os.name == "nt", reason="no such files")
    @pytest.mark.parametrize("kind", ["folder", "fifo", "socket", "device", "loop"])
    def test_what_is_no_regular_file_is_said_and_not_waited_for(self, file, kind, monkeypatch):
        if kind == "folder":
            file.path.mkdir()
        elif kind == "fifo":
            os.mkfifo(file.path)
        elif kind == "socket":
            monkeypatch.chdir(file.path.parent)  # a socket's path must be short
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(file.path.name)
        else:
            file.path.symlink_to("/dev/zero" if kind == "device" else file.path)
        settings, problems = file.read()
        assert settings == Settings()
        assert len(problems) == 1 and str(file.path) in problems[0]

    def test_a_link_to_a_file_is_followed(self, file, tmp_path):
        (tmp_path / "mine.toml").write_text("requests_chars = 1\n")
        file.path.symlink_to(tmp_path / "mine.toml")
        assert file.read()[0].requests_chars == 1

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
    def test_a_file_that_may_not_be_read_is_said(self, file):
        file.path.write_text("requests_chars = 1\n")
        file.path.chmod(0)
        settings, problems = file.read()
        assert settings == Settings() and len(problems) == 1

    def test_where_the_parser_is_missing_that_is_said(self, file, monkeypatch):
        def missing(name):
            raise ImportError(name)

        monkeypatch.setattr(settingsfile, "import_module", missing)
        settings, problems = file.read("requests_chars = 1\n")
        assert settings == Settings() and "tomli" in problems[0]

    def test_a_fault_of_the_parser_is_a_problem_and_no_error(self, file, monkeypatch):
        monkeypatch.setattr(settingsfile, "_parser", lambda: lambda text: text[10**6])
        assert "IndexError" in file.read("requests_chars = 1\n")[1][0]


def test_without_a_file_no_parser_is_imported(home):
    code = (
        "import sys; from rehydrate.settings import read_settings\n"
        f"assert read_settings({home!r})[1] == []\n"
        "print([each for each in ('tomllib', 'tomli', 'difflib') if each in sys.modules])"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ, check=True)
    assert done.stdout.split() == [b"[]"]


def test_where_each_value_comes_from(file):
    file.path.write_text("files_chars = 7\nredact = false\n")
    held, _ = look_up({**file.environ, "REHYDRATE_REDACT": "true"})
    assert tuple(held) == KEYS
    sources = {key: (each.value, each.source) for key, each in held.items() if each.source != "default"}
    assert sources == {"files_chars": (7, "file"), "redact": (True, "REHYDRATE_REDACT")}


def in_range(settings):
    chars = ("requests_chars", "dialogue_chars", "documents_chars", "files_chars", "single_file_chars")
    numbers = [getattr(settings, name) for name in chars]
    assert all(type(each) is int and 0 <= each <= CHARS_MAX for each in numbers)
    assert type(settings.part_bytes) is int and PART_BYTES_MIN <= settings.part_bytes <= PART_BYTES_MAX
    assert type(settings.deadline_s) in (int, float) and 1 <= settings.deadline_s <= 60
    assert type(settings.redact) is bool
    assert all(os.path.isabs(each) for each in settings.extra_roots)
    assert all(each and (os.path.isabs(each) or "/" not in each) for each in settings.deny)
    assert settings.disabled <= FOLDERS.keys()


@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
def test_whatever_bytes_the_file_holds_every_value_lies_in_its_range(tmp_path_factory, content):
    file = Written(tmp_path_factory.mktemp("any"))
    settings, problems = file.read(content)
    in_range(settings)
    assert all(str(file.path) in each for each in problems)


SCALARS = (
    st.integers(-10, 10**20)
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.sampled_from(["", "~", "~/x", "/", "/a", "*.b"])
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("enabled"), inner))
TABLES = st.dictionaries(
    st.sampled_from([*(key for key in KEYS if "." not in key), "other", ""]), VALUES
) | st.fixed_dictionaries({"clients": st.dictionaries(st.sampled_from(["antigravity", "x"]), VALUES)})


@given(table=TABLES)
def test_whatever_values_the_file_holds_each_lies_in_its_range_or_is_a_problem(tmp_path_factory, table):
    file = Written(tmp_path_factory.mktemp("any"))
    settings, problems = file.read(tomlkit.dumps(table))
    in_range(settings)
    assert all(re.match(rf"{re.escape(str(file.path))}:\d+: ", each) for each in problems)


def test_half_the_room_is_half_of_every_section_and_the_third_time_only_requests_remain():
    half, third = Settings().halved(), Settings().requests_only()
    assert (half.requests_chars, half.dialogue_chars, half.documents_chars, half.files_chars) == (
        12_000,
        21_000,
        10_000,
        24_000,
    )
    assert (third.requests_chars, third.dialogue_chars, third.documents_chars, third.files_chars) == (12_000, 0, 0, 0)


@pytest.mark.parametrize("key", KEYS)
def test_the_page_on_settings_has_every_key_with_its_default_and_variable(key, home):
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| `{key}` |")]
    assert len(rows) == 1
    value = look_up(home)[0][key].value
    shown = str(value).lower() if isinstance(value, bool) else "[]" if value == () else f"{value:,}"
    assert f"| `{variable(key)}` |" in rows[0] and f"| {shown} |" in rows[0]


def test_the_example_on_the_page_is_taken_as_it_stands(file):
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL).group(1)
    settings, problems = file.read(example)
    assert problems == [] and settings != Settings()
