"""`rehydrate session`: a session of one's own agent looked at, checked, branched, packed and taken in."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rehydrate import clients
from rehydrate import session as library
from rehydrate.cli import options, output
from rehydrate.cli.choose import WorkedIn
from rehydrate.cli.progress import progress
from rehydrate.cli.session_text import State, as_document, damage_as_rows, damage_in_words, for_people, place_of

if TYPE_CHECKING:
    from rehydrate.session import DamagedLine, Report, Session, View

VIEWS = ("scrollback", "active", "wire", "raw")

_PATH = click.argument("path", type=click.Path())


@click.group(invoke_without_command=True, short_help="Sessions of your own agent: look, check, branch, export, import.")
@options.debug
@click.pass_context
def session(ctx: click.Context) -> None:
    """Look at a session that `rehydrate.session` wrote, check it, branch it, pack it, or take one in.

    PATH is a session's file, <root>/<key>/<id>.jsonl; `show` and `verify` take that of a subagent, too, and all take
    transcripts of Claude Code.

    \b
    Examples:
      rehydrate session show ~/agent/sessions/-srv-work/7d9f0c1e.jsonl
      rehydrate session verify 7d9f0c1e.jsonl
      rehydrate session export 7d9f0c1e.jsonl -o talk.zip
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@session.command(short_help="How a session stands, and its views.")
@_PATH
@click.option(
    "--view",
    "kind",
    type=click.Choice(VIEWS),
    default="scrollback",
    show_default=True,
    help="What a person has seen, what the conversation goes on from, what a provider is sent, or every record.",
)
@click.option("--at", metavar="UUID", help="End the view with this entry, or with the answer that has this message id.")
@options.as_json
@options.debug
def show(path: str, kind: Any, at: str | None, as_json: bool) -> None:
    """Show how a session stands, and one of its views.

    \b
    Examples:
      rehydrate session show 7d9f0c1e.jsonl
      rehydrate session show 7d9f0c1e.jsonl --view wire --json
      rehydrate session show 7d9f0c1e.jsonl --at msg_0184587723
    """
    with progress("reading the session"), taken_for_one(path), library.Session.open(os.path.abspath(path)) as opened:
        view = _view(opened, kind, at).load()
        state = State.of(opened)
    if as_json:
        output.print_json(as_document(state, view, at=at))
    else:
        output.emit(*for_people(state, view))


@session.command(short_help="Check every line of a session and its agents.")
@_PATH
@options.as_json
@options.debug
def verify(path: str, as_json: bool) -> int:
    """Check every line of a session and of its subagents' logs; exit with 1 when something is wrong.

    A line is wrong that is no record, is not finished, or is not what was written; where lines are missing, or the
    entry that one follows was never written, that is said at the line behind it.

    \b
    Examples:
      rehydrate session verify 7d9f0c1e.jsonl
      rehydrate session verify 7d9f0c1e.jsonl --json
    """
    wrong: list[DamagedLine] = []
    records = 0
    with progress("checking every line"), taken_for_one(path):
        files = [os.path.abspath(path), *logs_of_agents(path)]
        for file in files:
            with library.Session.open(file) as opened:
                wrong += opened.verify()
                records += len(opened.log)
    if as_json:
        output.print_json(
            {
                "version": output.VERSION,
                "path": os.path.abspath(path),
                "files": len(files),
                "records": records,
                "damage": damage_as_rows(wrong),
            }
        )
        return 1 if wrong else 0
    found = f"{output.counted(len(wrong), 'line')} of them wrong" if wrong else "nothing is wrong"
    checked = f"{output.counted(records, 'record')} in {output.counted(len(files), 'file')}, {found}"
    output.emit(*map(damage_in_words, wrong), output.heading(checked))
    return 1 if wrong else 0


@session.command(short_help="Pack a session into one archive.")
@_PATH
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="The archive to make; without it: <id>.zip here.",
)
@options.as_json
@options.debug
def export(path: str, target: str | None, as_json: bool) -> None:
    """Pack a session with its agents into one archive, which `rehydrate session import` and everybody can open.

    \b
    Examples:
      rehydrate session export 7d9f0c1e.jsonl
      rehydrate session export 7d9f0c1e.jsonl -o ~/talk.zip
    """
    name = os.path.basename(path).removesuffix(".jsonl")
    with progress("packing the session"), taken_for_one(path):
        report = library.export(path, f"{name}.zip" if target is None else target)
    _tell(report, "packed into", as_json=as_json)


@session.command(name="import", short_help="Take in an archive, or a transcript.")
@click.argument("file", type=click.Path())
@click.option("--root", metavar="FOLDER", required=True, type=click.Path(), help="The folder of your sessions.")
@click.option(
    "--cwd", metavar="FOLDER", type=click.Path(), help="The working folder to put it under; without it: its own."
)
@options.as_json
@options.debug
def take_in(file: str, root: str, cwd: str | None, as_json: bool) -> None:
    """Take in a session: an archive, or a transcript of ours, of Claude Code or of Antigravity.

    It keeps its id; where there is one of that id already, nothing is done.  A transcript of Antigravity is the file
    transcript_full.jsonl where the client has it.

    \b
    Examples:
      rehydrate session import talk.zip --root ~/agent/sessions
      rehydrate session import transcript_full.jsonl --root ~/agent/sessions --cwd ~/work
    """
    cwd = None if cwd is None else os.path.abspath(cwd)
    with progress("taking in the session"):
        place = _antigravity(file)
        if place is None:
            report = library.import_session(file, root=root, cwd=cwd)
        else:
            report = _converted(place, root=root, cwd=cwd)
    _tell(report, "taken in as", as_json=as_json)


@session.command(short_help="A new session that goes up to an entry.")
@_PATH
@click.option("--at", metavar="UUID", help="The last entry of the branch, or the message id of an answer.")
@options.as_json
@options.debug
def branch(path: str, at: str | None, as_json: bool) -> None:
    """Write a new session beside this one, which goes up to an entry; without --at to the end of the conversation.

    \b
    Examples:
      rehydrate session branch 7d9f0c1e.jsonl --at 0b6dce0a-5d0f-4d3a-9a4e-2f6f2b1d7c11
    """
    with progress("copying the session"), taken_for_one(path), library.Session.open(path) as opened:
        place = library.branch(opened, at=at)
        source = opened.id
    if as_json:
        told = {"version": output.VERSION, "session": place.session_id, "path": place.path}
        output.print_json({**told, "forked_from": {"session": source, "at": at}})
    else:
        click.echo(output.short(place.path, os.environ))


@contextmanager
def taken_for_one(path: str) -> Iterator[None]:
    """Says of what is no session, but can become one, how."""
    try:
        yield
    except library.NotASession as error:
        what = "an archive" if os.path.isfile(path) and zipfile.is_zipfile(path) else ""
        what = what or ("a transcript of Antigravity" if _antigravity(path) is not None else "")
        if not what:
            raise
        why = f"{path} is {what}: take it in first, with `rehydrate session import`"
        raise library.NotASession(why, path=path) from error


def _view(opened: "Session", kind: Any, at: str | None) -> "View":
    """Of a subagent that is a fork, a provider is sent first what it shares with the conversation."""
    if kind == "wire" and at is None and opened.agent_id is not None:
        place = place_of(f"{os.path.dirname(os.path.dirname(opened.path))}.jsonl")
        if place is not None and place.agent_path(opened.agent_id) == opened.path:
            return library.agent_wire(place, opened.agent_id)
    return opened.view(kind, at=at)


def logs_of_agents(path: str) -> list[str]:
    """The logs of a session's subagents; none of a subagent's, or of a file that is no session's."""
    place = place_of(path)
    return [] if place is None else [place.agent_path(each) for each in library.agents_of(place)]


def _antigravity(file: str) -> Any:
    """The place of an Antigravity transcript; None for anything else."""
    layout = clients.module("antigravity", "layout")
    place = layout.place_of(file)
    return place if place is not None and layout.recognises(place) else None


def _converted(place: Any, *, root: str, cwd: str | None) -> "Report":
    if cwd is None:
        known = [each for each in WorkedIn()("antigravity", place) if os.path.isabs(each)]
        if not known:
            raise click.ClickException("it is not known where the conversation was at work; say so with --cwd")
        cwd = known[-1]
    conversion = clients.module("antigravity", "conversion")
    return library.import_records(conversion.entries(place), root=root, cwd=cwd, session_id=place.session)


def _tell(report: "Report", done: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(
            {
                "version": output.VERSION,
                "session": report.session_id,
                "path": report.path,
                "files": report.files,
                "lines": report.lines,
                "damaged": report.damage.count,
                "damage": damage_as_rows(report.damage.first),
                "left_out": list(report.left_out),
            }
        )
        return
    what = f"{output.counted(report.files, 'file')}, {output.counted(report.lines, 'line')}"
    click.echo(f"{what}, {done} {output.short(report.path, os.environ)}")
    output.warn(f"{each}; it came along as it is" for each in report.damage.first)
    more = report.damage.count - len(report.damage.first)
    if more:
        output.warn([f"{output.counted(more, 'more line')} are damaged; they came along as they are"])
    output.warn(f"{each} is none of the session's files and was left out" for each in report.left_out)
