"""Records of any shape, whose parents lead anywhere."""

from hypothesis import strategies as st

NAMES = [*"abcdefghij", ""]
some = st.sampled_from
uuids = some([*NAMES, None, 7])
odd = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})


def maybe(strategy):
    """Mostly what it should be."""
    return st.one_of(strategy, strategy, strategy, odd)


blocks = st.fixed_dictionaries(
    {"type": some(["text", "tool_use", "tool_result", "thinking", "x"])},
    optional={
        "text": maybe(some(["", "Go.", "<command-name>", "[Request interrupted by user]"])),
        "id": maybe(some(["1", "2"])),
        "tool_use_id": maybe(some(["1", "2", "3"])),
        "name": maybe(some(["Read", "Bash"])),
        "input": maybe(st.just({"file_path": "/a"})),
        "content": maybe(st.just("out")),
        "is_error": odd,
    },
)
messages = st.fixed_dictionaries(
    {},
    optional={
        "content": maybe(st.lists(blocks, max_size=3) | some(["Go.", "", "<task-notification>"])),
        "id": maybe(some(["m", "n"])),
        "model": maybe(st.just("<synthetic>")),
        "usage": maybe(st.just({"input_tokens": 1})),
    },
)
compactions = st.fixed_dictionaries(
    {},
    optional={
        "trigger": maybe(some(["auto", "manual"])),
        "preservedMessages": maybe(st.fixed_dictionaries({"anchorUuid": uuids, "uuids": st.lists(uuids, max_size=4)})),
        "preservedSegment": maybe(st.fixed_dictionaries({"headUuid": uuids, "anchorUuid": uuids, "tailUuid": uuids})),
    },
)
told = st.fixed_dictionaries(
    {},
    optional={
        "isAsync": some([True, False]),
        "status": maybe(some(["async_launched", "completed"])),
        "agentId": maybe(some(["1", "2"])),
        "backgroundTaskId": maybe(some(["1", "b"])),
        "description": maybe(st.just("Look.")),
        "file": maybe(
            st.fixed_dictionaries({"startLine": some([1, 3, None]), "numLines": some([1, 3]), "content": odd})
        ),
        "structuredPatch": maybe(st.just([{"newStart": 3, "newLines": 2}])),
        "stdout": odd,
    },
)
kinds = ["user", "user", "assistant", "assistant", "system", "attachment", "progress", "content-replacement"]
records = st.fixed_dictionaries(
    {"uuid": uuids, "parentUuid": uuids, "type": maybe(some([*kinds, "last-prompt", "summary"]))},
    optional={
        "message": maybe(messages),
        "subtype": maybe(some(["compact_boundary", "compact_boundary", "snip"])),
        "compactMetadata": maybe(compactions),
        "snipMetadata": maybe(st.fixed_dictionaries({"removedUuids": maybe(st.lists(uuids, max_size=2))})),
        "logicalParentUuid": uuids,
        "leafUuid": uuids,
        "isSidechain": some([True, False, None, "x"]),
        "isMeta": some([True, False]),
        "isCompactSummary": some([True, False]),
        "isApiErrorMessage": some([True, False]),
        "teamName": some([None, "red"]),
        "sourceToolAssistantUUID": uuids,
        "attachment": maybe(
            st.fixed_dictionaries({"type": maybe(some(["queued_command", "file"])), "prompt": maybe(st.just("Go."))})
        ),
        "toolUseResult": maybe(told),
        "replacements": maybe(st.lists(st.just({"messageUuid": "a", "toolUseId": "1"}), max_size=1)),
        "timestamp": maybe(st.just("2026-01-01T00:00:00Z")),
    },
)
