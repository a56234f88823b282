"""The settings, their defaults and where they come from: `REHYDRATE_<KEY>` in the environment, else the default.

A value that is not of the right kind never stops a hook: the default is used, and `read_settings` says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

PART_BYTES_MAX = 48_907
"""Bytes of one injected step that reach the model whole: 49,152 less the host's frame (measured on harness 0.1.22)."""
PART_BYTES_MIN = 2_000
"""Below this a part could not hold its marker line with a long lineage and still carry text."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Budgets in characters (code points), the size of a part in UTF-8 bytes."""

    requests_chars: int = 24_000
    dialogue_chars: int = 42_000
    documents_chars: int = 20_000
    files_chars: int = 48_000
    single_file_chars: int = 12_000
    part_bytes: int = 48_000
    redact: bool = True

    def halved(self) -> "Settings":
        """The same with half of every section's budget: for a compaction that came soon after the last one."""
        return replace(
            self,
            requests_chars=self.requests_chars // 2,
            dialogue_chars=self.dialogue_chars // 2,
            documents_chars=self.documents_chars // 2,
            files_chars=self.files_chars // 2,
        )

    def requests_only(self) -> "Settings":
        """Half the budget for requests and nothing else: for the third compaction in a row."""
        return replace(self.halved(), dialogue_chars=0, documents_chars=0, files_chars=0)


def read_settings(environ: Mapping[str, str]) -> tuple[Settings, list[str]]:
    """The settings in force, and a sentence for each value that was not taken."""
    taken: dict[str, int | bool] = {}
    problems: list[str] = []
    for each in fields(Settings):
        name = "REHYDRATE_" + each.name.upper()
        text = environ.get(name)
        if text is None:
            continue
        try:
            taken[each.name] = _value(each.name, text.strip())
        except ValueError as error:
            problems.append(f"{name}={text!r} is not used: {error}")
    return replace(Settings(), **taken), problems  # type: ignore[arg-type]  # each value was made by its field's name


def _value(key: str, text: str) -> int | bool:
    if key == "redact":
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise ValueError("it must be true or false")
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise ValueError("it must be a whole number, 0 or more")
    number = int(text)
    if key == "part_bytes" and not PART_BYTES_MIN <= number <= PART_BYTES_MAX:
        raise ValueError(f"it must lie between {PART_BYTES_MIN} and {PART_BYTES_MAX}")
    return min(number, 1_000_000)
