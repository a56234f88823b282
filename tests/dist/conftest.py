"""Everything that `make dist` makes, built once, and empty environments to install it into.

Skips all of it where the package index is out of reach: what is installed here comes with its dependencies.
"""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from .field import Field

ROOT = Path(__file__).resolve().parents[2]
UNWANTED = re.compile(r"PYTHON|REHYDRATE_(?!PURE_BUILD)|VIRTUAL_ENV|SOURCE_DATE_EPOCH")
"""What the environment of the tests must not tell the builds and installations."""
NO_NETWORK = re.compile(r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ProxyError|Network is unreachable")


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory):
    """The folder that `make dist` has filled."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def wheels(artifacts, tmp_path_factory):
    """A folder with what our packages need to be built and to run."""
    folder = tmp_path_factory.mktemp("wheels")
    asked = [artifact(artifacts, "*-py3-none-any.whl"), "hatchling>=1.26", "maturin>=1.7,<2"]
    call(sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *asked)
    return folder


@pytest.fixture
def pyz(artifacts, tmp_path):
    """rehydrate.pyz in a folder of its own."""
    file = tmp_path / "a folder" / "rehydrate.pyz"
    file.parent.mkdir()
    file.write_bytes((artifacts / "rehydrate.pyz").read_bytes())
    return file


@pytest.fixture
def field(pyz, tmp_path):
    """A user who runs rehydrate.pyz with nothing but the standard library beside it."""
    return Field(tmp_path / "field", [sys.executable, "-I", "-S", str(pyz)])


class Environment:
    """A virtual environment that holds nothing but pip."""

    def __init__(self, folder, wheels):
        venv.create(folder, with_pip=True)
        self.folder, self.wheels = folder, wheels
        self.scripts = folder / ("Scripts" if os.name == "nt" else "bin")

    def pip(self, *arguments, **environ):
        here = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        return call(self.scripts / "python", "-m", "pip", *arguments, **here, **environ)

    def files(self):
        return {path for path in self.folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture
def environment(wheels, tmp_path):
    return Environment(tmp_path / "an environment", wheels)


def artifact(artifacts, pattern):
    """The only file of that name; skips the test when it is the native wheel and there is no cargo."""
    found = list(artifacts.glob(pattern))
    if not found and "abi3" in pattern and list(artifacts.glob("*.tar.gz")):
        pytest.skip("no native wheel is built here")
    (file,) = found
    return file


def build(folder, **environ):
    """What `make dist` prints when it fills the folder."""
    return call(sys.executable, ROOT / "build_backend" / "dist.py", folder, **environ)


def call(*words, **environ):
    """What the command prints; its failure is the test's, unless the network is to blame."""
    clean = {name: value for name, value in os.environ.items() if not UNWANTED.match(name)}
    done = subprocess.run(words, env=clean | environ, capture_output=True, text=True)
    if done.returncode != 0 and NO_NETWORK.search(done.stdout + done.stderr):
        pytest.skip("the package index is out of reach")
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout
