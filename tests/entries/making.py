"""Made-up transcripts of trees: records with short uuids, and what a test asks of them."""


def user(uuid, parent, text="Do it.", **more):
    return {"parentUuid": parent, "type": "user", "message": {"role": "user", "content": text}, "uuid": uuid, **more}


def text(words):
    return {"type": "text", "text": words}


def thought(words="Hm."):
    return {"type": "thinking", "thinking": words}


def call(name, tool="Bash", **given):
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def assistant(uuid, parent, *blocks, id=None, usage=None, **more):
    message = {"role": "assistant", "content": list(blocks) or [text("Done.")], "id": id or f"msg-{uuid}"}
    if usage is not None:
        message["usage"] = usage
    return {"parentUuid": parent, "message": message, "type": "assistant", "uuid": uuid, **more}


def result(uuid, parent, *ids, words="ok", error=False, **more):
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": words, "is_error": error} for id in ids]
    return user(uuid, parent, blocks, **more)


def attachment(uuid, parent, kind="date", **members):
    return {"parentUuid": parent, "attachment": {"type": kind, **members}, "type": "attachment", "uuid": uuid}


def system(uuid, parent, subtype="turn_duration", **more):
    return {"parentUuid": parent, "type": "system", "subtype": subtype, "uuid": uuid, **more}


def boundary(uuid, *, logical=None, parent=None, preserved=None, segment=None, **more):
    """`preserved`: (anchor, uuids); `segment`: (head, anchor, tail)."""
    metadata = {"trigger": "auto"}
    if preserved is not None:
        metadata["preservedMessages"] = {"anchorUuid": preserved[0], "uuids": preserved[1]}
    if segment is not None:
        metadata["preservedSegment"] = dict(zip(("headUuid", "anchorUuid", "tailUuid"), segment, strict=True))
    more = {"logicalParentUuid": logical, "compactMetadata": metadata, **more}
    return system(uuid, parent, "compact_boundary", **more)


def summary(uuid, parent, **more):
    return user(uuid, parent, "What came before, in short.", isCompactSummary=True, **more)


def meta(uuid, parent, words="<x>"):
    return user(uuid, parent, words, isMeta=True)


def chat(*uuids, parent=None):
    """Requests and answers by turns, each the child of the one before."""
    records = []
    for at, uuid in enumerate(uuids):
        records.append(assistant(uuid, parent) if at % 2 else user(uuid, parent))
        parent = uuid
    return records


def names(scope, entries):
    """The uuids of entries."""
    return [scope.log.entries[index].uuid for index in entries]
