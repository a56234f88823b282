"""Where a session's files are below the folder that the host gives.

    <root>/<key>/<sessionId>.jsonl                          the session; <key> is made of its working directory
    <root>/<key>/<sessionId>/live/                          who has it open
    <root>/<key>/<sessionId>/subagents/agent-<id>.jsonl     a subagent's own log, and beside it .meta.json
    <root>/<key>/<sessionId>/remote-agents/<id>.meta.json   an agent elsewhere: who it is

Nothing is looked up or made here.  A name that is no plain one is refused, so no path leads out of the root.
"""

import os
import re
import unicodedata
from dataclasses import dataclass

from rehydrate.paths import encodable, is_id

AGENT = "agent-"
"""What the name of a subagent's log begins with, and no session's id."""
KEY_CHARS = 200
"""A longer key is cut, and a digest of the whole told behind it."""
_DIGEST_MOST = 55
"""Of the name of a folder what is left behind that, whoever made the digest."""
ID_BYTES = 224
"""A longer id has no room for what stands around it in the names of files, which have 255 bytes."""
PATH_CHARS = 32_768
"""No system has longer paths; to follow one that a file tells would take for ever."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one session is.  Raises ValueError for a key or an id that is no plain name."""

    root: str
    """The folder of all sessions, as the host gives it; made absolute."""
    key: str
    """Stands for the working directory: `key_of` makes it."""
    session_id: str

    def __post_init__(self) -> None:
        if not encodable(self.root):
            raise ValueError("the root is not a path")
        object.__setattr__(self, "root", os.path.abspath(self.root))
        if not is_key(self.key):
            raise ValueError(f"the key {self.key!r:.80} cannot be the name of a folder")
        if not is_session_id(self.session_id):
            why = f"has to be a plain name, and not to begin with {AGENT}"
            raise ValueError(f"the session id {self.session_id!r:.80} {why}")

    @classmethod
    def of(cls, path: str) -> "Place":
        """The place of a session's file.  Raises ValueError when no session's file can have that path."""
        folder, name = os.path.split(os.path.abspath(path))
        root, key = os.path.split(folder)
        if not name.endswith(".jsonl"):
            raise ValueError(f"{path} is not the path of a session: its name does not end in .jsonl")
        return cls(root, key, name.removesuffix(".jsonl"))

    @property
    def path(self) -> str:
        """Its file."""
        return f"{self.folder}.jsonl"

    @property
    def folder(self) -> str:
        """What belongs to it beside its file."""
        return os.path.join(self.root, self.key, self.session_id)

    @property
    def live_folder(self) -> str:
        """A file for each that has it open."""
        return os.path.join(self.folder, "live")

    def agent_path(self, agent_id: str) -> str:
        """A subagent's own log."""
        return os.path.join(self.folder, "subagents", f"{AGENT}{_plain(agent_id, 'agent id')}.jsonl")

    def agent_meta_path(self, agent_id: str) -> str:
        """What is known of a subagent: its type, worktree and description."""
        return f"{self.agent_path(agent_id).removesuffix('.jsonl')}.meta.json"

    def remote_meta_path(self, agent_id: str) -> str:
        """Who an agent elsewhere is."""
        return os.path.join(self.folder, "remote-agents", f"{_plain(agent_id, 'agent id')}.meta.json")


def is_key(name: str) -> bool:
    """Whether this can stand for a working directory: a plain name, which may have a digest behind KEY_CHARS."""
    rest = name[KEY_CHARS:]
    is_plain = is_id(name[:KEY_CHARS]) and len(rest) <= _DIGEST_MOST and (not rest or is_id(f"-{rest}"))
    return is_plain and len(os.fsencode(name)) <= KEY_CHARS + _DIGEST_MOST


def is_session_id(text: str) -> bool:
    """Whether this can be a session's id: a plain name that is not that of a subagent's log."""
    return _is_plain(text) and not text.startswith(AGENT)


def may_be_folder(path: str) -> bool:
    """Whether there could be such a folder at all: what files tell may be anything."""
    return 0 < len(path) <= PATH_CHARS and encodable(path)


def key_of(cwd: str) -> str:
    """What stands for a working directory in the root: the same for every path that leads to it.  Raises ValueError for
    what can be no path.
    """
    if not may_be_folder(cwd):
        raise ValueError(f"{cwd!r:.80} cannot be a folder")
    whole = unicodedata.normalize("NFC", os.path.realpath(cwd))
    key = re.sub("[^A-Za-z0-9]", "-", whole)
    if len(key) <= KEY_CHARS:
        return key
    import hashlib  # few need it

    digest = hashlib.sha256(whole.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{key[:KEY_CHARS]}-{digest[:16]}"


def _plain(name: str, what: str) -> str:
    if not _is_plain(name):
        raise ValueError(f"the {what} {name!r:.80} cannot be the name of a file")
    return name


def _is_plain(name: str) -> bool:
    return is_id(name) and len(os.fsencode(name)) <= ID_BYTES
