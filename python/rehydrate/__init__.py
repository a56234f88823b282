"""Gives a coding agent its own history back, verbatim, after a compaction.

`rehydrate.scan` reads the steps of a JSONL transcript.  The submodules are loaded when they are first asked for.
"""

__version__ = "0.1.0"
__all__ = ["__version__", "scan"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import scan


def __getattr__(name: str) -> object:
    if name == "scan":
        import rehydrate.scan

        return rehydrate.scan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
