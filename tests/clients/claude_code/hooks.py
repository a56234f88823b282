"""A settings.json to install into, and what stands in it."""

import json
from pathlib import Path

from rehydrate import hostfile
from rehydrate.clients.claude_code import install

COMMANDS = tuple(
    f"/opt/python -I -S -c 'from rehydrate.hook import main; main()' claude-code --part {part} || true"
    for part in (1, 2, 3)
)
OLD = tuple(each.replace("/opt/", "/old/") for each in COMMANDS)
OTHER = "/usr/bin/lint --hook || true"


def handler(command, **more):
    return {"type": "command", "command": command, "timeout": 10, **more}


def group(*commands, matcher="compact"):
    return {"matcher": matcher, "hooks": [handler(each) for each in commands]}


def hooks_of(*groups, **events):
    return {"hooks": {"SessionStart": list(groups), **events}}


OURS = hooks_of(group(*COMMANDS))
OTHERS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": OTHER}]}]},
    "model": "opus",
}


class Settings:
    """One settings.json in a home of its own."""

    def __init__(self, folder):
        self.environ = {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "s")}
        self.file = Path(install.hooks_file(self.environ))

    def write(self, data):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data if isinstance(data, bytes) else json.dumps(data, indent=2).encode())

    def read(self):
        return json.loads(self.file.read_bytes())

    def install(self, commands=COMMANDS, **more):
        plan = install.plan_install(str(self.file), commands, **more)
        return plan, None if plan.action == "refused" else hostfile.carry_out(plan, self.environ)

    def uninstall(self, **more):
        plan = install.plan_uninstall(str(self.file), self.environ)
        return plan, None if plan.action == "refused" else hostfile.carry_out(plan, self.environ, **more)

    def forget_all(self):
        """The user's state folder is gone."""
        Path(self.environ["XDG_STATE_HOME"], "rehydrate", hostfile.LEDGER).unlink()

    def backups(self):
        return hostfile.backups(str(self.file))
