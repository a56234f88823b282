"""`rehydrate lineage`: where a conversation comes from, as a tree for people and as JSON for programs."""

import os

import pytest

from .terminal import see


def of(shell, *, columns=80, **environ):
    return see("lineage", cwd=shell.cwd, columns=columns, environ={"NO_COLOR": "1", **environ}).out.split("\n")


def forget(shell, session):
    shell.transcript(session).unlink()
    shell.transcript(session).with_name("transcript.jsonl").unlink()


def test_json_has_these_members_and_the_conversation_last(laid_out):
    told = laid_out.run("lineage", "--json").json
    assert list(told) == ["version", "client", "session", "segments", "complete", "why"]
    assert told["complete"] is True
    assert told["segments"][-1] == {
        "session": laid_out.C,
        "path": str(laid_out.transcript(laid_out.C)),
        "min_step": 25,
        "max_step": 42,
    }


def test_a_missing_ancestor_is_said(laid_out):
    forget(laid_out, laid_out.A)
    told = laid_out.run("lineage", "--json").json
    assert told["complete"] is False and told["why"]
    lines = laid_out.run("lineage").out.splitlines()
    assert lines[2].startswith("incomplete: ") and laid_out.B in lines[3]


class TestInAPipe:
    def test_each_file_has_a_line_the_oldest_first(self, laid_out):
        lines = laid_out.run("lineage").out.splitlines()
        assert [line.split()[:2] for line in lines[:3]] == [
            [laid_out.A, "0..11"],
            [laid_out.B, "12..24"],
            [laid_out.C, "25..42"],
        ]

    def test_paths_are_short(self, laid_out):
        assert laid_out.run("lineage").out.splitlines()[0].split()[2].startswith("~/gemini/")

    def test_a_file_without_a_step_is_said(self, shell):
        log = shell.transcript("c1")
        log.parent.mkdir(parents=True)
        log.write_text("{}\n")
        assert shell.run("lineage", log).out.split()[:3] == ["c1", "no", "steps"]


class TestOnATerminal:
    def test_the_oldest_is_the_root_and_each_fork_a_branch(self, laid_out):
        lines = of(laid_out, columns=200)
        assert lines[0] == f"{laid_out.A}  steps 0..11"
        assert lines[2] == f"└── {laid_out.B}  steps 12..24"
        assert lines[4] == f"    └── {laid_out.C}  steps 25..42  (this conversation)"
        assert lines[5].startswith("        ~/gemini/antigravity-cli/brain/")

    @pytest.mark.parametrize("environ", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}], ids=str)
    def test_branches_are_drawn_with_what_the_terminal_can_show(self, laid_out, environ):
        out = "\n".join(of(laid_out, **environ))
        assert f"\n`-- {laid_out.B}" in out
        assert out.isascii()

    def test_what_is_missing_is_the_root(self, laid_out):
        forget(laid_out, laid_out.A)
        lines = of(laid_out)
        assert lines[0] == "incomplete: an ancestor could not be found"
        assert lines[1] == f"└── {laid_out.B}  steps 12..24"

    def test_every_line_of_a_reason_is_indented(self, laid_out):
        lines = of(laid_out)
        reasons = lines[next(at for at, line in enumerate(lines) if f"{laid_out.B} is the parent of" in line) :]
        assert len(reasons) > 4 and all(line.startswith("  ") for line in reasons if line)

    @pytest.mark.parametrize("columns", [20, 40, 80])
    def test_no_line_is_wider_than_the_terminal(self, laid_out, columns):
        lines = of(laid_out, columns=columns)
        assert max(map(len, lines)) <= columns
        assert "transcript_full.jsonl" in "".join(line.strip(" └─") for line in lines)

    def test_a_name_brings_no_code_of_its_own(self, shell):
        folder = shell.folder / "a\x1b[2Jb"
        folder.mkdir()
        (folder / "transcript_full.jsonl").write_text('{"step_index":0}\n')
        out = see("lineage", folder, environ={"NO_COLOR": "1", "HOME": os.environ["HOME"]}).out
        assert "a\\x1b[2Jb  steps 0..0" in out and "\x1b[2J" not in out
