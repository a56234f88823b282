"""A durable transcript for one's own agent: append-only lines, a tree of entries, safe from crashes.

    from rehydrate.session import Place, SessionLog, assistant, key_of, user

    place = Place("/var/lib/agent/sessions", key_of(cwd), "7d9f0c1e-...")
    with SessionLog(place, cwd=cwd) as log:
        log.append_durable(user("What is in this folder?"))  # on disk before the model is asked
        log.append(assistant(blocks, message={"id": "msg_1", "model": "..."}))
        log.append(user([result("call_1", "README.md")]))
        log.flush()  # before anybody is given the turn's result

Files have the members of Claude-style transcripts, so whatever reads those reads these.  The submodules are loaded when
a name of theirs is first asked for.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import AsyncSessionLog
    from .errors import DamagedLine, Locked, NewerVersion, NotASession, SessionError
    from .log import SessionLog
    from .messages import assistant, result, user
    from .place import Place, key_of
    from .presence import Holder, live
    from .stamp import Entry

__all__ = [
    "AsyncSessionLog",
    "DamagedLine",
    "Entry",
    "Holder",
    "Locked",
    "NewerVersion",
    "NotASession",
    "Place",
    "SessionError",
    "SessionLog",
    "assistant",
    "key_of",
    "live",
    "result",
    "user",
]

_MODULES = {
    **dict.fromkeys(("DamagedLine", "Locked", "NewerVersion", "NotASession", "SessionError"), "errors"),
    **dict.fromkeys(("assistant", "result", "user"), "messages"),
    **dict.fromkeys(("Place", "key_of"), "place"),
    **dict.fromkeys(("Holder", "live"), "presence"),
    "AsyncSessionLog": "aio",
    "Entry": "stamp",
    "SessionLog": "log",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
