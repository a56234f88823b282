"""The page of the commands, from their help."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import click

from docs.markdown import MADE, code, escaped
from rehydrate.cli.group import rehydrate


class Notes(NamedTuple):
    """What a command's help does not say."""

    fails: str
    """When the exit status is 1."""
    json: str
    """Anchor of its shape in `json.md`."""


NOTES = {
    "install": Notes("a file was refused, or no client was found and none was named", "install-and-uninstall"),
    "uninstall": Notes("a file was refused", "install-and-uninstall"),
    "doctor": Notes("a check failed", "doctor"),
    "sessions": Notes("something went wrong; that there is no conversation is no failure", "sessions"),
    "show": Notes("the conversation or the boundary was not found, or there is no message yet", "show"),
    "lineage": Notes("the conversation was not found", "lineage"),
    "scan": Notes("the file cannot be read", "scan"),
    "session": Notes(
        "the file cannot be read or holds no session, there is no such entry, something is there already, or `verify` "
        "found something wrong",
        "session",
    ),
    "context": Notes(
        "the file cannot be read or holds no session, there is no such session or entry, or `verify` found something "
        "wrong",
        "context",
    ),
    "config": Notes("the settings file cannot be read, changed or written", "config"),
}
"""For each command; a page is only made when every command has its notes."""

COMMANDS_HEAD = """\
# Commands

Every command takes `--help`, which says what stands here, and `--debug`, which shows tracebacks. `rehydrate --version`
prints the version and the backend: `rust`, or `python` where the compiled module is missing.

CLIENT is `antigravity`. SESSION is a conversation id, the beginning of one, `client:id`, or the path of a transcript or
of its folder. Without it the newest conversation of the working folder is meant.

| exit status | meaning |
|---:|---|
| 0 | done |
| 1 | not found, refused, or a check failed |
| 2 | wrong usage |

An error is one sentence on standard error that says what to do next. With `--json` a command prints JSON and nothing
else; the shapes are on [a page of their own](json.md). Colours, bars and the pager come on a terminal only, and no
colours where `NO_COLOR` is set.

Completion of commands, options and conversation ids, in the shell's start-up file:

```sh
eval "$(_REHYDRATE_COMPLETE=bash_source rehydrate)"  # ~/.bashrc, bash 4.4 or later
eval "$(_REHYDRATE_COMPLETE=zsh_source rehydrate)"   # ~/.zshrc, after compinit
_REHYDRATE_COMPLETE=fish_source rehydrate | source   # ~/.config/fish/config.fish
```
"""

HOOK_SECTION = """\
## rehydrate hook

```sh
rehydrate hook antigravity
```

What a client runs before every model call. It reads the client's payload from standard input, writes one answer and
exits with status 0, whatever happens. It is never needed by hand; `rehydrate doctor` runs it as the client does. The
registered command starts the same code without going through this one, see [how it works](how-it-works.md#the-hook).

| option | meaning |
|---|---|
| `--as KIND` | How the text reaches the model: `systemMessage` or `ephemeralMessage`. |
"""


def commands_page() -> str:
    """Every command in the order in which people meet them."""
    context = click.Context(rehydrate, info_name="rehydrate")
    parts = [f"{MADE}\n", COMMANDS_HEAD]
    for name in rehydrate.list_commands(context):
        command = rehydrate.get_command(context, name)
        assert command is not None
        parts += _command(command, f"rehydrate {name}", after=_notes(NOTES[name], name))
    parts.append(HOOK_SECTION)
    return "\n".join(parts)


def _command(command: click.Command, called: str, *, after: str) -> Iterator[str]:
    """Heading, usage, help, examples and options (but for `--debug`, which all have), then `after`; the commands below
    it likewise.
    """
    yield f"{'#' * len(called.split())} {called}\n"
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [_argument(each) for each in shown if isinstance(each, click.Argument)]
    options = [each for each in shown if isinstance(each, click.Option) and each.name != "debug"]
    words = [called, *(["[OPTIONS]"] if options else []), *arguments]
    below = command.commands if isinstance(command, click.Group) else {}
    if isinstance(command, click.Group):
        words.append("[COMMAND ...]" if command.invoke_without_command else "COMMAND ...")
    yield f"```text\n{' '.join(words)}\n```\n"
    yield from _help(command.help or "")
    if options:
        yield "| option | meaning |\n|---|---|"
        yield "".join(f"| {_spelt(each)} | {_meaning(each)} |\n" for each in options)
    if after:
        yield after
    for name, each in below.items():
        yield from _command(each, f"{called} {name}", after="")


def _help(text: str) -> Iterator[str]:
    """The paragraphs; a block that is not to be wrapped (`\\b`) is one of examples."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in paragraph.split("\n")]
        if lines[0] != "\b":
            yield escaped(" ".join(lines)) + "\n"
            continue
        examples = [re.sub(r"\s{2,}(?!#)", "  # ", line, count=1) for line in lines[1:] if line]
        if examples[0] in ("Examples:", "Example:"):
            yield "```sh\n" + "\n".join(examples[1:]) + "\n```\n"
        else:
            yield "```text\n" + "\n".join(lines[1:]) + "\n```\n"


def _argument(argument: click.Argument) -> str:
    name = (argument.metavar or argument.name or "").upper().removesuffix("...").strip("[]")
    name = name if argument.required else f"[{name}]"
    return f"{name}..." if argument.nargs != 1 else name


def _spelt(option: click.Option) -> str:
    value = ""
    if not option.is_flag:
        choices = option.type.choices if isinstance(option.type, click.Choice) else ()
        value = " " + (option.metavar or f"[{'|'.join(map(str, choices))}]" if choices or option.metavar else "VALUE")
    return code(", ".join(option.opts) + value)


def _meaning(option: click.Option) -> str:
    default = f" Without it: `{option.default}`." if option.show_default and not option.is_flag else ""
    return escaped(" ".join((option.help or "").split())).replace("|", "\\|") + default


def _notes(notes: Notes, name: str) -> str:
    return f"Exit status 1: {notes.fails}. JSON: [{name}](json.md#{notes.json}).\n"
