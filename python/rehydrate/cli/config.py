"""`rehydrate config`: what holds for every setting and why, and the user's file of them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from rehydrate import hostfile, settingsfile
from rehydrate.cli import options, output
from rehydrate.paths import settings_file
from rehydrate.settings import KEYS, Value, from_words, is_list, judge, look_up, nearest, variable


def _key(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value in KEYS:
        return value
    near = nearest(value, KEYS)
    known = f"did you mean {near}?" if near else f"there are: {', '.join(KEYS)}"
    raise click.BadParameter(output.one_line(f"there is no setting {value!r}; {known}"), ctx, param)


def _complete_key(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    return [key for key in KEYS if key.startswith(begun)]


_KEY = click.argument("key", callback=_key, shell_complete=_complete_key)


@click.group(invoke_without_command=True, short_help="The settings: what holds, where it comes from; change them.")
@options.as_json
@options.debug
@click.pass_context
def config(ctx: click.Context, as_json: bool) -> None:
    """Show every setting, its value in force, and where that comes from.

    A variable of the environment stands above the file, the file above the default.

    \b
    Examples:
      rehydrate config
      rehydrate config get files_chars
      rehydrate config set deny '*.sql' ~/work/customers
    """
    if ctx.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError("--json goes with `rehydrate config` alone", ctx)
        return
    held, problems = look_up(os.environ)
    file = settings_file(os.environ)
    if as_json:
        rows = [
            {"key": key, "value": each.value, "source": each.source, "variable": variable(key)}
            for key, each in held.items()
        ]
        found = file is not None and os.path.lexists(file)
        document = {"version": output.VERSION, "file": file, "exists": found, "settings": rows, "problems": problems}
        output.print_json(document)
        return
    table = output.table("setting", "value", "from")
    for key, each in held.items():
        table.add_row(key, ", ".join(_words(each.value)), each.source)
    output.emit(table, "", _whereabouts(file))
    output.warn(problems)


@config.command()
@_KEY
@options.debug
def get(key: str) -> None:
    """Print the value of KEY that is in force; of a list one entry a line.

    \b
    Examples:
      rehydrate config get part_bytes
      rehydrate config get deny
    """
    held, problems = look_up(os.environ)
    value = held[key].value
    for each in value if isinstance(value, tuple) else _words(value):
        click.echo(output.one_line(each))
    output.warn(problems)


@config.command(name="set")
@_KEY
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@options.debug
@click.pass_context
def set_value(ctx: click.Context, key: str, values: tuple[str, ...]) -> None:
    """Write VALUE for KEY into the user's file; for a list all its entries, or none to empty it.

    Everything else in the file stays as it is, comments included.

    \b
    Examples:
      rehydrate config set files_chars 30000
      rehydrate config set extra_roots ~/notes ~/work/shared
      rehydrate config set clients.antigravity.enabled false
    """
    if len(values) != 1 and not is_list(key):
        raise click.BadArgumentUsage(f"{key} takes one value, not {len(values) or 'none'}", ctx)
    wanted = from_words(key, values)
    _, wrong = judge(key, wanted, os.environ)
    if wrong:
        raise click.BadArgumentUsage(output.one_line(f"{key} {'; '.join(wrong)}"), ctx)
    click.echo(f"{key} is set in {output.short(store(key, wanted), os.environ)}")
    held, _ = look_up(os.environ)
    if held[key].source == variable(key):
        click.echo(f"Note: {held[key].source} in the environment stands above the file and goes on to hold", err=True)


def store(key: str, value: object) -> str:
    """Write a value that was judged into the user's file, and give the path of that; ClickException with a sentence."""
    file = settings_file(os.environ)
    if file is None:
        raise click.ClickException("no home folder is known, so there is no place for the file; set HOME")
    try:
        with _alone_in(os.path.dirname(file)):
            _write(file, key, value)
    except OSError as error:
        why = f"{output.short(file, os.environ)} cannot be written ({error.strerror or error})"
        raise click.ClickException(f"{why}; nothing was changed") from error
    return file


@config.command()
@options.debug
def path() -> None:
    """Print the path of the user's file, whether or not it exists.

    \b
    Example:
      ${EDITOR:-vi} "$(rehydrate config path)"
    """
    file = settings_file(os.environ)
    if file is None:
        raise click.ClickException("no home folder is known, so there is no place for the file; set HOME")
    click.echo(output.one_line(file))


def _words(value: Value) -> list[str]:
    if isinstance(value, tuple):
        return [output.short(each, os.environ) for each in value] or ["none"]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _whereabouts(file: str | None) -> str:
    if file is None:
        return "There is no home folder, so there is no file."
    shown = output.short(file, os.environ)
    return f"The file: {shown}" if os.path.lexists(file) else f"The file, which does not exist yet: {shown}"


@contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Let one process at a time change the file: of two that read it before either writes, one would undo the other."""
    os.makedirs(folder, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems know no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _write(file: str, key: str, value: object) -> None:
    """Put the value into the file and change nothing else; ValueError with a sentence when that cannot be done."""
    text = settingsfile.read(file) or ""
    before = hostfile.read(file)
    wanted = _with(settingsfile.parse(text, file) if text else {}, key.split("."), value)
    # What is added behind a last line without an end may go on in it, or in its comment.
    made = (_changed(text + end, key, value) for end in ("", "\r\n" if "\r\n" in text else "\n"))
    after = next((each for each in made if each is not None and _parsed(each, file) == wanted), None)
    if after is None:
        raise ValueError(f"{output.short(file, os.environ)} cannot be changed safely; write {key} into it by hand")
    mark = b"\xef\xbb\xbf" if before and before.startswith(b"\xef\xbb\xbf") else b""
    data = mark + after.encode()
    if len(data) > settingsfile.SIZE_MAX:
        most = f"{settingsfile.SIZE_MAX // 1024} KiB"
        raise ValueError(
            f"{output.short(file, os.environ)} would be larger than {most} and not be read; say less in it"
        )
    plan = hostfile.Plan("", file, "updated", before=before, after=data, backs_up=False)
    hostfile.carry_out(plan, os.environ)


def _parsed(text: str, file: str) -> dict[str, Any] | None:
    """The table that a text of our own making is; None when it is none."""
    try:
        return settingsfile.parse(text, file)
    except settingsfile.Unusable:
        return None


def _changed(text: str, key: str, value: object) -> str | None:
    """The text with the value in it; None when it has no place there."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *above, last = key.split(".")
    try:
        document = tomlkit.parse(text)
        table: Any = document
        for depth, name in enumerate(above, 1):
            if name not in table:
                table[name] = tomlkit.table(is_super_table=depth < len(above))
            table = table[name]
        if isinstance(value, list):
            value = _listed(table.get(last), value)
        table[last] = value
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _listed(before: Any, entries: Sequence[str]) -> Any:
    """The entries as a list of the file; where one is there it is changed, for the sake of the comments in it."""
    import tomlkit

    if isinstance(before, tomlkit.items.Array):
        for at in reversed(range(len(before))):
            if before[at] not in entries:
                del before[at]
        for each in entries:
            if each not in before:
                before.append(each)
        if list(before) == list(entries):
            return before
    made = tomlkit.array()
    made.extend(entries)
    return made.multiline(len(entries) > 1)


def _with(table: dict[str, Any], name: Sequence[str], value: object) -> dict[str, Any]:
    """The table with the value under the name, all else as it is."""
    first, *rest = name
    within = table.get(first)
    return {**table, first: _with(within if isinstance(within, dict) else {}, rest, value) if rest else value}
