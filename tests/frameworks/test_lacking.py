"""A module for a framework that is not there says what to install."""

import subprocess
import sys

import pytest

PACKAGES = {"langchain": "langchain", "openai_agents": "agents", "pydantic_ai": "pydantic_ai"}


@pytest.mark.parametrize("module", PACKAGES)
def test_a_module_whose_package_is_not_there_says_which_extra_it_is(module):
    code = f"import sys; sys.modules[{PACKAGES[module]!r}] = None; import rehydrate.frameworks.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and said.startswith("ImportError: this needs ")
    assert f"pip install 'rehydrate[{module.replace('_', '-')}]'" in said


@pytest.mark.parametrize("module", PACKAGES)
def test_the_room_itself_needs_no_package(module):
    code = f"import sys; sys.modules[{PACKAGES[module]!r}] = None; import rehydrate.frameworks"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
