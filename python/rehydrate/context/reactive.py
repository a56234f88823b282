"""What is done about a request that its provider has refused: once, and durably, before it is sent again.

One that is too large is pruned further than usual and compacted, with one commit; where it cannot be compacted, the
prunes are committed alone.  Of images that are too large or too many the largest are left out, and so are thoughts that
the provider does not take for its own.  Nothing is done where something of an answer has come already, for then the
request was taken, nor a second time before there was an answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from . import records
from .assembling import assemble
from .compactor import Compactor, Outcome, anew, committing
from .errors import BadCheckpoint, CommitFailed, CompactionBlocked, Refused, Superseded
from .explain import pinned_messages
from .messages import Message
from .omitting import Omitting, canonical, digest_of, media_in, without_thoughts
from .projection import Projection, Request
from .prune import prune
from .refusals import Kind, Refusal
from .results import Replacement
from .scene import Scene, Stage
from .state import State
from .summariser import is_stop
from .validate import violations
from .wire import FORMATS

_SAYING = ("content", "output", "choices", "candidates", "message", "delta", "parts")
"""Members of a response, or of a part of one, that hold what was said."""
_BESIDE = ("usage", "usageMetadata", "reasoning", "reasoning_content", "refusal", "thinking")
"""What else in them a provider has given."""
_ENVELOPE = frozenset(
    {
        *("id", "object", "type", "role", "model", "created", "created_at", "index", "status", "error", "metadata"),
        *("stop_reason", "stop_sequence", "finish_reason", "finishReason", "service_tier", "system_fingerprint"),
        *("responseId", "modelVersion"),
    }
)
"""Members that say nothing of an answer: they are there before it begins."""


def is_delivered(partial: object) -> bool:
    """Whether anything of an answer has come: a text, a thought, a call, or a count that is not 0.

    `partial`: a text, messages, a response as far as it has come, a usage; None: nothing.  What is of no known form
    counts as something.
    """
    if partial is None or isinstance(partial, bool):
        return False
    if isinstance(partial, int | float | str | bytes):
        return bool(partial)
    if isinstance(partial, Mapping):
        names = [name for name in (*_SAYING, *_BESIDE) if name in partial]
        if not any(name in partial for name in _SAYING):
            names = [name for name in partial if name not in _ENVELOPE]
        return bool(partial.get("tool_calls")) or any(is_delivered(partial[name]) for name in names)
    return any(map(is_delivered, partial)) if isinstance(partial, Sequence) else True


def refused(error: BaseException | Mapping[str, object] | str) -> BaseException:
    """The error as something to raise."""
    return error if isinstance(error, BaseException) else Refused(f"the provider has refused the request: {error}")


class Reactive:
    """Does for one engine what can be done, in a turn of that."""

    def __init__(
        self,
        *,
        stage: Stage,
        compactor: Compactor,
        follow: Callable[[], State],
        note: Callable[..., None],
    ) -> None:
        """`follow`: gives what the log holds now.  `note`: appends records, which are on disk then."""
        self._stage = stage
        self._compactor = compactor
        self._follow = follow
        self._note = note

    def relieve(self, request: Request, refusal: Refusal) -> Outcome | None:
        """Do something about a refusal of the next request, and tell how the compaction went, where that was one; None
        where nothing can be done.

        Raises CommitFailed, CompactionBlocked, Superseded, and what stopped a compaction where nothing else could help.
        """
        state = self._follow()
        scene = self._stage.scene(state, request)
        if state.refusal is not None or not scene.work.messages:
            return None
        if refusal.kind == "malformed":
            has_thoughts = any(without_thoughts(each) is not each for each in scene.work.messages)
            is_apt = has_thoughts and not refusal.lacks_thoughts
            return Outcome() if is_apt and self._omit(scene, "malformed", thoughts=True) else None
        is_media = refusal.kind == "media" or (refusal.kind == "context" and _is_of_media(refusal, scene))
        if is_media and self._omit(scene, "media", digests=_suspects(scene)):
            return Outcome()
        return self._shrink(request, refusal) if refusal.kind == "context" else None

    def _omit(self, scene: Scene, kind: Kind, *, digests: Sequence[str] = (), thoughts: bool = False) -> bool:
        """Leave something out from now on, where what is left is smaller and valid."""
        after = scene.state.last
        record = records.omitted(digests, thoughts=thoughts, after=after)
        left = [*_left(scene.state, record), *scene.request.control]
        format, meter = scene.request.format, self._stage.meter
        if meter.messages(left) >= meter.messages(scene.messages):
            return False
        if violations(FORMATS[format].write(left), format=format):
            return False
        with committing("prune", "what was left out"):
            self._note([record, records.refusal(kind, after=after)])
        return True

    def _shrink(self, request: Request, refusal: Refusal) -> Outcome | None:
        stage, compactor = self._stage, self._compactor
        window = _window(refusal, stage, self._stage.scene(self._follow(), request))
        if window is not None:
            stage = Stage(window=window, meter=stage.plain, policy=stage.policy)
            compactor = compactor.within(stage)
        # what another process has compacted meanwhile may not be enough
        return anew(lambda: self._compact(stage, compactor, request))

    def _compact(self, stage: Stage, compactor: Compactor, request: Request) -> Outcome | None:
        scene = stage.scene(self._follow(), request).spoken()
        prunes = self._prunes(scene)
        outcome = Outcome()
        try:
            outcome = compactor.compact(scene, reason="context_limit", prunes=prunes)
        except (CompactionBlocked, Superseded):
            raise
        except Exception as error:  # whatever it is, the prunes are something
            if is_stop(error) or not prunes:
                raise
        if outcome.checkpoint is None and prunes:
            try:
                outcome = replace(outcome, checkpoint=compactor.snip(scene, prunes))
            except BadCheckpoint as error:
                raise CommitFailed(f"the prunes are void, for {error}", phase="checkpoint") from error
        if outcome.checkpoint is None:
            return None
        self._note(records.refusal("context", after=self._follow().last))
        return replace(outcome, pruned=prunes)

    def _prunes(self, scene: Scene) -> list[Replacement]:
        return prune(
            scene.work.messages,
            input_budget=None,
            meter=self._stage.meter,
            ranks=self._stage.policy.rank,
            idle_s=None,
            mode="reactive",
            is_decided=scene.decided("prune"),
            has_recall=self._stage.policy.has_recall_tool,
        )


def told(projection: Projection, outcome: Outcome) -> Projection:
    """What is sent again, with how the compaction went that made it smaller."""
    return replace(
        projection,
        pruned=(*outcome.pruned, *projection.pruned),
        checkpoint=projection.checkpoint or outcome.checkpoint,
        irreducible=projection.irreducible or outcome.holders,
        failure=projection.failure or outcome.failure,
    )


def _left(state: State, record: records.Record) -> Sequence[Message]:
    """What would be sent with a decision."""
    omitting = Omitting.of([record], [each.uuid for each in state.said])
    said = [each for each in map(omitting.next, state.said) if each is not None]
    return assemble(omitting.inherited(state.inherited), said).messages


def _window(refusal: Refusal, stage: Stage, scene: Scene) -> int | None:
    """What the provider allows, in tokens of the meter; None where the window of the stage is no larger.

    Where the provider has counted more than the meter, its tokens are smaller.
    """
    limit, counted = refusal.limit, scene.snapshot.tokens
    if limit is None or limit < 1:
        return None
    if refusal.tokens is not None and counted is not None and refusal.tokens > counted:
        limit = max(1, limit * counted // refusal.tokens)
    return limit if stage.window is None or limit < stage.window else None


def _is_of_media(refusal: Refusal, scene: Scene) -> bool:
    """Whether it may be the bytes that are too many: no number of tokens is told, and most of them are of media."""
    if refusal.limit is not None or refusal.tokens is not None:
        return False
    media = sum(len(canonical(each)) for each in media_in(scene.work.messages))
    return media * 2 > sum(len(canonical(each)) for each in scene.work.messages)


def _suspects(scene: Scene) -> list[str]:
    """The images and the like that are left out, by their digests: the largest of those that no answer has come to yet;
    where there are none, of all.  As many go as make up half of their bytes.  What is pinned stays.
    """
    messages = scene.work.messages
    pinned = pinned_messages(scene.work, scene.state.pins)
    answered = max((at for at, each in enumerate(messages) if each.get("role") == "assistant"), default=-1)
    for first in (answered + 1, 0):
        sizes: dict[str, int] = {}
        for at in range(first, len(messages)):
            if at not in pinned:
                sizes.update((digest_of(each), len(canonical(each))) for each in media_in((messages[at],)))
        found: list[str] = []
        left = sum(sizes.values())
        for digest in sorted(sizes, key=lambda each: -sizes[each]):
            if left * 2 <= sum(sizes.values()):
                break
            found.append(digest)
            left -= sizes[digest]
        if found:
            return found
    return []
