"""Where rehydrate keeps its own files.  Standard library only: the hook asks for these, too."""

import os
import sys
from collections.abc import Mapping


def home_folder(environ: Mapping[str, str]) -> str | None:
    """The user's home folder; None when neither HOME (an absolute path) nor the password database names one."""
    home = environ.get("HOME") or (environ.get("USERPROFILE") if os.name == "nt" else None)
    if home and os.path.isabs(home):
        return home
    try:
        import pwd
    except ImportError:
        return None
    try:
        return pwd.getpwuid(os.getuid()).pw_dir or None
    except KeyError:
        return None


def state_folder(environ: Mapping[str, str]) -> str | None:
    """Our folder in the user's state folder, whether or not it exists; None without a home.

    It holds the ledger of registrations, and the states of conversations whose own folder cannot be written.
    """
    given = environ.get("XDG_STATE_HOME")
    if given and os.path.isabs(given):
        return os.path.join(given, "rehydrate")
    home = home_folder(environ)
    if home is None:
        return None
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "rehydrate")
    if os.name == "nt":
        return os.path.join(environ.get("LOCALAPPDATA") or home, "rehydrate")
    return os.path.join(home, ".local", "state", "rehydrate")
