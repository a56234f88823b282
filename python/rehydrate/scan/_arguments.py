"""What the operations accept, checked once for both implementations."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from os import PathLike

    AnyPath = str | bytes | PathLike[str] | PathLike[bytes]
    AnyCursor = tuple[int, int, str] | Sequence[int | str]
    Steps = tuple[int | None, int | None]


_PLAIN = {ord(sign): "x" for sign in "_-."}
_PLAIN_MAX = 256


def read_cursor(cursor: "AnyCursor | None") -> "tuple[int, str] | None":
    """(offset, crc) of a cursor that was made by this major version; ValueError for anything else."""
    if cursor is None:
        return None
    if isinstance(cursor, (tuple, list)) and len(cursor) == 3:
        version, offset, crc = cursor
        known = version == 1 and not isinstance(version, bool)
        if known and isinstance(offset, int) and _is_int(offset) and offset >= 0 and _is_crc(crc):
            return offset, str(crc)
    raise ValueError(f"not a cursor: {cursor!r}")


def read_steps(steps: "Steps | None") -> "Steps | None":
    """The range (first, last), each end an int or None; ValueError for anything else."""
    if steps is None:
        return None
    if isinstance(steps, (tuple, list)) and len(steps) == 2:
        first, last = steps
        if (first is None or _is_int(first)) and (last is None or _is_int(last)):
            return first, last
    raise ValueError(f"steps: (first, last) is wanted, each an int or None, not {steps!r}")


def read_names(names: "Collection[str]", what: str) -> tuple[str, ...]:
    """The names in their order; TypeError for a bare str (a likely slip) and for anything but str in it."""
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{what}: a collection of str is wanted, not {names!r}")
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"{what}: a collection of str is wanted, not {name!r} in one")
    return found


def read_paths(paths: "Iterable[AnyPath]") -> "list[AnyPath]":
    """The paths in their order; TypeError for a bare str or bytes (a likely slip)."""
    if isinstance(paths, (str, bytes)):
        raise TypeError(f"paths: several paths are wanted, not {paths!r}")
    return list(paths)


def read_where(where: "Mapping[str, Collection[object]] | None") -> "dict[str, Collection[object]]":
    """The conditions; TypeError for a key that is no str, and where the allowed values are no collection, or a bare
    str (a likely slip).
    """
    found = dict(where or {})
    for key, allowed in found.items():
        if not isinstance(key, str):
            raise TypeError(f"where: a str is wanted as a key, not {key!r}")
        if isinstance(allowed, (str, bytes)) or not hasattr(allowed, "__contains__"):
            raise TypeError(f"where: a collection of values is wanted for {key!r}, not {allowed!r}")
    return found


def is_among(found: object, allowed: "Collection[object]") -> bool:
    """Whether a decoded value is one of the allowed ones; a list, an object or a number that had to become a str is
    not.
    """
    if isinstance(found, str) and type(found) is not str:  # `Digits` of `_decode`
        return False
    try:
        return found in allowed
    except TypeError:
        return False


def check_step(step: int, slack: int) -> None:
    """TypeError when either is no int, ValueError for a slack below 0."""
    if not _is_int(step) or not _is_int(slack):
        raise TypeError(f"step and slack: ints are wanted, not {step!r} and {slack!r}")
    if slack < 0:
        raise ValueError(f"slack: not below 0, as {slack} is")


def check_offset(offset: int) -> None:
    """TypeError when it is no int, ValueError when it is below 0."""
    _check_place("offset", offset)


def check_end(end: int) -> None:
    """The same for the offset at which a read ends."""
    _check_place("end", end)


def _check_place(name: str, value: int) -> None:
    if not _is_int(value):
        raise TypeError(f"{name}: an int is wanted, not {value!r}")
    if value < 0:
        raise ValueError(f"{name}: not below 0, as {value} is")


def is_plain(name: object) -> bool:
    """Whether a value is a str that can stand in JSON only as its own bytes or with an escape that begins with `\\u00`.

    Then a line without either cannot hold it, and need not be walked to know that.  A long name does not count.
    """
    if not isinstance(name, str) or len(name) > _PLAIN_MAX:
        return False
    return name.isascii() and name.translate(_PLAIN).isalnum()


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_crc(value: object) -> bool:
    return isinstance(value, str) and len(value) == 8 and not value.strip("0123456789abcdef")
