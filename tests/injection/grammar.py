"""The text of a rehydration read by its rules alone, as somebody would who knows nothing of how it is made.

    text     marker line, note lines, sections
    section  empty line, `## TITLE`, perhaps a remark, items
    item     empty line, LABEL, `- ` lines, a fence with the quoted text, `- ` lines   (calls stand in `- ` lines)
             or an empty line and a signpost; in values also a row: `- ` and what goes on in `  | ` and `  > ` lines,
             and no calls behind a request there: a `- ` line behind it is a row
    fence    a line of backticks, closed by the next line that is the same

Whatever stands elsewhere is an error.
"""

import re
from dataclasses import dataclass, field

MARKER = re.compile(
    r"\[POST-COMPACT REHYDRATION v1 \| checkpoint=(\d+) \| id=([0-9a-f]{8})(?: \| part (\d+)/(\d+))?"
    r"(?: \| fork_lineage=((?:\.\.\.->)?[^]|>]+(?:->[^]|>]+)*))?\]"
)
POST = re.compile(r"--- fork: up to here from (\S*); what follows, from step (\S+) on, from (\S*) ---")
LABEL = re.compile(
    r"\[\d+\]( step \S+)?(, piece \d+/\d+:)?|(after \[\d+\]:)"
    r"|(user|assistant|tools), step [^\s:,]+(, after these tool calls|, nothing said after these calls yet)?"
    r"(, piece \d+/\d+)?:"
    r"|(/|\.\.\.).* \((modified|read|named) at step [^\s:,]+(, changed on disk since then)?\)(, piece \d+/\d+)?:"
    r"|\.\.\..*, piece \d+/\d+:"
)
PIECE = re.compile(r", piece (\d+)/(\d+):\Z")
BAR = re.compile("`{3,}")
NAME = re.compile(r"`[^`]*`|\?|[\w./~@\\][^\s`,;()]*(?<!:)")
CODE = re.compile(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)")


class NotByTheRules(Exception):
    """The text has something where nothing may stand."""


@dataclass
class Found:
    """An item as it is read."""

    label: str = ""
    lines: list[str] = field(default_factory=list)
    quoted: str | None = None
    lines_after: list[str] = field(default_factory=list)


@dataclass
class Head:
    """A section as it is read."""

    title: str
    remark: str = ""
    items: list[Found] = field(default_factory=list)


@dataclass
class Text:
    """A part or a value."""

    marker: re.Match
    notes: list[str]
    sections: list[Head]


def read(text: str) -> Text:
    """NotByTheRules where the text is none."""
    lines = text.split("\n")
    if lines.pop() != "":
        raise NotByTheRules("the last line is not ended")
    marker = MARKER.fullmatch(lines[0])
    if marker is None:
        raise NotByTheRules(f"no marker: {lines[0]!r}")
    at = 1
    while at < len(lines) and lines[at]:
        at += 1
    found = Text(marker, lines[1:at], [])
    while at < len(lines):
        at = _section(lines, at, found.sections) if _is_heading(lines, at) else _item(lines, at, found.sections)
    return found


def _is_heading(lines, at):
    return lines[at] == "" and at + 1 < len(lines) and lines[at + 1].startswith("## ")


def _section(lines, at, sections):
    sections.append(Head(lines[at + 1][3:]))
    at += 2
    if at < len(lines) and lines[at] and not lines[at].startswith("- "):
        sections[-1].remark = lines[at]
        at += 1
    return at


def _item(lines, at, sections):
    if not sections:
        raise NotByTheRules(f"an item outside a section: {lines[at]!r}")
    if lines[at].startswith("- "):
        row = [lines[at][2:]]
        at += 1
        while at < len(lines) and lines[at].startswith(("  | ", "  > ")):
            row.append(lines[at])
            at += 1
        sections[-1].items.append(Found(lines=["\n".join(row)]))
        return at
    if lines[at] or at + 1 >= len(lines):
        raise NotByTheRules(f"neither an item nor a heading: {lines[at]!r}")
    label = lines[at + 1]
    if POST.fullmatch(label):
        sections[-1].items.append(Found(label))
        return at + 2
    if not LABEL.fullmatch(label):
        raise NotByTheRules(f"no label: {label!r}")
    item = Found(label)
    at = _lines(lines, at + 2, item.lines)
    if at < len(lines) and BAR.fullmatch(lines[at]):
        end = lines.index(lines[at], at + 1)
        item.quoted = "\n".join(lines[at + 1 : end])
        at = end + 1
        if not sections[-1].title.startswith("Requests before it"):
            at = _lines(lines, at, item.lines_after)
    sections[-1].items.append(item)
    return at


def _lines(lines, at, into):
    while at < len(lines) and lines[at].startswith("- "):
        into.append(lines[at][2:])
        at += 1
    return at


@dataclass
class Call:
    """A tool call as it is read."""

    name: str
    about: str
    pending: bool


def calls(line: str) -> tuple[list[Call], int]:
    """The calls in a line of them, and how many more there are."""
    found, more = [], 0
    if begun := re.match(r"\+(\d+) more in the \d+ responses before; ", line):
        more += int(begun[1])
        line = line[begun.end() :]
    while True:
        if rest := re.match(r"\+(\d+) more(?: \(\d+ with no result yet\))?", line):
            more += int(rest[1])
            line = line[rest.end() :]
        else:
            name = NAME.match(line)
            if name is None:
                raise NotByTheRules(f"no call: {line!r}")
            line = line[name.end() :]
            about = ""
            if line.startswith(" ") and not line.startswith(" ("):
                subject = CODE.match(line, 1) or NAME.match(line, 1)
                if subject is None:
                    raise NotByTheRules(f"nothing that a call is about: {line!r}")
                about, line = subject[0], line[subject.end() :]
            pending = line.startswith(" (no result yet)")
            line = line[len(" (no result yet)") :] if pending else line
            found.append(Call(name[0], about, pending))
        if not line.startswith(", "):
            break
        line = line[2:]
    if ended := re.fullmatch(r"; \+(\d+) more in the next \d+ responses", line):
        more += int(ended[1])
        line = ""
    if line:
        raise NotByTheRules(f"behind the calls: {line!r}")
    return found, more
