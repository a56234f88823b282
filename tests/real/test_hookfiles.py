"""What we say of a hooks.json, held against what the vendor's own harness makes of it."""

import json
import subprocess
import sys

import pytest

from tests.clients.antigravity.test_install import DROPPED, TAKEN
from tests.real.conftest import LIMIT_S, ROOT
from tests.rig import network

OBJECTS = {name: row for name, row in DROPPED.items() if b"{" in row[0]}
"""Those in which a hook can stand."""
WITNESS = '"witness": {"PreInvocation": [{"command": @WITNESS@}]}'
SPELT = '{"a": {"preINVOCATION": [{"Command": @WITNESS@, "TIMEOUT": 3}]}}'
HANDLER_OFF = '{"a": {"PreInvocation": [{"command": @WITNESS@, "enabled": false}]}}'
HOOK_OFF = '{"a": {"ENABLED": false, "PreInvocation": [{"command": @WITNESS@}]}}'


@pytest.fixture(scope="module")
def ran(harness_python, tmp_path_factory):
    """How often the witness beside each of the files was run, by the file's name."""
    files = {name: data.decode("latin-1").replace("{", "{" + WITNESS + ",", 1) for name, (data, _) in OBJECTS.items()}
    files |= {name: json.dumps(value).replace("{", "{" + WITNESS + ",", 1) for name, value in TAKEN.items()}
    files |= {"spelt": SPELT, "handler off": HANDLER_OFF, "hook off": HOOK_OFF}
    folder = tmp_path_factory.mktemp("hookfiles")
    (folder / "files.json").write_text(json.dumps(files))
    command = [sys.executable, "-m", "tests.rig.hookfiles", str(harness_python), str(folder)]
    done = subprocess.run([*network.prefix(), *command], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "ran.json").read_text())


@pytest.mark.parametrize("name", OBJECTS)
def test_what_we_call_dropped_is_dropped(ran, name):
    assert ran[name] == 0


@pytest.mark.parametrize("name", TAKEN)
def test_what_we_call_taken_is_taken(ran, name):
    assert ran[name] == 1


def test_names_count_whatever_their_case(ran):
    assert ran["spelt"] == 1
    assert ran["hook off"] == 0


def test_a_single_handler_has_no_switch(ran):
    assert ran["handler off"] == 1
