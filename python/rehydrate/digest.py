"""SHA-256 alone: `hashlib` loads the whole of OpenSSL with it, which takes a process of the hook a few milliseconds."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # it need not be there
            from hashlib import sha256

__all__ = ["sha256"]
