import hashlib
import json
import random
import time
import tracemalloc
from pathlib import Path

import pytest

from rehydrate.clients.antigravity import layout, lineage, transcript
from rehydrate.conversation import MARKER_HEAD, Boundary
from tests.clients.antigravity.making import START_S, checkpoint, line, message, model, record, result, talk, user

REAL = Path(__file__).parents[2] / "data" / "antigravity"


def place_of(path):
    place = layout.place_of(str(path))
    assert place is not None
    return place


def judged(home, records):
    return transcript.boundaries(place_of(home.write("one", records)))


def read(home, records, *, boundary=None, name="transcript_full.jsonl"):
    place = place_of(home.write("one", records, name=name))
    segments = lineage.trace(place).segments
    return transcript.read(place, segments, boundary=boundary)


def at(step):
    """A boundary of which only the step matters."""
    return Boundary(step, step, "0" * 8, 2, True, "", 0, 0)


def said(conversation):
    return [(turn.step, turn.role, turn.text) for turn in conversation.turns]


# -- boundaries


@pytest.mark.parametrize(
    ("content", "form", "counts"),
    [
        ("text <CONTEXT_SUMMARY> text", 1, True),
        ("# Resuming from a compaction\nmore", 2, True),
        ("## RESUMING FROM A COMPACTION of it", 2, True),
        ("resuming from a Compaction", 2, True),
        ("first line\n# Resuming from a compaction", 5, False),
        ("{{ CHECKPOINT 1 }}", 3, True),
        ("text {{CHECKPOINT   12}} text", 3, True),
        ("{{ CHECKPOINT 0 }}", 4, False),
        ("{{ CHECKPOINT 000 }}", 4, False),
        ("{{ CHECKPOINT 0 }} about {{ CHECKPOINT 7 }}", 4, False),
        ("{{ CHECKPOINT " + "9" * 6000 + " }}", 3, True),
        ("anything else", 5, False),
        ("", 5, False),
        (None, 5, False),
        (3, 5, False),
        (["# Resuming from a compaction"], 5, False),
    ],
)
def test_each_form_of_boundary_is_told_and_counts_as_it_should(home, content, form, counts):
    (boundary,) = judged(home, [*talk(0, 3), checkpoint(4, content)])
    assert (boundary.form, boundary.counts, boundary.step, boundary.checkpoint) == (form, counts, 4, 4)
    assert f"form {form}" in boundary.why


def test_a_failed_summary_does_not_count(home):
    for status in ("ERROR", "RUNNING", None, 3):
        (boundary,) = judged(home, [*talk(0, 3), checkpoint(4, status=status)])
        assert (boundary.form, boundary.counts) == (2, False)
        assert "not DONE" in boundary.why


def test_older_builds_write_a_checkpoint_at_once_and_it_is_told_why_it_does_not_count(home):
    (boundary,) = judged(home, [*talk(0, 2), checkpoint(3, "{{ CHECKPOINT 0 }}")])
    assert not boundary.counts
    assert (
        "CHECKPOINT 0" in boundary.why
        and "only 3 steps and" in boundary.why
        and "the start of the file" in boundary.why
    )


def test_a_doubtful_form_counts_after_forty_steps(home):
    assert [b.counts for b in judged(home, [*talk(0, 38), checkpoint(39, "{{ CHECKPOINT 0 }}")])] == [False]
    assert [b.counts for b in judged(home, [*talk(0, 39), checkpoint(40, "{{ CHECKPOINT 0 }}")])] == [True]


def test_the_steps_are_counted_from_the_files_first_step(home):
    assert [b.counts for b in judged(home, [*talk(200, 203), checkpoint(204, "x")])] == [False]


def test_a_doubtful_form_counts_after_64_kib(home):
    def doubtful(bytes_before):
        filler = len(line(user(0, "")))
        return judged(home, [user(0, "x" * (bytes_before - filler)), checkpoint(1, None)])

    assert [b.counts for b in doubtful(64 * 1024)] == [True]
    assert [b.counts for b in doubtful(64 * 1024 - 1)] == [False]


def test_the_distance_is_that_to_the_checkpoint_before_of_any_form_and_status(home):
    for before in (checkpoint(50, "{{ CHECKPOINT 0 }}"), checkpoint(50, status="ERROR"), checkpoint(50)):
        boundaries = judged(home, [*talk(0, 49), before, *talk(51, 60), checkpoint(61, "{{ CHECKPOINT 0 }}")])
        assert not boundaries[1].counts
        assert "only 11 steps" in boundaries[1].why and "the CHECKPOINT before it" in boundaries[1].why


def test_of_repeats_of_one_step_the_last_line_wins(home):
    boundaries = judged(home, [*talk(0, 3), checkpoint(4, None, status="RUNNING"), user(5, "next"), checkpoint(4)])
    assert [(b.step, b.counts) for b in boundaries] == [(4, True)]
    boundaries = judged(home, [*talk(0, 3), checkpoint(4), checkpoint(4, status="ERROR")])
    assert [(b.step, b.counts) for b in boundaries] == [(4, False)]


def test_a_checkpoint_without_a_step_never_counts(home):
    for step in ("7", 7.0, True, None):
        (boundary,) = judged(home, [*talk(0, 3), checkpoint(step, time_s=START_S)])
        assert (boundary.counts, boundary.step, boundary.form) == (False, transcript.NO_STEP, 2)
        assert "it has no step" in boundary.why


def test_only_a_records_own_type_makes_it_a_boundary(home):
    fake = [
        user(0, '"type":"CHECKPOINT"'),
        record(1, "X", more={"type": "CHECKPOINT"}),
        result(2, content='{"type":"CHECKPOINT"}'),
    ]
    assert judged(home, fake) == ()


def test_a_boundary_whose_step_stands_far_behind_is_found(home):
    late = {"pad": "x" * 500, "type": "CHECKPOINT", "status": "DONE", "content": "<CONTEXT_SUMMARY>", "step_index": 4}
    (boundary,) = judged(home, [*talk(0, 3), late])
    assert (boundary.step, boundary.counts) == (4, True)


def test_a_boundary_nested_too_deep_is_kept_and_does_not_count(home):
    deep = json.dumps(checkpoint(4))[:-1].encode() + b',"x":' + b"[" * 600 + b"]" * 600 + b"}"
    (boundary,) = judged(home, [*talk(0, 3), deep])
    assert (boundary.step, boundary.form, boundary.counts) == (4, 5, False)


def test_the_place_of_a_boundary_is_exactly_its_record(home):
    path = home.write("one", [*talk(0, 3), checkpoint(4), *talk(5, 6)])
    (boundary,) = transcript.boundaries(place_of(path))
    with open(path, "rb") as file:
        file.seek(boundary.offset)
        assert json.loads(file.read(boundary.length)) == checkpoint(4)


def test_the_id_is_a_digest_of_conversation_checkpoint_and_the_record_before(home):
    before = talk(0, 3)
    (boundary,) = judged(home, [*before, checkpoint(4)])
    digest = hashlib.sha256(b"one\x004\x00" + line(before[-1]).rstrip())
    assert boundary.id == digest.hexdigest()[:8]


@pytest.mark.parametrize(
    "between",
    [b"", b"\n\n  \n", b"\0" * 70_000 + b"\n", b'{"torn":\n', b"\r\n" * 40_000, b"[" + b"x" * (1 << 20) + b"]\n"],
)
def test_the_record_before_is_found_behind_blank_and_damaged_lines(home, between):
    last = line(user(3, "é" * 70_000))
    path = Path(home.write("one", []))
    path.write_bytes(b"".join(map(line, talk(0, 2))) + last + between + line(checkpoint(4)))
    (boundary,) = transcript.boundaries(place_of(path))
    assert boundary.id == hashlib.sha256(b"one\x004\x00" + last.rstrip()).hexdigest()[:8]


def test_the_record_before_may_be_on_the_same_line_or_very_long_or_missing(home):
    path = Path(home.write("one", []))
    glued = line(user(3, "glued")).rstrip()
    path.write_bytes(line(user(2, "x")) + glued + line(checkpoint(4)))
    (boundary,) = transcript.boundaries(place_of(path))
    assert boundary.id == hashlib.sha256(b"one\x004\x00" + glued).hexdigest()[:8]

    long = line(result(3, content="x" * (3 << 20))).rstrip()
    path.write_bytes(line(user(2, "x")) + long + b" \r\n" + line(checkpoint(4)))
    (boundary,) = transcript.boundaries(place_of(path))
    assert boundary.id == hashlib.sha256(b"one\x004\x00" + long).hexdigest()[:8]

    path.write_bytes(b"\n" + line(checkpoint(0)))
    (boundary,) = transcript.boundaries(place_of(path))
    assert boundary.id == hashlib.sha256(b"one\x000\x00").hexdigest()[:8]


def test_the_newest_is_the_last_in_the_file_that_counts(home):
    boundaries = judged(
        home, [*talk(0, 3), checkpoint(4), *talk(5, 6), checkpoint(9), checkpoint(8), checkpoint(10, "x")]
    )
    assert [b.step for b in boundaries] == [4, 9, 8, 10]
    assert transcript.Survey(tuple(boundaries), 10).newest.step == 8
    assert transcript.Survey((), None).newest is None


def test_a_survey_tells_the_highest_step(home):
    path = home.write("one", [*talk(0, 3), result(9), checkpoint(4), b'{"step_index":12'])
    assert transcript.survey(place_of(path)).last_step == 9


def test_pressure_grows_with_compactions_that_come_soon_after_one_another(home):
    boundaries = judged(home, [*talk(0, 3), checkpoint(4), *talk(5, 9), checkpoint(10), *talk(11, 19), checkpoint(20)])
    assert [transcript.pressure(boundaries, boundary=b) for b in boundaries] == [0, 1, 2]


def test_pressure_ends_with_a_compaction_that_is_far_in_steps_or_in_bytes(home):
    far = [
        *talk(0, 3),
        checkpoint(4),
        *talk(5, 43),
        checkpoint(44),
        user(45, "x" * (256 << 10)),
        checkpoint(46),
        checkpoint(47),
    ]
    boundaries = judged(home, far)
    assert [transcript.pressure(boundaries, boundary=b) for b in boundaries] == [0, 0, 0, 1]


def test_what_does_not_count_makes_no_pressure(home):
    boundaries = judged(
        home, [*talk(0, 3), checkpoint(4), checkpoint(5, status="ERROR"), checkpoint(50, "x"), checkpoint(51)]
    )
    assert [transcript.pressure(boundaries, boundary=b) for b in boundaries] == [0, 0, 0, 1]
    boundaries = judged(home, [*talk(0, 3), checkpoint(4), checkpoint(5, "x"), checkpoint(6)])
    assert [transcript.pressure(boundaries, boundary=b) for b in boundaries] == [0, 0, 1]


# -- the marker


def marked(home, *after):
    path = home.write("one", [*talk(0, 3), checkpoint(4), *after])
    (boundary,) = transcript.boundaries(place_of(path))[:1]
    return transcript.marker_after(path, boundary)


def head(home, **changed):
    (boundary,) = judged(home, [*talk(0, 3), checkpoint(4)])
    fields = {"checkpoint": boundary.checkpoint, "id": boundary.id, **changed}
    return MARKER_HEAD + "".join(f" | {k}={v}" for k, v in fields.items() if v is not None) + " | part 2/3]"


def test_every_part_is_told_with_its_step_and_whether_it_is_whole(home):
    one, two = (head(home).replace("part 2/3", f"part {k}/2") for k in (1, 2))
    alone = head(home).replace(" | part 2/3", "")
    cut = record(9, "SYSTEM_MESSAGE", f"<SYSTEM_MESSAGE>\n{two}\ntext", source="SYSTEM_SDK")
    path = home.write("one", [*talk(0, 3), checkpoint(4), message(6, one), message(7, two), message(8, alone), cut])
    (boundary,) = transcript.boundaries(place_of(path))
    found = [(each.step, each.part, each.is_whole) for each in transcript.markers_after(path, boundary)]
    assert found == [(6, "1/2", True), (7, "2/2", True), (8, "1/1", True), (9, "2/2", False)]


def test_a_marker_in_either_kind_of_message_is_found(home):
    for kind in ("SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE"):
        assert marked(home, user(5, "x"), message(6, head(home) + "\ntext", kind))


def test_a_marker_of_another_delivery_is_none(home):
    assert not marked(home, message(5, head(home, id="00000000")))
    assert not marked(home, message(5, head(home).replace(" v1 ", " v2 ")))
    assert not marked(home, message(5, head(home).replace(" v1 ", " v11 ")))


def test_the_older_scripts_marker_counts_by_its_checkpoint(home):
    assert marked(home, message(5, head(home, id=None)))
    assert not marked(home, message(5, head(home, id=None, checkpoint=44)))


def test_what_a_user_a_tool_or_the_model_wrote_is_no_marker(home):
    text = head(home)
    assert not marked(
        home, user(5, text), result(6, content=text), model(7, text), record(8, "USER_INPUT", text, source="SYSTEM_SDK")
    )


def test_a_marker_counts_at_a_line_start_and_near_the_beginning_only(home):
    text = head(home)
    assert not marked(home, message(5, "see " + text))
    assert not marked(home, message(5, "x" * 1100 + "\n" + text))
    assert marked(home, message(5, "x" * 800 + "\n" + text))


def test_a_marker_before_the_boundary_is_none_and_one_after_it_counts_whatever_its_step(home):
    early = judged(home, [*talk(0, 3), checkpoint(4)])[0]
    for records, expected in (
        ([*talk(0, 2), message(9, head(home)), talk(3, 3)[0], checkpoint(4)], False),
        ([*talk(0, 3), checkpoint(4), message(2, head(home))], True),
    ):
        path = home.write("one", records)
        (boundary,) = transcript.boundaries(place_of(path))
        assert boundary.id == early.id
        assert transcript.marker_after(path, boundary) is expected


# -- the conversation


def test_requests_are_read_without_what_the_host_adds(home):
    conversation = read(
        home,
        [
            user(0, "first"),
            record(1, "USER_INPUT", "<USER_REQUEST>a</USER_REQUEST> x <USER_REQUEST>\nb\n</USER_REQUEST>"),
            record(
                2,
                "USER_INPUT",
                "bare <ADDITIONAL_METADATA>m</ADDITIONAL_METADATA>text<USER_SETTINGS_CHANGE>s</USER_SETTINGS_CHANGE>",
            ),
            record(3, "USER_INPUT", "unclosed <USER_REQUEST> and <ADDITIONAL_METADATA> are words"),
            record(
                4, "USER_INPUT", "<USER_REQUEST>\nwhat do <USER_REQUEST> and </USER_REQUEST> mean?\n</USER_REQUEST>\n"
            ),
        ],
    )
    assert [turn.text for turn in conversation.turns] == [
        "first",
        "a\n\nb",
        "bare text",
        "unclosed <USER_REQUEST> and <ADDITIONAL_METADATA> are words",
        "what do <USER_REQUEST> and </USER_REQUEST> mean?",
    ]


def test_what_is_no_request_is_left_out(home):
    conversation = read(
        home,
        [
            user(0, " \n"),
            record(1, "USER_INPUT", "from a hook", source="SYSTEM_SDK"),
            record(2, "USER_INPUT"),
            record(3, "USER_INPUT", "<ADDITIONAL_METADATA>m</ADDITIONAL_METADATA>"),
            user(4, "real"),
        ],
    )
    assert said(conversation) == [(4, "user", "real")]


def test_unclosed_tags_without_end_take_linear_time(home):
    conversation = read(home, [record(0, "USER_INPUT", "<ADDITIONAL_METADATA>" * 200_000 + "x")])
    assert conversation.turns[0].text.endswith(">x")


def test_responses_are_read_without_thinking_and_our_own_deliveries(home):
    conversation = read(
        home,
        [
            user(0, "ask"),
            model(1, "said", thinking="secret"),
            message(2, "[a delivery]"),
            model(3, thinking="only this"),
            model(4, "more"),
        ],
    )
    assert said(conversation) == [(0, "user", "ask"), (1, "assistant", "said"), (4, "assistant", "more")]


def test_the_order_is_that_of_the_steps_and_the_last_line_of_a_step_wins(home):
    records = [*talk(0, 9), model(3, "half", status="RUNNING")]
    records[-1:], records[3:4] = [records[3]], [records[-1]]
    random.Random(4).shuffle(records[5:])
    conversation = read(home, [model(3, "early", status="RUNNING"), *reversed(records[:-1]), records[-1]])
    assert [turn.step for turn in conversation.turns] == list(range(10))
    assert conversation.turns[3].text == "answer 3"


def test_only_what_is_before_the_boundary_belongs_to_it_wherever_it_stands(home):
    records = [*talk(0, 3), user(12, "too late"), checkpoint(10), model(5, "late line, early step"), *talk(11, 13)]
    assert [turn.step for turn in read(home, records, boundary=at(10)).turns] == [0, 1, 2, 3, 5]
    assert read(home, records, boundary=at(0)).turns == ()
    assert len(read(home, records).turns) == 8


FAMILIES = {
    "older": [
        ("read_file", {"Path": "/w/a.py"}),
        ("edit_file", {"Path": "/w/b.py", "Content": "x"}),
        ("write_file", {"Path": "/w/PLAN.md"}),
        ("run_command", {"CommandLine": "make test", "Cwd": "/w"}),
    ],
    "newer": [
        ("view_file", {"AbsolutePath": "/w/a.py", "StartLine": 1}),
        ("replace_file_content", {"TargetFile": "file:///w/b.py", "Instruction": "x"}),
        ("write_to_file", {"TargetFile": "/w/PLAN.md", "CodeContent": "{}"}),
        ("run_command", {"CommandLine": "make test", "WaitMsBeforeAsync": 1}),
    ],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_both_tool_families_give_the_same_calls_and_touches(home, family):
    conversation = read(home, [user(0, "go"), model(1, None, *FAMILIES[family]), *[result(s) for s in range(2, 6)]])
    turn = conversation.turns[1]
    assert (turn.role, turn.text) == ("assistant", "")
    assert [(c.path, c.command) for c in turn.calls] == [
        ("/w/a.py", None),
        ("/w/b.py", None),
        ("/w/PLAN.md", None),
        (None, "make test"),
    ]
    assert [(t.path, t.kind, t.step, t.order) for t in conversation.touches] == [
        ("/w/a.py", "read", 1, 0),
        ("/w/b.py", "modified", 1, 1),
        ("/w/PLAN.md", "modified", 1, 2),
    ]
    assert conversation.touches[0].time_s == START_S + 1


def test_a_touch_had_happened_when_the_model_went_on_but_a_later_request_says_nothing(home):
    first, second, third = [("view_file", {"AbsolutePath": f"/{name}.py"}) for name in "abc"]
    days = 90_000
    records = [
        user(0, "go"),
        model(1, None, first, time_s=START_S),
        model(2, "seen", second, time_s=START_S + 60),
        user(3, "again", time_s=START_S + days),
        model(4, None, third, time_s=START_S + days + 5),
    ]
    times = [touch.time_s - START_S for touch in read(home, records).touches]
    assert times == [60, 60, days + 5]


def test_any_other_call_that_names_a_path_touches_it(home):
    named = {
        "SearchPath": "/w/src",
        "outputFile": "file://host/w/with%20space.md",
        "Query": "/not/a/path",
        "File": "relative.md",
        "Uri": "https://example.org/x",
        "windowsFileName": "C:\\w\\a.md",
        "PATH": ["/list"],
        "uri": "FILE:///C:/w/b.md",
    }
    conversation = read(
        home, [model(0, None, ("some_future_tool", named), ("multi_replace_file_content", {"TargetFile": "D:\\x.py"}))]
    )
    assert [(t.path, t.kind) for t in conversation.touches] == [
        ("/w/src", "named"),
        ("/w/with space.md", "named"),
        ("C:\\w\\a.md", "named"),
        ("C:/w/b.md", "named"),
        ("D:\\x.py", "modified"),
    ]
    assert conversation.turns[0].calls[0].path == "/w/src"


def test_file_uris_are_decoded_and_other_paths_are_not(home):
    paths = [
        "file:///a%20b/%C3%A9.md",
        "file:/a",
        "file://localhost/a",
        "/a%20b",
        "file:///%00x",
        "file://hostonly",
        "file:///%ff",
    ]
    calls = [("view_file", {"AbsolutePath": path}) for path in paths]
    conversation = read(home, [model(0, None, *calls)])
    assert [t.path for t in conversation.touches] == ["/a b/é.md", "/a", "/a", "/a%20b", "/\ufffd"]


def test_f33_members_of_wrong_types_never_fail_a_read(home):
    records = [
        user(0, "ask"),
        model(1, 3),
        model(2, "text", tool_calls={"name": "x"}),
        model(
            3,
            "text",
            tool_calls=[
                None,
                3,
                {},
                {"name": 3},
                {"name": "a"},
                {"name": "b", "args": 3},
                {"name": "c", "args": "nope"},
            ],
        ),
        model(4, None, ("view_file", {"AbsolutePath": 3, "Path": None}), ("run_command", {"CommandLine": ["ls"]})),
        model(5, "text", created_at=3),
        {"step_index": "7", "type": "PLANNER_RESPONSE", "content": "no step"},
        {"step_index": 8, "type": ["PLANNER_RESPONSE"], "content": "no type"},
        record(9, "USER_INPUT", {"text": "x"}),
    ]
    conversation = read(home, records)
    assert [turn.step for turn in conversation.turns] == [0, 2, 3, 4, 5]
    assert [call.name for call in conversation.turns[2].calls] == ["a", "b", "c"]
    assert conversation.touches == ()


def test_f34_unknown_records_and_tools_pass(home):
    future = [record(1, "FUTURE_TYPE", "x", shape={"v": 2}), model(2, None, ("future_tool", {"deep": {"path": "/x"}}))]
    conversation = read(home, [user(0, "ask"), *future])
    assert [call.name for call in conversation.turns[1].calls] == ["future_tool"]


def test_arguments_that_are_a_json_string_are_decoded(home):
    conversation = read(home, [model(0, None, ("view_file", json.dumps({"AbsolutePath": "/w/a.py"})))])
    assert conversation.turns[0].calls[0].path == "/w/a.py"


def test_the_cut_file_has_its_arguments_decoded_once_more_and_is_lossy(home):
    args = {"AbsolutePath": json.dumps('/w/a "b".py'), "StartLine": "3"}
    cut = {"CommandLine": '"begin <cut \\"middle\\> end"'}
    conversation = read(home, [model(0, None, ("view_file", args), ("run_command", cut))], name="transcript.jsonl")
    assert [(c.path, c.command) for c in conversation.turns[0].calls] == [
        ('/w/a "b".py', None),
        (None, 'begin <cut \\"middle\\> end'),
    ]
    assert conversation.lossy and "hole" in conversation.notes[0]


def test_the_uncut_files_arguments_are_left_as_they_are(home):
    conversation = read(home, [model(0, None, ("run_command", {"CommandLine": '"quoted command"'}))])
    assert conversation.turns[0].calls[0].command == '"quoted command"'
    assert not conversation.lossy


def test_old_texts_of_the_assistant_are_dropped_and_requests_and_touches_kept(home):
    records = []
    for n in range(300):
        records += [user(2 * n, f"ask {n}"), model(2 * n + 1, "y" * 6000, ("view_file", {"AbsolutePath": f"/w/{n}"}))]
    random.Random(1).shuffle(records)
    conversation = read(home, records)
    texts = [turn.text for turn in conversation.turns if turn.role == "assistant"]
    assert texts[-167:] == ["y" * 6000] * 167
    assert texts[:-167] == [None] * 133
    assert [turn.text for turn in conversation.turns if turn.role == "user"] == [f"ask {n}" for n in range(300)]
    assert len(conversation.touches) == 300


def test_a_long_text_counts_little_and_stays_whole(home):
    conversation = read(home, [model(0, "old"), *[model(s, "z" * 100_000) for s in range(1, 50)]])
    assert [len(turn.text) for turn in conversation.turns] == [3] + [100_000] * 49


def test_damaged_lines_are_counted_and_read_over(home):
    conversation = read(
        home, [user(0, "ask"), b'{"type":"USER_INPUT","content":"torn', b"\0" * 50, model(1, "said"), b"3"]
    )
    assert [turn.step for turn in conversation.turns] == [0, 1]
    assert conversation.damaged == 1


def test_a_lone_surrogate_and_bad_utf8_are_replaced(home):
    bad = b'{"step_index":0,"type":"USER_INPUT","content":"a \\ud800 \xff b"}'
    conversation = read(home, [bad, model(1, None, ("view_file", '{"AbsolutePath":"/w/\\udc00"}'))])
    assert conversation.turns[0].text == "a \ufffd \ufffd b"
    conversation.touches[0].path.encode()


# -- calls without a result


def pending(conversation):
    return [(turn.step, [call.pending for call in turn.calls]) for turn in conversation.turns if turn.calls]


TWO = (("run_command", {"CommandLine": "a"}), ("run_command", {"CommandLine": "b"}))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([], [True, True]),
        ([result(2), result(3)], [False, False]),
        ([result(2)], [False, True]),
        ([result(3)], [True, False]),
        ([result(2, status="RUNNING"), result(3)], [True, False]),
        ([result(2, status="RUNNING"), result(3), result(2)], [False, False]),
        ([result(5), result(7)], [False, False]),
        ([result(2, status="ERROR"), result(3, status="CANCELED")], [False, False]),
        ([message(2, "x"), checkpoint(3)], [True, True]),
        ([result(20), result(21)], [True, True]),
    ],
)
def test_calls_before_the_boundary_are_pending_until_their_results_stand(home, after, expected):
    conversation = read(home, [user(0, "go"), model(1, "doing", *TWO), *after], boundary=at(20))
    assert pending(conversation) == [(1, expected)]


def test_a_long_run_of_calls_without_a_word_takes_linear_time(home):
    calls = [("run_command", {"CommandLine": "make"})]
    run = [each for s in range(1, 40_000, 2) for each in (model(s, None, *calls), result(s + 1))]
    began = time.perf_counter()
    turns = read(home, [user(0, "ask"), *run[:-1]]).turns
    assert time.perf_counter() - began < 10  # 20,000 responses with as many results: 400 million looks if each sees all
    assert [call.pending for turn in turns for call in turn.calls] == [False] * 19_999 + [True]


def test_a_huge_result_behind_the_last_call_is_not_collected(home):
    size = 30_000_000
    records = [user(0, "ask"), model(1, None, ("run_command", {"CommandLine": "make"})), result(2, content="x" * size)]
    place = place_of(home.write("one", records))
    tracemalloc.start()
    turns = transcript.read(place, lineage.trace(place).segments, boundary=None).turns
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 3 and not turns[1].calls[0].pending


def test_calls_that_something_follows_are_not_pending(home):
    conversation = read(
        home,
        [
            model(0, None, *TWO),
            model(1, "text", *TWO),
            user(2, "stop"),
            model(3, None, *TWO),
            model(6, None, *TWO),
            result(4),
        ],
    )
    assert pending(conversation) == [(0, [False, False]), (1, [False, False]), (3, [False, True]), (6, [True, True])]
    conversation = read(home, [model(0, None, *TWO), model(1, "text")])
    assert pending(conversation) == [(0, [False, False])]


# -- the vendor's own


def real(scenario):
    (folder,) = (REAL / scenario).iterdir()
    return place_of(folder)


def test_real_compactions_count_and_a_failed_one_does_not():
    survey = transcript.survey(real("compact"))
    assert [(b.step, b.form, b.counts) for b in survey.boundaries] == [(10, 2, True), (28, 2, True)]
    assert survey.last_step == 37
    assert [transcript.pressure(survey.boundaries, boundary=b) for b in survey.boundaries] == [0, 1]
    assert [(b.step, b.counts) for b in transcript.boundaries(real("compact-core"))] == [(11, True)]
    failed = [b for f in (REAL / "compact-fails-error").iterdir() for b in transcript.boundaries(place_of(f))]
    assert [(b.step, b.counts) for b in failed] == [(6, False)]


def test_a_real_conversation_is_read_up_to_its_boundary():
    place = real("compact")
    boundary = transcript.boundaries(place)[0]
    conversation = transcript.read(place, lineage.trace(place).segments, boundary=boundary)
    assert [turn.text for turn in conversation.turns if turn.role == "user"] == [
        "First: read it. RIG:read",
        "Big one. RIG:long",
        "Big two. RIG:long",
    ]
    assert [(t.path, t.kind, t.step) for t in conversation.touches] == [("/home/user/project/calc.py", "read", 1)]
    assert [c.command for turn in conversation.turns for c in turn.calls] == [None, "cat notes.txt"]
    assert conversation.session == "0184587723404c618fc74e3a1de081f5"


def test_the_real_cut_file_gives_the_same_calls(tmp_path):
    (folder,) = (REAL / "tools").iterdir()
    whole = transcript.read(place_of(folder), lineage.trace(place_of(folder)).segments, boundary=None)
    (tmp_path / "transcript.jsonl").write_bytes((folder / "transcript.jsonl").read_bytes())
    cut_place = place_of(tmp_path)
    cut = transcript.read(cut_place, lineage.trace(cut_place).segments, boundary=None)
    assert cut.turns == whole.turns and cut.touches == whole.touches
    assert cut.lossy and not whole.lossy


def test_chunks_are_read_as_one_file(home):
    records = [*talk(0, 60), checkpoint(61), *talk(62, 70)]
    home.write_chunks("one", b"".join(map(line, records)), size=333)
    place = place_of(home.conversation("one"))
    (boundary,) = transcript.boundaries(place)
    segments = lineage.trace(place).segments
    assert segments[0].path == place.origin
    assert len(transcript.read(place, segments, boundary=boundary).turns) == 61
    home.write("one", records)
    assert transcript.boundaries(place_of(home.conversation("one"))) == (boundary,)
