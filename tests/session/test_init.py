"""The room's door: every name is there, and nothing is loaded before it is asked for."""

import pickle
import subprocess
import sys

import pytest

from rehydrate import session


@pytest.mark.parametrize("name", session.__all__)
def test_every_public_name_is_there(name):
    value = getattr(session, name)
    assert isinstance(value, str) or value.__module__.startswith(
        ("rehydrate.session.", "typing", "collections", "types")
    )
    assert name in dir(session)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = session.nothing


def test_the_submodules_are_loaded_when_they_are_needed():
    code = "import sys, rehydrate.session as s; a = set(sys.modules); s.user; print(*sorted(set(sys.modules) - a))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if "rehydrate" in name] == ["rehydrate.session.messages"]


@pytest.mark.parametrize("kind", [session.Locked, session.DamagedLine, session.NewerVersion, session.NotASession])
def test_an_error_is_one_of_the_session_and_says_where_also_in_another_process(kind):
    error = kind("It is so.", path="/a", line=3, offset=40)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, session.SessionError) and str(again) == "It is so."
    assert (again.path, again.line, again.offset) == ("/a", 3, 40)
    assert (kind("x").line, kind("x").offset) == (None, None)
