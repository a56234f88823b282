"""One check at a time, on the throw-away home of `shell`."""

import json
import os

import pytest

from rehydrate.cli.checks import CHECKS
from rehydrate.cli.checks.subject import Subject


class Checked:
    """A home in which the client is; `faults("twice")` are the findings that are not well, as (detail, fix)."""

    def __init__(self, shell):
        self.shell = shell
        self.home, self.cwd = shell.home, shell.cwd
        self.file = shell.home / "config" / "hooks.json"

    def subject(self):
        return Subject("antigravity", environ=os.environ, folder=str(self.cwd))

    def findings(self, check):
        return list(CHECKS[check](self.subject()))

    def finding(self, check):
        (found,) = self.findings(check)
        return found

    def faults(self, check):
        return [(each.detail, each.fix) for each in self.findings(check) if not each.ok]

    def fault(self, check):
        (found,) = self.faults(check)
        return found

    def well(self, check):
        """The detail of the one finding, which must be well."""
        found = self.finding(check)
        assert found.ok and found.fix is None, found
        return found.detail

    def install(self, *words):
        assert self.shell.run("install", "antigravity", *words).status == 0

    def write(self, data, file=None):
        file = file or self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else json.dumps(data, indent=2).encode())
        return file

    def hooks(self):
        return json.loads(self.file.read_bytes())

    @property
    def command(self):
        return self.hooks()["rehydrate"]["PreInvocation"][0]["command"]


@pytest.fixture
def checked(shell):
    shell.home.mkdir()
    return Checked(shell)


@pytest.fixture
def laid_out(laid_out):
    """With the demo's conversations, and the hook installed afterwards."""
    checked = Checked(laid_out)
    checked.install()
    return checked


@pytest.fixture
def installed(checked):
    checked.install()
    return checked
