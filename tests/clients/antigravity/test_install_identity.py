"""install and uninstall over any hooks.json: nothing of anybody else's changes, and the bytes come back."""

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate import hostfile
from rehydrate.clients.antigravity import install
from tests.clients.antigravity.hooks import COMMAND, OLD

NAMES = st.text(max_size=6).filter(lambda name: name != "rehydrate") | st.sampled_from(["hooks", "lint", "Grüße", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
COMMANDS = st.sampled_from(["lint", 'echo "a" && b', "C:\\\\x y", "/opt/rehydrate-notes hook"])
HANDLERS = st.fixed_dictionaries(
    {"command": COMMANDS}, optional={"timeout": st.integers(0, 99), "type": st.just("command")}
)
HOOKS = st.fixed_dictionaries(
    {}, optional={"enabled": st.booleans(), "PreInvocation": st.lists(HANDLERS, max_size=3), "note": VALUES}
)


@st.composite
def files(draw):
    """None for no file, or the bytes of one in any of the usual styles."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([None, b"", b" \n", b"{}", b"{ }", b"{\n}\n", b"{\n\n\t}", b"{\r\n}"]))
    value = draw(st.dictionaries(NAMES, HOOKS, max_size=4))
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" ,", " : "), (", \t", ":\n\n")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    text = draw(st.sampled_from(["", " ", "\n", "\r\n\t"])) + text + draw(st.sampled_from(["", "\n", "  \r\n", "\n\n"]))
    return text.encode("utf-8", "replace")


class Home:
    """One hooks.json in a throw-away home."""

    def __init__(self, folder, data):
        self.environ = {"HOME": folder, "GEMINI_HOME": f"{folder}/gemini", "XDG_STATE_HOME": f"{folder}/state"}
        self.file = Path(install.hooks_file(self.environ))
        self.state = Path(folder, "state")
        if data is not None:
            self.file.parent.mkdir(parents=True)
            self.file.write_bytes(data)

    def read(self):
        return self.file.read_bytes() if self.file.exists() else None

    def install(self, command=COMMAND):
        plan = install.plan_install(str(self.file), command)
        hostfile.carry_out(plan, self.environ)
        return plan.action

    def uninstall(self):
        plan = install.plan_uninstall(str(self.file), self.environ)
        hostfile.carry_out(plan, self.environ)
        return plan.action


@settings(deadline=None)
@given(files(), st.booleans(), st.booleans())
def test_uninstall_after_install_gives_the_bytes_back(data, updated, ledger_lost):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, data)
        assert home.install(OLD if updated else COMMAND) == "added"
        assert json.loads(home.read()).items() >= json.loads(data.strip() or b"{}" if data else b"{}").items()
        if updated:
            assert home.install() == "updated"
        after = home.read()
        assert home.install() == "present" and home.read() == after
        if ledger_lost:
            (home.state / "rehydrate" / hostfile.LEDGER).unlink()
        assert home.uninstall() == "removed"
        assert home.read() == data


@settings(deadline=None)
@given(files(), st.sampled_from(["first", "last", "styled"]))
def test_what_others_changed_meanwhile_stays(data, where):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, data)
        home.install()
        hooks = json.loads(home.read())
        new = {"by others": {"PreInvocation": [{"command": "theirs"}]}}
        hooks = {"first": {**new, **hooks}, "last": {**hooks, **new}, "styled": hooks}[where]
        home.file.write_text(json.dumps(hooks, indent=3), "utf-8")
        assert home.uninstall() == "removed"
        del hooks["rehydrate"]
        assert json.loads(home.read() or b"{}") == hooks
