"""Logs for tests of checkpoints: sessions that grow, and compactions of them that need no plan."""

from rehydrate.context.checkpoint import Checkpoint, commit
from rehydrate.context.ledger import Ledger
from rehydrate.context.restore import restore
from rehydrate.session import assistant, user

SUMMARY = "What came before, in short."


def talk(log, *words):
    """Requests, each with an answer; the uuids of both."""
    uuids = []
    for word in words:
        uuids += [log.append(user(word)), log.append(assistant(f"{word}!", message={"id": f"msg-{word}"}))]
    log.flush()
    return uuids


def checkpoint_of(restored, covered, text=SUMMARY, **changed):
    """A checkpoint that covers so many entries."""
    given = {
        "messages": [{"role": "user", "content": text}],
        "ledger": Ledger().put("Exact next action", "go on").record(),
        "figures": {"before": 100, "after": 10},
        **{"reason": "manual", "strategy": "fallback", "outcome": "completed"},
        **changed,
    }
    return Checkpoint.make(restored, covered, **given)


def compact(log, *, keep=2, text=SUMMARY):
    """Compact a log down to its last entries; the uuid of the boundary, and the checkpoint."""
    log.flush()
    restored = restore(log.path)
    made = checkpoint_of(restored, len(restored.entries) - keep, text)
    preserve = [entry["uuid"] for entry in restored.entries[len(restored.entries) - keep :]]
    return commit(log, made, summary=text, preserve=preserve, expect=restored.newest), made


def view(restored):
    """What a model is sent: texts, those of the checkpoint first."""
    replaced = () if restored.checkpoint is None else restored.checkpoint.messages
    said = (entry["message"] for entry in restored.entries if "message" in entry)
    return [_text(message) for message in (*replaced, *said)]


def _text(message):
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(str(block.get("text", block.get("content", block["type"]))) for block in content)
