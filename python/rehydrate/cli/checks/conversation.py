"""What became of the newest conversations: can they be read, is a state kept, did what was sent arrive?"""

import os
import shlex
import time
from collections.abc import Iterator
from typing import Any

from rehydrate import state
from rehydrate.cli import output
from rehydrate.cli.choose import Chosen
from rehydrate.conversation import Boundary
from rehydrate.scan import iter_records
from rehydrate.serve import serve
from rehydrate.settings import read_settings

from . import logged
from .registration import off
from .subject import Finding, Subject, modified_s

NO_CONVERSATION = "there is no conversation yet"
_LATE_S = 5.0
"""How far two clocks may disagree."""
_PRESSURE = ("", "; half of the usual, as it came soon after another", "; the requests only: it is the third in a row")


def transcript(subject: Subject) -> Iterator[Finding]:
    """The newest conversation's log, read from one end to the other."""
    for chosen in subject.conversations[:1]:
        place = chosen.place
        shown = subject.short(place.origin)
        with subject.module("layout").readable(place) as whole:
            size = os.stat(whole.path).st_size
            rows = iter_records(whole.path, ("type",))
            count = sum(1 for _ in rows)
        if rows.damaged and not count:
            detail = f"{shown}: none of its {rows.damaged:,} lines is a record"
            yield Finding(False, detail, "update rehydrate: this version of the client may write another format")
            return
        told = [f"{size:,} bytes", output.counted(count, "record")]
        if rows.damaged:
            first = rows.damaged_offsets[0]
            told.append(
                f"{output.counted(rows.damaged, 'damaged line')}, the first at byte {first:,}, which are passed over"
            )
        if place.joined:
            told.append("joined from its chunks")
        if place.lossy:
            told.append("only the shortened copy is there, so long texts have a hole")
        yield Finding(True, f"{shown}: {', '.join(told)}")
        return
    yield Finding(True, NO_CONVERSATION)


def keeping(subject: Subject) -> Iterator[Finding]:
    """Whether the hook can remember what it has delivered to the newest conversation."""
    if not subject.module("arrival").REMEMBERED:
        yield from logged.keeping(subject)
        return
    for chosen in subject.conversations[:1]:
        found = state.keeping(subject.spot(chosen))
        hindrances = "; ".join(found.hindrances)
        if found.path is None:
            detail = f"nothing can be remembered, so nothing is put back: {hindrances}"
            fix = (
                "see to it that you may write in one of these folders, that there is room on the disk, "
                "and that a .lock there is a plain file of yours"
            )
            yield Finding(False, detail, fix)
            return
        beside = found.path == subject.spot(chosen).files[0]
        told = "kept beside the transcript" if beside else f"kept in {subject.short(found.path)}"
        if found.is_odd:
            told += "; what lies there now is no state of this conversation and will be kept aside"
        if hindrances:
            told += f"; not beside the transcript: {hindrances}"
        yield Finding(True, told)
        return
    yield Finding(True, NO_CONVERSATION)


def view(subject: Subject) -> Iterator[Finding]:
    """What the model of the newest conversation would see."""
    for chosen in subject.conversations[:1]:
        settings, _ = read_settings(subject.environ)
        begun_s = time.monotonic()
        with subject.module("layout").readable(chosen.place) as place:
            served = serve(subject.client, place, settings=settings, workspaces=chosen.workspaces)
        took_s = time.monotonic() - begun_s
        if not served.conversation.turns:
            yield Finding(True, "the newest conversation holds no message yet")
            return
        boundary, stats = served.boundary, served.rehydration.stats
        told = f"{stats['chars']:,} characters, about {stats['est_tokens']:,} tokens, "
        told += f"in {output.counted(len(served.parts), 'part')}, "
        told += "for a compaction now" if boundary is None else f"for {_compaction(boundary)}"
        if boundary is not None:
            told += _PRESSURE[served.survey.pressure(boundary)]
        too_large = subject.module("rehearsal").too_large(served.parts)
        if too_large is not None:
            yield Finding(False, f"{told}; {too_large[0]}", too_large[1])
            return
        if took_s > settings.deadline_s:
            detail = f"{told}; it took {took_s:.0f} s to put together, and the hook gives up after "
            detail += f"{settings.deadline_s:g} s"
            yield Finding(False, detail, "go on in a new conversation, or on a faster disk: this one gets nothing back")
            return
        if not any(section.items for section in served.rehydration.sections):
            detail = f"{told}; nothing of the conversation is in it, as the settings leave no room for any"
            yield Finding(False, detail, "raise requests_chars and dialogue_chars (`rehydrate config` shows them)")
            return
        yield Finding(True, told)
        return
    yield Finding(True, NO_CONVERSATION)


def delivery(subject: Subject) -> Iterator[Finding]:
    """What the newest conversation that was compacted got back, and whether it arrived."""
    if not subject.module("arrival").REMEMBERED:
        yield from logged.delivery(subject)
        return
    if not subject.conversations:
        yield Finding(True, NO_CONVERSATION)
        return
    if _is_unseen(subject, subject.conversations[0]):
        session = _named(subject.conversations[0])
        detail = f"the client has not run the hook in {session}, though it was registered before"
        fix = "mend what else is wrong here; else start the client again, and update it: old versions run no hooks"
        yield Finding(False, detail, fix)
        return
    for chosen in subject.conversations:
        known = chosen.state
        is_newest = chosen is subject.conversations[0]
        if known is not None and (is_newest or known.last_checkpoint or known.delivery or known.done):
            found = _delivered(subject, chosen, known)
            if found is not None:
                yield found
                return
    yield Finding(True, f"the hook has met no compaction yet{_before_the_hook(subject)}")


def error(subject: Subject) -> Iterator[Finding]:
    """What last went wrong in the hook."""
    if not subject.module("arrival").REMEMBERED:
        yield from logged.error(subject)
        return
    failed = []
    for chosen in subject.conversations:
        told = chosen.state.error if chosen.state is not None else None
        when_s = told.get("time_s") if isinstance(told, dict) else None
        if told and isinstance(when_s, int):
            failed.append((when_s, str(told.get("what")), isinstance(told.get("over_s"), int), chosen))
    if not failed:
        yield Finding(True, "the hook has met no error")
        return
    when_s, what, is_over, chosen = max(failed, key=lambda each: each[0])
    detail = f"{output.when(when_s)}, {_named(chosen)}: {what}"
    if is_over or _kept_s(subject, chosen) > when_s + _LATE_S:
        yield Finding(True, f"{detail}; it has worked since")
        return
    name = shlex.quote(f"{subject.client}:{chosen.place.session}")
    fix = (
        f"run `rehydrate show {name} --debug`: what it shows is to be mended, or reported; when it shows the text, the "
    )
    fix += "fault has passed, and the next delivery clears this"
    yield Finding(False, detail, fix)


def _before_the_hook(subject: Subject) -> str:
    """What to add when the newest conversation was compacted, and the hook has not run in it."""
    chosen = subject.conversations[0]
    if chosen.state is not None:
        return ""
    transcript = subject.module("transcript")
    with subject.module("layout").readable(chosen.place) as place:
        boundary = transcript.survey(place).newest
    return f"; that at step {boundary.step} of {_named(chosen)} came before its first call there" if boundary else ""


def _delivered(subject: Subject, chosen: Chosen, known: state.State) -> Finding | None:
    """The delivery for the newest boundary of a conversation; None when it has none that counts."""
    transcript = subject.module("transcript")
    with subject.module("layout").readable(chosen.place) as place:
        boundary = transcript.survey(place).newest
        if boundary is None:
            return None
        told = f"compaction at step {boundary.step} of {_named(chosen)}"
        sent = known.delivery if known.delivery is not None and known.delivery.id == boundary.id else None
        markers = list(transcript.markers_after(place.path, boundary))
        if markers:
            return _arrived(told, boundary, markers)
        if sent is not None and sent.status == "pending":
            settings, _ = read_settings(subject.environ)
            if abs(time.time() - _kept_s(subject, chosen)) < settings.deadline_s + _LATE_S:
                return Finding(True, f"{told}: the delivery {sent.id} is being made")
            detail = f"{told}: the delivery {sent.id} was begun {_times(sent.tries)} and not confirmed"
            fix = "go on in that conversation, and its next call gets it again; if that fails, see `hook` and `error`"
            return Finding(False, detail, fix)
        cursor = known.cursor[1] if known.cursor is not None else 0
        if sent is not None:
            is_answered = bool(subject.module("arrival").answers_after(place.path, cursor))
            return _without_marker(subject, chosen, f"{told}: the delivery {sent.id} was sent", is_answered=is_answered)
        if known.done is not None and known.done.step == boundary.checkpoint:
            return Finding(True, f"{told}: it is older than the hook's first call there, so nothing was put back")
        answers = subject.module("arrival").answers_after(place.path, boundary.offset)
    if answers > 1:
        fix = "see `hook`, `off` and `error`; if they are well, start the client again"
        return Finding(False, f"{told}: nothing was put back, though {answers} answers followed", fix)
    return Finding(True, f"{told}: it comes with the next call")


def _arrived(told: str, boundary: Boundary, markers: list[Any]) -> Finding:
    """The parts of a delivery that the log holds, and what the host left of them."""
    count = int(markers[0].part.rpartition("/")[2]) if markers[0].part.rpartition("/")[2].isdecimal() else 1
    parts = sorted({number for each in markers if (number := each.part.partition("/")[0]).isdecimal()}, key=int)
    steps = ", ".join(str(each.step) for each in markers)
    told += f": delivery {boundary.id}, parts {_range(parts)} of {count}, markers at steps {steps}"
    if len(markers) == 1:
        told = told.replace("markers at steps", "marker at step")
    if len(parts) < count:
        return Finding(False, f"{told}; the client dropped the others", "update the client, or see `view` for the size")
    if not all(each.is_whole for each in markers):
        fix = "run `rehydrate config set part_bytes 24000`: this version of the client passes less on"
        return Finding(False, f"{told}; the client cut the end of a part off", fix)
    return Finding(True, told)


def _without_marker(subject: Subject, chosen: Chosen, told: str, *, is_answered: bool) -> Finding:
    """A delivery that was sent, and of which the log shows nothing."""
    if not is_answered:
        return Finding(True, f"{told}; the client has not answered since")
    told += ", but its marker never appeared: the client dropped it"
    registration = subject.registration
    if registration is None or modified_s(registration.file) > _kept_s(subject, chosen):
        return Finding(True, f"{told}; the registration was changed since, so the next compaction will tell")
    command = subject.command(registration)
    default, *others = subject.module("contract").MESSAGES
    if command is not None and subject.message(command) == default:
        install = f"rehydrate install {subject.client} --as {others[0]}"
        install += " --project" if registration.file != subject.own_file else ""
        return Finding(False, told, f"mend `hook` if it is not well; else run `{install}`: old versions take only that")
    fix = "mend `hook` if it is not well; else update the client: `rehydrate show --text` shows what it should have got"
    return Finding(False, told, fix)


def _is_unseen(subject: Subject, chosen: Chosen) -> bool:
    """Whether the client answered a request in a conversation, after the hook was registered, without running it."""
    registration = subject.registration
    if chosen.state is not None or registration is None or not all(each.ok for each in off(subject)):
        return False
    if state.keeping(subject.spot(chosen)).path is None:
        return False
    if registration.file != subject.own_file and not _is_for(subject, registration, chosen):
        return False
    since_s = modified_s(registration.file) + _LATE_S
    with subject.module("layout").readable(chosen.place) as place:
        answered: bool = subject.module("arrival").is_answered_since(place.path, since_s)
        return answered


def _is_for(subject: Subject, registration: Any, chosen: Chosen) -> bool:
    """Whether a workspace's registration is one for a conversation."""
    file = os.path.realpath(registration.file)
    return any(file == os.path.realpath(each) for w in subject.workspaces(chosen) for each in subject.files_in(w))


def _kept_s(subject: Subject, chosen: Chosen) -> float:
    """When the state of a conversation was last written."""
    return max(map(modified_s, subject.spot(chosen).files))


def _named(chosen: Chosen) -> str:
    return str(chosen.place.session)


def _compaction(boundary: Boundary) -> str:
    """By its step, or where steps have no numbers by its own."""
    if isinstance(boundary.step, int):
        return f"the compaction at step {boundary.step}"
    return output.boundary_in_words(boundary.step, boundary.checkpoint)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _range(numbers: list[str]) -> str:
    """`1`, `1-3`, or, with gaps, `1, 3`."""
    if len(numbers) > 1 and int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1:
        return f"{numbers[0]}-{numbers[-1]}"
    return ", ".join(numbers)
