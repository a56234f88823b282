"""What a hooks.json is to the client: which commands of ours it runs, and why not the others."""

import json
import re

import pytest

from rehydrate import jsonspans
from rehydrate.clients.antigravity import registered
from tests.clients.antigravity.hooks import COMMAND, ENTRY, OLDER, OTHERS, Hooks, hook
from tests.clients.antigravity.test_install import DROPPED, TAKEN, UNCLEAR


@pytest.fixture
def hooks(tmp_path):
    return Hooks(tmp_path)


def read(hooks, value):
    hooks.write(json.dumps(value, indent=1).encode())
    return registered.registrations(str(hooks.file))


def test_no_file_holds_none(hooks):
    assert registered.registrations(str(hooks.file)) == []


def test_an_empty_file_holds_none(hooks):
    hooks.write(b" \n")
    assert registered.registrations(str(hooks.file)) == []


def test_the_hooks_of_others_are_not_ours(hooks):
    hooks.write(OTHERS.encode())
    assert registered.registrations(str(hooks.file)) == []


def test_ours_with_all_there_is_to_know(hooks):
    (found,) = read(hooks, {"rehydrate": ENTRY})
    assert found == registered.Registration(
        file=str(hooks.file),
        hook="rehydrate",
        place="rehydrate.PreInvocation[0], line 7",
        command=COMMAND,
        timeout_s=10,
        is_older=False,
        fault=None,
        is_disabled=False,
        may_run=True,
        is_listed=True,
    )


def test_every_command_in_file_order(hooks):
    found = read(hooks, {"b": hook(COMMAND), "a": hook(OLDER), "c": hook("x")})
    assert [(each.hook, each.is_older) for each in found] == [("b", False), ("a", True)]


def test_of_any_number_only_the_first_are_told(hooks):
    found = read(hooks, {"a": {"PreInvocation": [{"command": COMMAND}] * 100}})
    assert [each.place.partition(",")[0] for each in found] == [f"a.PreInvocation[{at}]" for at in range(20)]


def test_a_missing_timeout(hooks):
    (found,) = read(hooks, {"a": {"PreInvocation": [{"command": COMMAND}]}})
    assert found.timeout_s is None


@pytest.mark.parametrize(
    ("value", "place", "fault", "is_listed"),
    [
        (
            {"PreInvocation": [{"command": "x", "hooks": [{"command": COMMAND}]}]},
            "a.PreInvocation[0].hooks[0]",
            "nested",
            True,
        ),
        ({"PostInvocation": [{"command": COMMAND}]}, "a.PostInvocation[0]", "'PostInvocation'", True),
        ({"command": COMMAND}, "a.command", "'command'", False),
    ],
)
def test_what_the_client_passes_over(hooks, value, place, fault, is_listed):
    (found,) = read(hooks, {"a": value})
    assert found.place.startswith(place + ", line ")
    assert fault in found.fault
    assert (found.is_disabled, found.is_listed) == (False, is_listed)


@pytest.mark.parametrize(
    "value",
    [{**hook(COMMAND), "enabled": False}, {"PreInvocation": [{"command": COMMAND, "enabled": False}]}],
    ids=["hook", "handler"],
)
def test_what_is_switched_off(hooks, value):
    (found,) = read(hooks, {"a": value})
    assert found.is_disabled and "disabled" in found.fault
    assert found.may_run == (value.get("enabled") is not False)


def test_names_count_whatever_their_case(hooks):
    (found,) = read(hooks, {"a": {"preINVOCATION": [{"Command": COMMAND, "TIMEOUT": 3}]}})
    assert (found.place, found.timeout_s, found.fault) == ("a.preINVOCATION[0], line 5", 3, None)
    (found,) = read(hooks, {"a": {"ENABLED": False, "PreInvocation": [{"command": COMMAND}]}})
    assert found.is_disabled and not found.may_run


@pytest.mark.parametrize(
    ("value", "is_listed"),
    [
        ({"PreInvocation": [{"hooks": [{"command": COMMAND}]}]}, True),
        ({"PreInvocation": [{"command": COMMAND, "timeout": "10"}]}, True),
        ({"PreInvocation": [[{"command": COMMAND}]]}, True),
        ({"PreInvocation": {"command": COMMAND}}, False),
        ({"PreInvocation": COMMAND}, False),
        ({"PreInvocation": [COMMAND]}, False),
    ],
    ids=["nested", "timeout", "list in a list", "no list", "no handlers", "no handler"],
)
def test_ours_in_a_hook_for_which_the_file_is_dropped(hooks, value, is_listed):
    with pytest.raises(registered.Dropped) as caught:
        read(hooks, {"a": value})
    found = registered.ours_in(str(hooks.file), caught.value.hook)
    assert (found.hook, found.command, found.is_listed) == ("a", COMMAND, is_listed)


def test_a_command_quoted_in_a_note_is_none(hooks):
    assert read(hooks, {"a": {"note": COMMAND, "PreInvocation": [{"command": "x", "why": COMMAND}]}}) == []


@pytest.mark.parametrize(("data", "words"), DROPPED.values(), ids=DROPPED.keys())
def test_a_file_that_the_client_drops(hooks, data, words):
    hooks.write(data)
    with pytest.raises(registered.Dropped, match=re.escape(words)):
        registered.registrations(str(hooks.file))


@pytest.mark.parametrize(("data", "words"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_a_file_of_which_it_is_not_sure_what_it_says(hooks, data, words):
    hooks.write(data)
    with pytest.raises(jsonspans.Unclear, match=re.escape(words)):
        registered.registrations(str(hooks.file))


@pytest.mark.parametrize("value", TAKEN.values(), ids=TAKEN.keys())
def test_a_file_that_the_client_takes(hooks, value):
    (found,) = read(hooks, {**value, "rehydrate": ENTRY})
    assert found.fault is None


def test_the_line_of_what_it_is_dropped_for(hooks):
    hooks.write(b'{"a": {"Stop": [{\n"command": "x"},\n{"timeout": 1.5}]}}')
    with pytest.raises(registered.Dropped, match=r"a\.Stop\[1\]\.timeout \(line 3\)"):
        registered.registrations(str(hooks.file))


def test_another_command_under_our_name(hooks):
    hooks.write(json.dumps({"rehydrate": hook("x"), "b": hook("y")}, indent=1).encode())
    assert registered.other_command(str(hooks.file)) == "rehydrate.PreInvocation[0], line 7"
    hooks.write(json.dumps({"rehydrate": ENTRY, "b": hook("y")}).encode())
    assert registered.other_command(str(hooks.file)) is None
