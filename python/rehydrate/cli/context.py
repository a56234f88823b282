"""`rehydrate context`: what of a log a model is sent, and the checkpoints in it, looked at and checked.

The library is imported by the commands themselves: its name alone is wanted for a list of all commands.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rehydrate.cli import options, output
from rehydrate.cli.choose import own
from rehydrate.cli.complete import complete_own
from rehydrate.cli.context_text import diff_for_people, explained_for_people, found_for_people, restored_for_people
from rehydrate.cli.progress import progress
from rehydrate.cli.session import logs_of_agents, taken_for_one

if TYPE_CHECKING:
    from rehydrate.context.look import Look
    from rehydrate.context.messages import Message
    from rehydrate.context.verifying import Finding

FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini")
"""Those of `rehydrate.context.FORMATS`."""

Command = TypeVar("Command", bound=Callable[..., object])


def _log(command: Command) -> Command:
    return click.argument("log", shell_complete=complete_own)(command)


def _format(command: Command) -> Command:
    return click.option(
        "--format",
        "format",
        type=click.Choice(FORMATS),
        help="Of the messages; without it: that of the last request.",
    )(command)


@click.group(invoke_without_command=True, short_help="What of your agent's log a model is sent: explain, verify.")
@options.debug
@click.pass_context
def context(ctx: click.Context) -> None:
    """Look at what of a log a model is sent, where `rehydrate.context` decides that, and check its checkpoints.

    LOG is a session's file, or the id of a session or the beginning of one below the folders that the setting
    session_roots names. Nothing is ever written.

    \b
    Examples:
      rehydrate context explain 7d9f0c1e --window 200000
      rehydrate context verify ~/agent/sessions/-srv-work/7d9f0c1e.jsonl
      rehydrate context restore 7d9f0c1e --format openai-chat --json
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@context.command(short_help="What the next request would hold, and which line comes next.")
@_log
@click.option(
    "--window",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Of the model; without it: the one that the last compaction was made for.",
)
@click.option(
    "--reserve",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="What the policy keeps for the answer; without it: 10 % of the window, between 8,192 and 32,768.",
)
@click.option(
    "--handoff",
    type=click.IntRange(1, 99),
    default=70,
    show_default=True,
    metavar="PERCENT",
    help="At which the policy has the model told that a compaction is near.",
)
@click.option(
    "--compaction",
    type=click.IntRange(2, 100),
    default=80,
    show_default=True,
    metavar="PERCENT",
    help="At which it compacts.",
)
@click.option("--model", metavar="NAME", help="A count by the provider holds for one; without it: the last one.")
@_format
@options.as_json
@options.debug
def explain(
    log: str,
    window: int | None,
    reserve: int | None,
    handoff: int,
    compaction: int,
    model: str | None,
    format: str | None,
    as_json: bool,
) -> None:
    """Show what the next request would hold, what holds the space, and which line comes next.

    The lines are percentages of the window less the reserve; the log does not hold which ones the policy has. Nor does
    it hold the system prompt and the tools: they count as in the last request, where the provider has counted that.

    \b
    Examples:
      rehydrate context explain 7d9f0c1e --window 200000
      rehydrate context explain 7d9f0c1e --json
    """
    from rehydrate.context import Policy
    from rehydrate.context.explain import explain as explained
    from rehydrate.context.look import Look
    from rehydrate.context.validate import violations

    try:
        policy = Policy(reserve=reserve, handoff_percent=handoff, compaction_percent=compaction)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with progress("reading the log"), _read(log) as path:
        look = Look.at(path, window=window, policy=policy, model=model, format=format)
        found = explained(look.scene, meter=look.meter, window=look.window, breaker=look.breaker)
        if "system" in found["holders"]:  # they are known together
            holders = [("system and tools" if what == "system" else what, n) for what, n in found["holders"].items()]
            found["holders"] = dict(holders)
        wrong = violations(_sent(look), format=look.format)
        found |= {"violations": [{"code": each.code, "text": each.text} for each in wrong if look.scene.messages]}
    known = {"session": look.restored.session_id, "path": path, "format": look.format, "model": look.model}
    counter = look.meter.counter
    document = {"version": output.VERSION, **known, "counter": {"name": counter.name, "exact": counter.is_exact}}
    document |= found
    if as_json:
        output.print_json(document)
    else:
        output.emit(*explained_for_people(document))


@context.command(short_help="Check every line, every checkpoint, and what a model is sent.")
@_log
@options.as_json
@options.debug
def verify(log: str, as_json: bool) -> int:
    """Check every line of a log and of its subagents' logs, every checkpoint and every projection; exit with 1 when
    something is wrong.

    A checkpoint is held against the entries that it says it covers: their range, and the digest of what they say. What
    a model is sent is checked as each provider would, before and behind every checkpoint and at the end.

    \b
    Examples:
      rehydrate context verify 7d9f0c1e
      rehydrate context verify 7d9f0c1e.jsonl --json
    """
    from rehydrate.context import verify as look_through

    with progress("checking every line"), _read(log) as path:
        found = [look_through(file) for file in (path, *logs_of_agents(path))]
    findings = [(each.path, finding) for each in found for finding in each.findings]
    counts = {
        "files": len(found),
        "records": sum(each.records for each in found),
        "checkpoints": sum(each.checkpoints for each in found),
        "projections": sum(each.projections for each in found),
    }
    unproven = [(each.path, uuid) for each in found for uuid in each.unproven]
    if as_json:
        rows = [_as_row(*each) for each in findings]
        left = [{"path": path, "boundary": uuid} for path, uuid in unproven]
        told = {"version": output.VERSION, "path": path, **counts}
        output.print_json({**told, "findings": rows, "unproven": left})
    else:
        output.emit(*found_for_people(findings, counts, unproven))
    return 1 if findings else 0


@context.command(short_help="What a model is sent after a restart.")
@_log
@click.option("--at", metavar="UUID", help="End with this entry, or with the answer that has this message id.")
@_format
@options.as_json
@options.debug
def restore(log: str, at: str | None, format: str | None, as_json: bool) -> None:
    """Show what a model is sent after a restart: the newest sound checkpoint, and what was said after it.

    With --json the messages are in the format of a provider.

    \b
    Examples:
      rehydrate context restore 7d9f0c1e
      rehydrate context restore 7d9f0c1e --format openai-chat --json
      rehydrate context restore 7d9f0c1e --at msg_0184587723 --json
    """
    from rehydrate.context.look import Look

    with progress("reading the log"), _read(log) as path:
        look = Look.at(path, format=format, at=at)
        restored = look.restored
        sent = _sent(look)
    document = {
        "version": output.VERSION,
        "session": restored.session_id,
        "path": path,
        "at": at,
        "format": look.format,
        "tip": restored.tip,
        "boundary": restored.boundary,
        "checkpoint": restored.checkpoint and _without_messages(restored.checkpoint),
        "entries": len(restored.entries),
        "repaired": [{"code": each.code, "text": each.text} for each in look.scene.work.repaired],
        "bad": [{"boundary": boundary, "what": what} for boundary, what in restored.bad],
        "damaged": restored.damaged,
        "damage": [{"path": each.path, "offset": each.offset, "what": str(each)} for each in restored.damage],
        "messages": sent,
    }
    if as_json:
        output.print_json(document)
    else:
        output.emit(*restored_for_people(document, look.scene.messages))


@context.command(short_help="What the one's view has that the other's has not.")
@click.argument("a", shell_complete=complete_own)
@click.argument("b", required=False, shell_complete=complete_own)
@click.option(
    "--at",
    "points",
    metavar="UUID",
    multiple=True,
    help="End A with this entry, or the answer with this message id; given twice, B with the second.",
)
@options.as_json
@options.debug
def diff(a: str, b: str | None, points: tuple[str, ...], as_json: bool) -> None:
    """Show which messages a model is sent of A and not of B, and the other way round.

    A and B are logs as for the other commands; without B the log A is held against itself, between two entries or
    between one and its end.

    \b
    Examples:
      rehydrate context diff 7d9f0c1e 0b6dce0a
      rehydrate context diff 7d9f0c1e --at msg_0184587723
      rehydrate context diff 7d9f0c1e --at msg_0184587723 --at msg_0184587801 --json
    """
    from rehydrate.context.look import Look

    if len(points) > 2 or (b is None and not points):
        raise click.UsageError("name two logs, or one with --at once or twice")
    ends = [*points, None, None]
    with progress("reading the logs"):
        looks = []
        for named, at in ((a, ends[0]), (a if b is None else b, ends[1])):
            with _read(named) as path:
                looks.append(Look.at(path, at=at))
    one, other = ([_alone(message) for message in look.scene.messages] for look in looks)
    only = {"only_a": _lacking(one, other), "only_b": _lacking(other, one)}
    sides = {name: _side(look) for name, look in zip("ab", looks, strict=True)}
    common = len(one) - len(only["only_a"])
    document = {"version": output.VERSION, **sides, "same": one == other, "common": common, **only}
    if as_json:
        output.print_json(document)
    else:
        output.emit(*diff_for_people(document))


@contextmanager
def _read(log: str) -> Iterator[str]:
    """The path of a log, which is there."""
    path = own(log, environ=os.environ)
    with taken_for_one(path):
        os.stat(path)  # what is not there yet holds nothing for the library
        yield path


def _sent(look: "Look") -> list[dict[str, Any]]:
    """The messages in the format."""
    from rehydrate.context import FORMATS as formats

    return formats[look.format].write(look.scene.messages)


def _as_row(path: str, finding: "Finding") -> dict[str, Any]:
    line = finding.line
    place = {"line": line and line.line, "offset": line and line.offset}
    return {"path": path, "code": finding.code, "what": finding.text, "boundary": finding.boundary, **place}


def _without_messages(checkpoint: Any) -> dict[str, Any]:
    """What is told of a checkpoint; its messages are among those that are sent."""
    told = asdict(checkpoint)
    return {name: told[name] for name in told if name != "messages"}


def _side(look: "Look") -> dict[str, Any]:
    restored = look.restored
    return {
        "session": restored.session_id,
        "path": look.path,
        "tip": restored.tip,
        "boundary": restored.boundary,
        "checkpoint": restored.checkpoint and restored.checkpoint.id,
        "messages": len(look.scene.messages),
        "tokens": look.meter.messages(look.scene.messages),
    }


def _alone(message: "Message") -> "Message":
    """A message as it is sent: without our mark."""
    return {name: value for name, value in message.items() if name != "rehydrate"}


def _lacking(these: "Sequence[Message]", others: "Sequence[Message]") -> list[dict[str, Any]]:
    """The messages that the others have not, or not so often, each with its place."""
    known = Counter(map(_spelt, others))
    lacking = []
    for place, message in enumerate(these):
        known[key := _spelt(message)] -= 1
        if known[key] < 0:
            lacking.append({"place": place, "message": message})
    return lacking


def _spelt(message: Mapping[str, Any]) -> str:
    return json.dumps(message, sort_keys=True)
