import pytest

from rehydrate.entries import messages
from rehydrate.transcripts import calls


def made(tool, *, words="ok", error=False, told=None, **given):
    """The call as a rehydration names it; without a result when `words` is None."""
    outcome = None
    if words is not None:
        outcome = calls.Outcome(messages.Result("1", words, error), told or {}, None)
    return calls.tool_call(messages.Call("1", tool, given), outcome, note=True)


def test_a_read_names_its_file_and_lines():
    told = {"file": {"startLine": 120, "numLines": 61, "totalLines": 400}}
    call = made("Read", file_path="/p/a.py", told=told)
    assert (call.path, call.lines, call.command, call.pending) == ("/p/a.py", "120-180", None, False)


def test_a_whole_file_that_was_read_has_no_lines():
    assert (
        made("Read", file_path="/p/a.py", told={"file": {"startLine": 1, "numLines": 9, "totalLines": 9}}).lines == ""
    )


def test_lines_are_those_asked_for_where_nothing_was_noted():
    assert made("Read", file_path="/p/a.py", offset=40, limit=1, words=None).lines == "40"


def test_an_edit_names_the_lines_that_are_new():
    patch = [{"newStart": 3, "newLines": 3}, {"newStart": 40, "newLines": 1}, {"newStart": "x"}, None]
    call = made("Edit", file_path="/p/a.py", old_string="a = 1", new_string="a = 2", told={"structuredPatch": patch})
    assert (call.lines, call.noted) == ("3-5, 40", ("a = 2",))


def test_a_notebook_is_named():
    assert made("NotebookEdit", notebook_path="/p/a.ipynb", new_source="x = 12").path == "/p/a.ipynb"


def test_a_command_is_named_and_its_result_noted():
    call = made("Bash", command="make", words="building\n3 tests failed")
    assert (call.command, call.path, call.noted[0]) == ("make", None, "3 tests failed")


def test_another_tool_tells_what_it_is_about():
    call = made("Grep", pattern="def add", path="/p")
    assert (call.detail, call.path, call.command) == ("def add", None, None)


def test_an_error_is_told():
    assert made("Bash", command="make", words="Exit code 2", error=True).failed


def test_a_call_without_a_result_is_pending():
    call = made("Bash", command="make", words=None)
    assert (call.pending, call.failed, call.noted) == (True, False, ())


@pytest.mark.parametrize("path", [None, 3, "", " ", "a\0b", "/" + "a" * 40_000])
def test_what_can_be_no_path_is_none(path):
    assert made("Read", file_path=path).path is None


@pytest.mark.parametrize("told", [{"file": 3}, {"file": {"startLine": True, "numLines": -1}}, {"structuredPatch": {}}])
def test_notes_of_any_shape_are_read(told):
    assert made("Edit", file_path="/p/a", told=told).lines == made("Read", file_path="/p/a", told=told).lines == ""
