"""What every command sends to a terminal: fitting its width, nothing a log could make it obey, paged when long."""

import contextlib
import io
import json
import os
import re
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rich.cells import cell_len

from rehydrate.cli import group, output
from rehydrate.clients.antigravity import layout
from rehydrate.session import Place, SessionLog, assistant, result, user
from tests.cli.terminal import see

SGR = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = {
    "show": ("show",),
    "why": ("show", "--why"),
    "lineage": ("lineage",),
    "sessions": ("sessions",),
    "doctor": ("doctor",),
    "config": ("config",),
    "session": ("session", "show", "talk.jsonl"),
    "verify": ("session", "verify", "talk.jsonl"),
    "explain": ("context", "explain", "talk.jsonl", "--window", "200000"),
    "checkpoints": ("context", "verify", "talk.jsonl"),
    "restore": ("context", "restore", "talk.jsonl"),
    "diff": ("context", "diff", "talk.jsonl", "--at", "u1"),
}
"""Everything that is told to people."""
FINDABLE = {
    "show": ("{C}", "transcript_full.jsonl", "PLAN.md", "--text"),
    "why": ("Resuming from a compaction", "~/work"),
    "lineage": ("{A}", "{B}", "{C}", "12..24"),
    "sessions": ("c47ae950", "Step 4"),
    "doctor": ("antigravity",),
    "config": ("requests_chars", "24000"),
    "session": ("Read the list of what is here", "~/work/talk.jsonl", 'ls({{"path":"."}})', "result of c1:"),
    "verify": ("line 4", "~/work/talk.jsonl"),
    "explain": ("~/work/talk.jsonl", "20,000 are kept for the answer", "requests"),
    "checkpoints": ("line 4", "~/work/talk.jsonl", "1 fault"),
    "restore": ("~/work/talk.jsonl", "README.md"),
    "diff": ("~/work/talk.jsonl, up to u1", "only in B"),
}
every_command = pytest.mark.parametrize("name", COMMANDS)


@pytest.fixture(autouse=True)
def _environ(laid_out, monkeypatch):
    monkeypatch.chdir(laid_out.cwd)
    with SessionLog(Place.of("talk.jsonl"), cwd=str(laid_out.cwd)) as log:
        call = {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}}
        asked = user("Read the list of what is here, all of it, and say it again.", uuid="u1")
        log.append([asked, assistant([call])])
        log.append(user([result("c1", "README.md\n" * 9)], parentUuid="gone"))


def plain(text):
    return SGR.sub("", text)


class Screen(io.StringIO):
    """Standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


@contextlib.contextmanager
def screen(*, columns=80, **environ):
    """Standard output as a terminal that pages nothing; what is written to it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_COLOR", "COLORTERM", "PAGER", "LC_ALL"):
            patch.delenv(name, raising=False)
        for name, value in {"COLUMNS": str(columns), "LINES": "1000000", "TERM": "xterm", **environ}.items():
            patch.setenv(name, value)
        shown = Screen()
        patch.setattr(sys, "stdout", shown)
        yield shown


def told(*words, columns=80, **environ):
    """What a command writes to a terminal, run in this process."""
    with screen(columns=columns, **environ) as shown, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["rehydrate", *map(str, words)])
        group.run()
    return shown.getvalue()


def emitted(*renderables, **how):
    with screen(**how) as shown:
        output.emit(*renderables)
    return shown.getvalue()


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5_000])
def test_a_size_that_only_looks_like_a_number_is_passed_over(number):
    assert "requests_chars" in told("config", COLUMNS=number)
    assert "requests_chars" in told("config", LINES=number, PAGER="none-of-the-kind")


@every_command
class TestEveryCommand:
    @pytest.mark.parametrize("columns", [20, 40, 80, 300])
    def test_keeps_to_the_width_and_loses_nothing(self, laid_out, name, columns):
        out = plain(told(*COMMANDS[name], columns=columns))
        assert max(map(cell_len, out.splitlines())) <= columns
        if columns >= 40:
            ids = {"A": laid_out.A, "B": laid_out.B, "C": laid_out.C}
            squeezed = re.sub(r"[\s└─]+", "", out)
            for each in FINDABLE[name]:
                assert re.sub(r"\s", "", each.format(**ids)) in squeezed

    def test_has_colours_on_a_terminal_and_none_with_no_color(self, laid_out, name):
        assert SGR.search(told(*COMMANDS[name]))
        assert SGR.search(told(*COMMANDS[name], NO_COLOR=""))
        assert "\x1b" not in told(*COMMANDS[name], NO_COLOR="1")
        assert "\x1b" not in told(*COMMANDS[name], TERM="dumb")

    def test_runs_in_a_real_terminal_of_no_size(self, laid_out, name):
        seen = see(*COMMANDS[name], columns=0, lines=0, environ={"PAGER": "cat"})
        assert seen.status in (0, 1) and b"Error" not in seen.raw and b"Traceback" not in seen.raw
        assert max(map(cell_len, plain(seen.out).splitlines())) <= 80

    def test_draws_with_what_the_locale_has(self, laid_out, name):
        told(*COMMANDS[name], LC_ALL="C").encode("ascii")

    def test_has_plain_lines_in_a_pipe(self, laid_out, name):
        out = laid_out.run(*COMMANDS[name]).out
        assert "\x1b" not in out and not re.search("[\u2500-\u257f]", out)
        assert all(line == line.rstrip() for line in out.split("\n"))


ORDERS = ("\x1b[31m", "\x1b]8;;http://x\x1b\\", "\x07", "\x9b2J", "\r", "\b", "\t", "\n", "\0")
UNSEEN = ("\u202e", "\u2066", "\u200b", "\U000e0041", "\ud800")
LIKE_MARKUP = ("[bold]x[/bold]", ":smile:", "http://x.y/", "'", '"')
WIDE = ("漢字", "👩\u200d💻", "e\u0301\u0302")
NASTY = st.sampled_from(ORDERS + UNSEEN + LIKE_MARKUP + WIDE)
TEXT = st.lists(NASTY | st.characters(), min_size=1, max_size=12).map("".join)
OBEYED = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def raw_controls(text):
    """What is left in the text that a terminal would obey, colours and line ends apart."""
    return {
        each
        for each in plain(text).replace("\n", "")
        if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(each) in OBEYED
    }


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(title=TEXT, name=TEXT, path=TEXT, kind=TEXT, columns=st.sampled_from([20, 40, 80]))
def test_nothing_in_a_log_is_obeyed(laid_out, title, name, path, kind, columns):
    session = "s" + re.sub("[/\0\ud800-\udfff]", "-", name)[:40]
    folder = layout.logs_of(str(laid_out.app / "brain"), session)
    log = os.path.join(folder, layout.UNCUT)
    call = {"name": "read_file", "args": {"Path": f"/nowhere/{path}"}}
    records = [
        {"step_index": 0, "type": "USER_INPUT", "status": "DONE", "content": title},
        {"step_index": 1, "type": "PLANNER_RESPONSE", "status": "DONE", "content": "", "tool_calls": [call]},
        {"step_index": 2, "type": "CHECKPOINT", "status": kind, "content": f"{{{{ CHECKPOINT 3 }}}}{title}"},
    ]
    os.makedirs(folder, exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(each) + "\n" for each in records))
    for words in (("show", log), ("show", log, "--why"), ("lineage", log), ("sessions",), ("scan", log)):
        assert raw_controls(told(*words, columns=columns)) == set()


class TestText:
    def test_markup_and_emoji_names_stay_as_they_are(self):
        table = output.table("[red]a[/red]")
        table.add_row(":smile: [link=http://x]y[/link]")
        body = output.facts([("[b]k", "[bold]v[/bold]")])
        out = emitted("[bold]x[/bold] :smile:", table, body, output.heading("[i]h"), output.indented(":dog:"))
        for each in ("[bold]x[/bold] :smile:", "[red]a[/red]", ":smile: [link=http://x]y[/link]", "[b]k", "[i]h"):
            assert each in plain(out)
        assert "[bold]v[/bold]" in plain(out) and "  :dog:" in plain(out)

    def test_links_are_never_made_clickable(self):
        assert emitted("see https://example.com/a and /etc/passwd") == "see https://example.com/a and /etc/passwd\n"

    def test_a_long_path_is_folded_and_whole(self):
        path = "/" + "x" * 500
        out = emitted(path, columns=40)
        assert out.replace("\n", "") == path and max(map(len, out.splitlines())) == 40

    def test_wide_signs_take_two_cells(self):
        assert emitted("漢" * 30, columns=40).splitlines() == ["漢" * 20, "漢" * 10]

    def test_joiners_stay_between_letters_and_emoji_and_are_shown_elsewhere(self):
        for whole in ("می\u200cخواهم", "👩\u200d💻", "क्\u200dष"):
            assert output.visible(whole) == whole
        assert output.visible("pay\u200dpal \u200c 漢\u200c") == "pay\\u200dpal \\u200c 漢\\u200c"
        assert output.visible("漢\u200d\u200d漢") == "漢\\u200d\\u200d漢"

    def test_signs_that_show_nothing_are_shown(self):
        for sign in "\xad\u061c\u180e\u2800\u3164\ufe0f\U000e0101":
            shown = output.visible(f"a{sign}b") != f"a{sign}b"
            assert shown is (sign != "\u2800")  # this one is as wide as it looks
        for whole in ("\u2764\ufe0f", "1\ufe0f\u20e3", "\u845b\ufe00"):
            assert output.visible(whole) == whole
        assert output.visible("\u2764\ufe0f\ufe01") == "\u2764\ufe0f\\ufe01"

    def test_in_a_pipe_a_line_is_never_wrapped(self, capsys):
        output.emit("x " * 5_000 + "y")
        assert capsys.readouterr().out == "x " * 5_000 + "y\n"

    def test_a_long_cell_costs_no_more_than_its_length(self, capsys):
        table = output.table("", "")
        table.add_row("x" * 90_000, "a")
        table.add_row("y", "b")
        output.emit(table)
        assert capsys.readouterr().out == f"{'x' * 90_000}  a\ny{' ' * 90_001}b\n"

    def test_blanks_behind_are_taken_away_and_colours_kept(self):
        from rich.text import Text

        assert emitted(Text("a  ", style="red")) == "\x1b[31ma\x1b[0m\n"


class TestSize:
    @pytest.mark.parametrize("said", ["0", "-3", "", "wide", "99999999999999999999"])
    def test_a_width_that_cannot_be_is_not_believed(self, said):
        out = emitted("x" * 1_500, columns=said)
        assert out.replace("\n", "") == "x" * 1_500

    def test_columns_in_the_environment_come_first(self, laid_out):
        seen = see("show", columns=80, environ={"COLUMNS": "40"})
        assert max(map(cell_len, plain(seen.out).splitlines())) <= 40


class TestPager:
    LONG = ("show", "--text")

    def test_what_fits_is_not_paged(self, laid_out):
        seen = see("lineage", lines=30, environ={"PAGER": "sh -c 'echo paged'"})
        assert "paged" not in seen.out and laid_out.C in seen.out

    def test_what_does_not_fit_is_paged_whole(self, laid_out):
        text = laid_out.run(*self.LONG).out
        assert see(*self.LONG, lines=24, environ={"PAGER": "cat"}).out == text

    def test_long_lines_count_as_the_rows_they_take(self, shell):
        log = shell.folder / "one.jsonl"
        log.write_text(json.dumps({"step_index": 0, "type": "USER_INPUT", "content": "word " * 1_000}) + "\n", "utf-8")
        assert see("show", log, "--text", lines=24, environ={"PAGER": "sh -c 'echo paged'"}).out == "paged\n"

    def test_less_shows_colours_and_quitting_early_is_no_error(self, laid_out):
        seen = see("show", lines=10, keys=[(b"\x1b[1m", b"q")])
        assert seen.status == 0
        assert "\x1b[1mconversation" in seen.out and "ESC" not in seen.out and "--text" not in seen.out

    def test_settings_of_less_are_the_users(self, laid_out):
        seen = see("show", lines=10, environ={"LESS": "-X"}, keys=[(b"conversation", b"q")])
        assert seen.status == 0 and "ESC" not in seen.out and "conversation" in seen.out

    @pytest.mark.parametrize("pager", ["no-such-pager", 'less "', ""])
    def test_without_a_pager_that_can_be_run_all_is_printed(self, laid_out, pager):
        environ = {"PAGER": pager, "PATH": str(laid_out.folder)}
        assert see(*self.LONG, lines=10, environ=environ).out == laid_out.run(*self.LONG).out

    def test_a_pager_that_reads_nothing_is_no_error(self, laid_out):
        assert see(*self.LONG, lines=10, environ={"PAGER": "true"}).status == 0

    def test_a_dumb_terminal_is_not_paged(self, laid_out):
        seen = see("show", lines=5, environ={"TERM": "dumb", "PAGER": "sh -c 'echo paged'"})
        assert "paged" not in seen.out and "--text" in seen.out

    def test_what_the_pager_cannot_be_given_is_written_as_an_escape(self, shell):
        log = shell.folder / "one.jsonl"
        log.write_text(json.dumps({"step_index": 0, "type": "USER_INPUT", "content": "ü 漢"}) + "\n", "utf-8")
        seen = see("show", log, lines=5, environ={"PAGER": "cat", "PYTHONIOENCODING": "latin-1"})
        assert "\\u6f22" in seen.out


class TestHelp:
    @pytest.mark.parametrize("words", [(), *((each,) for each in group.COMMANDS)], ids="".join)
    @pytest.mark.parametrize("columns", [40, 80])
    def test_is_wrapped_to_the_width(self, words, columns):
        out = told(*words, "--help", columns=columns)
        prose, _, rest = out.partition("Example")
        options = rest.partition("Options:")[2]
        assert options and max(map(len, (prose + options).splitlines())) <= columns

    def test_lists_every_command_with_its_whole_short_help(self):
        listed = " ".join(told("--help", columns=40).partition("Commands:")[2].split())
        assert "show What the model is given back after a compaction." in listed

    def test_is_shown_without_a_command(self, laid_out):
        assert laid_out.run() == (0, laid_out.run("--help").out, "")
