"""A durable transcript for one's own agent: append-only lines, a tree of entries, safe from crashes.

    from rehydrate.session import Place, Session, SessionLog, assistant, key_of, result, user

    place = Place("/var/lib/agent/sessions", key_of(cwd), "7d9f0c1e-...")
    with SessionLog(place, cwd=cwd) as log:
        log.append_durable(user("What is in this folder?"))  # on disk before the model is asked
        log.append(assistant(blocks, message={"id": "msg_1", "model": "..."}))
        log.append(user([result("call_1", "README.md")]))
        log.flush()  # before anybody is given the turn's result

    with Session.open(place.path) as session:
        messages = session.view("wire")  # what a provider is sent; `active`, `scrollback` and `raw` for other eyes

`Sessions` finds them again and goes on with them.  Files have the members of Claude-style transcripts, so whatever
reads those reads these.  The submodules are loaded when a name of theirs is first asked for.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .agents import ResumedAgent, agent_wire, agents_of, resume_agent
    from .aio import AsyncSession, AsyncSessionLog
    from .archive import Report, export, import_records, import_session
    from .compacting import Seen
    from .copies import branch, fork
    from .errors import Compacted, DamagedLine, Locked, NewerVersion, NotASession, SessionError
    from .log import SessionLog
    from .messages import Content, assistant, result, user
    from .place import Place, key_of
    from .presence import Holder, live
    from .reading import Session
    from .remote import (
        ARCHIVED,
        NOT_FOUND,
        Polled,
        RemoteAgent,
        forget_remote,
        poll_remote,
        remember_remote,
        remote_agents,
    )
    from .resume import Interruption, Restored, Resumed, Sessions, interruption_of, restore
    from .stamp import Entry
    from .views import Gap, Kind, Record, View
    from .whole import Damage
    from .wire import closed

__all__ = [
    "ARCHIVED",
    "NOT_FOUND",
    "AsyncSession",
    "AsyncSessionLog",
    "Compacted",
    "Content",
    "Damage",
    "DamagedLine",
    "Entry",
    "Gap",
    "Holder",
    "Interruption",
    "Kind",
    "Locked",
    "NewerVersion",
    "NotASession",
    "Place",
    "Polled",
    "Record",
    "RemoteAgent",
    "Report",
    "Restored",
    "Resumed",
    "ResumedAgent",
    "Seen",
    "Session",
    "SessionError",
    "SessionLog",
    "Sessions",
    "View",
    "agent_wire",
    "agents_of",
    "assistant",
    "branch",
    "closed",
    "export",
    "forget_remote",
    "fork",
    "import_records",
    "import_session",
    "interruption_of",
    "key_of",
    "live",
    "poll_remote",
    "remember_remote",
    "remote_agents",
    "restore",
    "result",
    "resume_agent",
    "user",
]

_MODULES = {
    **dict.fromkeys(("ResumedAgent", "agent_wire", "agents_of", "resume_agent"), "agents"),
    **dict.fromkeys(("Report", "export", "import_records", "import_session"), "archive"),
    **dict.fromkeys(("branch", "fork"), "copies"),
    **dict.fromkeys(("Compacted", "DamagedLine", "Locked", "NewerVersion", "NotASession", "SessionError"), "errors"),
    **dict.fromkeys(("Content", "assistant", "result", "user"), "messages"),
    **dict.fromkeys(("Place", "key_of"), "place"),
    **dict.fromkeys(("Holder", "live"), "presence"),
    **dict.fromkeys(("AsyncSession", "AsyncSessionLog"), "aio"),
    **dict.fromkeys(("ARCHIVED", "NOT_FOUND", "Polled", "RemoteAgent"), "remote"),
    **dict.fromkeys(("forget_remote", "poll_remote", "remember_remote", "remote_agents"), "remote"),
    **dict.fromkeys(("Interruption", "Restored", "Resumed", "Sessions", "interruption_of", "restore"), "resume"),
    **dict.fromkeys(("Gap", "Kind", "Record", "View"), "views"),
    "Damage": "whole",
    "Entry": "stamp",
    "Seen": "compacting",
    "Session": "reading",
    "SessionLog": "log",
    "closed": "wire",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
