"""A hooks.json to install into, and what stands in it."""

import json
from pathlib import Path

from rehydrate import hostfile
from rehydrate.clients.antigravity import install

COMMAND = "/opt/python -I -S -c 'from rehydrate.hook import main; main()' antigravity || echo '{}'"
OTHER = "/usr/bin/lint --hook || true"
ENTRY = {"enabled": True, "PreInvocation": [{"type": "command", "command": COMMAND, "timeout": 10}]}
OLD = "/old/python -m rehydrate.hook antigravity"
OLDER = "python3 /home/user/rehydrate_after_compact.py"


class Hooks:
    """One hooks.json in a home of its own."""

    def __init__(self, folder):
        self.environ = {"HOME": str(folder), "GEMINI_HOME": str(folder / "gemini"), "XDG_STATE_HOME": str(folder / "s")}
        self.file = Path(install.hooks_file(self.environ))

    def write(self, data):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data)

    def read(self):
        return json.loads(self.file.read_bytes())

    def install(self, command=COMMAND, **more):
        plan = install.plan_install(str(self.file), command, **more)
        return plan, None if plan.action == "refused" else hostfile.carry_out(plan, self.environ)

    def uninstall(self, **more):
        plan = install.plan_uninstall(str(self.file), self.environ)
        return plan, None if plan.action == "refused" else hostfile.carry_out(plan, self.environ, **more)

    def forget_all(self):
        """The user's state folder is gone."""
        Path(self.environ["XDG_STATE_HOME"], "rehydrate", hostfile.LEDGER).unlink()

    def backups(self):
        return hostfile.backups(str(self.file))


def hook(command, **more):
    return {"enabled": True, "PreInvocation": [{"type": "command", "command": command, "timeout": 5}], **more}


OTHERS = json.dumps({"lint": hook(OTHER), "log": {"PostToolUse": [{"matcher": "*", "hooks": [{"command": "log"}]}]}})
