"""Files of sessions made by hand, line by line."""

import json
from zlib import crc32

HEAD = {"type": "session", "format": 1, "sessionId": "s-1", "cwd": "/srv/project", "version": "1"}


def sealed(record, seq):
    """A line as our own files have it."""
    body = json.dumps({**record, "seq": seq}, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    return b'%b,"crc":"%08x"}' % (body, crc32(body))


def write_session(path, *records):
    """A file of ours with these records (dicts; bytes as they are); its path."""
    lines = [each if isinstance(each, bytes) else sealed(each, seq) for seq, each in enumerate((HEAD, *records), 1)]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return str(path)


def uuids(view):
    return [record.get("uuid") for record in view]


def roles(messages):
    """Of each message the role and what its blocks are, in short."""
    return [(message["role"][0], " ".join(_short(message["content"]))) for message in messages]


def _short(content):
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        kind = block["type"]
        said = {"text": block.get("text"), "tool_use": f"{block.get('id')}?", "tool_result": block.get("tool_use_id")}
        yield str(said.get(kind, kind)) + ("!" if kind == "tool_result" else "")
