"""The clients that are known: one row each, one folder each.

A client is the modules of its folder (`layout`, `transcript`, `lineage`, `listing`, `contract`, `install`; for `doctor`
`registered`, `rehearsal`, `arrival`); they offer the same names with the same meaning in every folder.  All but one are
coding-agent CLIs that run our hook; that one has nothing to install.  Nothing is imported before it is asked for: the
hook must not pay for a client it does not serve, nor for the parts of its own that it does not need.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

FOLDERS = {
    "antigravity": "antigravity",
    "claude-code": "claude_code",
    "session": "session",
}
"""Client as a user names it -> folder below this package."""
OWN = "session"
"""What our own library writes for one's own agent.  Its files say so themselves, and nothing runs a hook for them."""
HOOKED = tuple(name for name in FOLDERS if name != OWN)
"""The others."""


def module(client: str, name: str) -> "ModuleType":
    """The module `name` of a client, imported now.  Raises ValueError for a client that is not known."""
    from importlib import import_module

    folder = FOLDERS.get(client)
    if folder is None:
        raise ValueError(f"there is no client {client!r}; known: {', '.join(FOLDERS)}")
    return import_module(f"{__name__}.{folder}.{name}")
