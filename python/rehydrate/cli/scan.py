"""`rehydrate scan`: the records of a transcript, whether they have numbered steps or uuids."""

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

import click

from rehydrate import scan as scanner
from rehydrate.cli import options, output
from rehydrate.cli.complete import complete_types
from rehydrate.cli.progress import progress

_BATCH = 1_000
_FIRST_RECORDS = 64
"""In so many a transcript without steps shows that its records have uuids."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A record that has a uuid in the place of a step."""

    index: str | None
    type: str | None
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class _Mark:
    """A boundary that has a uuid in the place of a step."""

    step: str | None
    offset: int
    length: int


def _types(ctx: click.Context, param: click.Parameter, value: str | None) -> set[str] | None:
    if value is None:
        return None
    names = {name.strip() for name in value.split(",")} - {""}
    if not names:
        raise click.BadParameter("give at least one type", ctx, param)
    return names


def _steps(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int | None, int | None] | None:
    """(first, last), both included; None where the range is open."""
    if value is None:
        return None
    first, dots, last = value.partition("..")
    try:
        low = int(first) if first or not dots else None
        high = (int(last) if last else None) if dots else low
        if low is not None and high is not None and low > high:
            raise ValueError
    except ValueError:
        message = f"{value!r} is not a range such as 10..20, 10.., ..20 or 10"
        raise click.BadParameter(message, ctx, param) from None
    return low, high


def _cursor(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int, str] | None:
    """What `--tail` printed as the cursor."""
    if value is None:
        return None
    try:
        version, offset, crc = json.loads(value)
        if version == 1 and type(offset) is int and offset >= 0 and re.fullmatch(r"[0-9a-f]{8}", crc):
            return 1, offset, crc
    except (ValueError, TypeError, RecursionError):
        pass
    raise click.BadParameter('it must look like [1,2048,"0a1b2c3d"], as --tail prints it', ctx, param)


@click.command(short_help="The records of a transcript, or where it ends.")
@click.argument("file", type=click.Path())
@click.option(
    "--types", metavar="A,B", callback=_types, shell_complete=complete_types, help="Only records of these types."
)
@click.option(
    "--steps",
    metavar="A..B",
    callback=_steps,
    help="Only steps in this range, both ends included; either may be left out.",
)
@click.option("--cursor", metavar="CURSOR", callback=_cursor, help="Start after this cursor (as --tail prints it).")
@click.option("--tail", is_flag=True, help="Where the file ends now and which compactions it holds.")
@options.as_json
@options.debug
def scan(file: str, types: Any, steps: Any, cursor: Any, tail: bool, as_json: bool) -> None:
    """List the records of FILE, or with --tail its boundaries and a cursor for the next read.

    Where records have no steps but uuids, as those of Claude Code, these are told in their place.

    \b
    Examples:
      rehydrate scan transcript_full.jsonl --types USER_INPUT,CHECKPOINT
      rehydrate scan transcript_full.jsonl --steps 10..20 --json
      rehydrate scan transcript_full.jsonl --tail
    """
    if tail and (types or steps):
        raise click.UsageError("--tail looks at every record: leave --types and --steps out")
    if tail:
        with progress("reading the file"):
            told = scanner.scan_tail(file, cursor)
            told = _with_uuids(file, told, cursor) if _has_uuids(file) else told
        _tell_tail(told, as_json=as_json, begun_at=cursor)
        return
    records: Any
    if steps is None and _has_uuids(file):
        wanted = {"type": types} if types else None
        records = scanner.iter_records(file, ("uuid", "type"), where=wanted, cursor=cursor)
        listed: Iterable[Any] = (_Row(_text(uuid), _text(kind), *place) for uuid, kind, *place in records)
    else:
        listed = records = scanner.iter_steps(file, types=types, steps=steps, cursor=cursor)
    with _progress(file) as advance:
        lines = (_as_json if as_json else _as_text)(_followed(listed, advance))
        count = 0
        while batch := list(islice(lines, _BATCH)):
            click.echo("\n".join(batch))
            count += len(batch)
    if not as_json and count == 1:  # the headings
        click.echo("no record is listed: there is none, or none that fits what was asked for", err=True)
    if not as_json and records.damaged:
        where = ", ".join(map(str, records.damaged_offsets))
        click.echo(f"{records.damaged} damaged lines were passed over, at offsets {where}", err=True)


def _progress(file: str) -> AbstractContextManager[Callable[[int], None]]:
    """Nothing but where the list goes into a file: else it, or what reads it from a pipe, is seen on the terminal."""
    try:
        into_file = stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):  # there is no standard output
        into_file = False
    return progress("reading the file", total=os.path.getsize(file)) if into_file else nullcontext(lambda _: None)


def _has_uuids(file: str) -> bool:
    """Whether it is a transcript whose records have no steps but uuids."""
    seen = scanner.probe(file)
    if seen.first_step is not None or seen.last_step is not None:
        return False
    return any(_text(uuid) for uuid, _, _ in islice(scanner.iter_records(file, ("uuid",)), _FIRST_RECORDS))


def _with_uuids(file: str, tail: scanner.Tail, cursor: tuple[int, int, str] | None) -> Any:
    """The same with the boundaries of such a transcript, and the last entry of the file."""
    boundaries: list[_Mark] = []
    last = None
    for uuid, kind, subtype, *place in scanner.iter_records(file, ("uuid", "type", "subtype"), cursor=cursor):
        last = _text(uuid) or last
        if (kind, subtype) == ("system", "compact_boundary"):
            boundaries.append(_Mark(_text(uuid), *place))
    told: Any = tail
    return told._replace(boundaries=boundaries, last_step=last)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _followed(records: Iterable[Any], advance: Callable[[int], None]) -> Iterator[Any]:
    for each in records:
        yield each
        advance(each.offset + each.length)


def _as_json(records: Any) -> Iterator[str]:
    for each in records:
        yield output.as_json({"step": each.index, "type": each.type, "offset": each.offset, "length": each.length})


def _as_text(records: Any) -> Iterator[str]:
    yield f"{'offset':>12} {'length':>10} {'step':>8}  type"
    for each in records:
        step = "-" if each.index is None else each.index
        step = output.one_line(step[:8]) if isinstance(step, str) else step
        yield f"{each.offset:>12} {each.length:>10} {step:>8}  {output.one_line(each.type or '-')}"


def _tell_tail(tail: Any, *, as_json: bool, begun_at: tuple[int, int, str] | None) -> None:
    boundaries = [{"step": each.step, "offset": each.offset, "length": each.length} for each in tail.boundaries]
    if as_json:
        told = {"cursor": tail.cursor, "boundaries": boundaries, "last_step": tail.last_step, "lines": tail.lines}
        click.echo(output.as_json({**told, "damaged": tail.damaged, "restarted": tail.restarted}))
        return
    cursor = json.dumps(tail.cursor, separators=(",", ":"))
    last = tail.last_step if isinstance(tail.last_step, int) else tail.last_step and output.one_line(tail.last_step)
    rows = [("lines", tail.lines), ("last step", last), ("damaged lines", tail.damaged)]
    rows.append(("cursor", cursor))
    if begun_at is not None:
        rows.append(("given cursor", "did not fit: read from the start" if tail.restarted else "fitted"))
    click.echo("\n".join(f"{name:<20} {'-' if value is None else value}" for name, value in rows))
    for each in boundaries:
        step = "no step" if each["step"] is None else output.step_in_words(each["step"])
        click.echo(f"boundary at {step}, offset {each['offset']}, {each['length']} bytes")
