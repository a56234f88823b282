"""What a log can hold between its quotes: nothing of it breaks a read, hides in the answer, or is cut in two."""

import json
import unicodedata

import pytest

from tests.helpers import dump, step, write_lines

from .worlds import SESSION, joined, run

JOINER = "\u200d"
CLUSTERS = {
    "combining marks": "e\u0301\u0323",
    "emoji of several people": f"\U0001f469{JOINER}\U0001f469{JOINER}\U0001f467",
    "variation selector": "\u2764\ufe0f",
    "skin tone": "\U0001f44d\U0001f3fd",
    "hebrew with points": "\u05d0\u05b8\u05b9",
    "flag": "\U0001f1e9\U0001f1ea",
    "keycap": "1\ufe0f\u20e3",
}


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf5\x80\x80\x80"], ids=repr
)
def test_f22_bytes_that_are_no_utf8_are_shown_as_replaced(world, bad):
    line = world.user("Before @ behind.").replace(b"@", bad)
    text = world.fire(joined(line, world.user("And then.")))
    assert "\ufffd behind." in text and "And then." in text


def test_f22_a_sequence_at_a_border_of_the_buffer_is_whole(world):
    lines = [world.user("x" * pad + "\U0001f600é漢." + "y" * (70_000 - pad)) for pad in range(8)]
    lines.append(world.said("The last word is 漢字\U0001f600."))
    text = world.fire(joined(*lines, world.user("漢字 é \U0001f600")))
    assert "\ufffd" not in text and "漢字 é \U0001f600" in text


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff", "\\ude00\\ud83d", "\\ud83dx\\ude00"])
def test_f23_half_a_surrogate_pair_becomes_a_replacement(world, half):
    line = world.user("Half @ of it.").replace(b"@", half.encode())
    text = world.fire(joined(line, world.user("And then.")))
    assert "Half \ufffd" in text and "And then." in text
    text.encode()


def test_f23_two_halves_in_two_strings_make_no_pair(world):
    left, right = world.user("left @").replace(b"@", b"\\ud83d"), world.user("@ right").replace(b"@", b"\\ude00")
    text = world.fire(joined(left, right))
    assert "left \ufffd" in text and "\ufffd right" in text


@pytest.mark.parametrize(
    "hidden", ["\x1b[31m", "\x07", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\U000e0041", "\u2060"], ids=ascii
)
def test_f25_what_hides_or_reorders_is_spelt_out(world, hidden):
    text = world.fire(joined(world.user(f"Look {hidden}here."), world.user("And then.")))
    spelt = f"\\u{{{ord(hidden[0]):x}}}{hidden[1:]}"
    assert hidden[0] not in text
    assert f"Look {spelt}here." in text


def starts_inside(text):
    """Whether a piece of text begins within what stands for one sign."""
    return bool(text) and (
        unicodedata.category(text[0]).startswith("M") or text[0] == JOINER or "\U0001f3fb" <= text[0] <= "\U0001f3ff"
    )


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("shift", range(3))
def test_f26_no_cut_falls_within_a_sign(world, name, shift):
    """Requests, answers, commands, details, paths and results, all of them too long."""
    cluster = CLUSTERS[name]
    long = "." * shift + cluster * 6_000
    worded = "." * shift + "We decided to keep " + cluster * 400
    lines = [world.user(f"Start {long}"), world.said(worded), world.said(long, ("run", f"make {cluster * 300}"))]
    if world.name == "claude-code":
        world._talk.assistant("", ("Task", {"description": "." * shift + cluster * 500}))
        lines.append(world._line())
        world._talk.result(f"toolu_{world._talk._made}_0", f"Error 12: {'.' * shift}{cluster * 300}\n")
        lines.append(world._line())
        lines.append(world.said("", ("read", "/" + "d" * (2_000 + shift) + cluster * 900)))
    lines.append(world.user(f"End {long}"))
    text = world.fire(joined(*lines))
    assert cluster in text
    rest = text.replace(cluster, "")
    left = {each for each in cluster if each in rest and ord(each) > 127}
    assert not left, f"{name}: a part of the sign stands alone: {left}"
    assert not any(map(starts_inside, rest.split(" ")))


def test_f27_a_record_of_200000_levels_hides_nothing(world):
    deep = b'{"type":"user","uuid":"deep","step_index":1,"content":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    text = world.fire(joined(world.user("One."), deep, world.user("Two.")))
    assert "One." in text and "Two." in text


NUMBERS = ["9" * 5_000, "-" + "9" * 5_000, "1e999", "-1e999", "-0", "NaN", "Infinity", "-Infinity", "1E-999"]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:9])
def test_f28_any_number_leaves_the_record_as_it_is(world, number):
    lines = [world.user("One."), world.said("Two.", ("run", "make it")), world.user("Three.")]
    odd = [line.replace(b'{"', b'{"odd":%s,"' % number.encode(), 1) for line in b"\n".join(lines).split(b"\n")]
    text = world.fire(joined(*odd))
    assert all(words in text for words in ("One.", "Two.", "make it", "Three."))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:9])
def test_f28_any_number_in_the_payload_leaves_it_as_it_is(world, number):
    assert "One." in world.fire(joined(world.user("One."), world.user("Two.")))
    more = [world.user("Three."), world.user("Four.")]
    more += [world.boundary()] if world.name == "antigravity" else []
    with world.path.open("ab") as file:
        file.write(joined(*more))
    given = world.stdin().replace(b"{", b'{"odd":%s,' % number.encode(), 1)
    done = run(world, stdin=given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Four." in world.text_of(done.stdout)
    assert b"Infinity" not in done.stdout and b"NaN" not in done.stdout


def test_f28_a_tool_argument_with_a_number_beyond_measure_keeps_its_path(antigravity):
    args = '{"AbsolutePath":"/w/kept.py","n":' + "9" * 5_000 + "}"
    row = json.loads(antigravity.said("Look."))
    row["tool_calls"] = [{"name": "view_file", "args": args}]
    text = antigravity.fire(joined(antigravity.user("One."), dump(row)))
    assert "view_file kept.py" in text


def test_f28_a_number_beyond_measure_in_the_history_hides_no_workspace(antigravity):
    file = antigravity.work / "notes.py"
    file.write_text("as it is on disk\n")
    row = {"display": "x", "conversationId": SESSION, "workspace": str(antigravity.work), "timestamp": 1}
    raw = json.dumps(row).replace('"timestamp": 1', '"timestamp": ' + "1" * 5_000)
    (antigravity.app / "history.jsonl").write_text(raw + "\n")
    data = joined(antigravity.user("One."), antigravity.said("Look.", ("read", str(file))), antigravity.boundary())
    antigravity.path.write_bytes(data)
    assert "as it is on disk" in antigravity.asked(workspacePaths=[str(antigravity.work / "elsewhere")])


def test_f30_order_space_and_escapes_of_members_hide_no_boundary(antigravity):
    talk = joined(antigravity.user("Ask."))
    record = json.loads(antigravity.boundary())
    odd = ", \t".join(f"{json.dumps(key)} : {json.dumps(record[key])}" for key in reversed(record))
    odd = odd.replace('"type"', '"\\u0074ype"').replace('"CHECKPOINT"', '"CHECKP\\u004fINT"')
    antigravity.path.write_bytes(talk + b"{ %s }\n" % odd.replace('"step_index"', '"step\\u005findex"').encode())
    assert len(antigravity.hook(SESSION)) == 1


@pytest.mark.parametrize("escaped", ["type", "uuid", "parentUuid", "message", "content", "step_index"])
def test_f30_an_escaped_member_is_the_plain_one(world, escaped):
    key = "".join(f"\\u{ord(letter):04x}" for letter in escaped)
    lines = [world.user("One."), world.said("Two."), world.user("Three.")]
    odd = [line.replace(b'"%s":' % escaped.encode(), b'"%s" : ' % key.encode()) for line in lines]
    text = world.fire(joined(*odd))
    assert all(words in text for words in ("One.", "Two.", "Three."))


WRONG = [None, True, 3, 3.5, "7", [], [1], {}, {"a": 1}]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_f33_a_member_of_the_wrong_type_hides_no_other_record(world, wrong):
    """Each member of a record in turn; the records around it come back."""
    before, within, after = world.user("Before."), world.said("Within.", ("run", "make it")), world.user("After.")
    lines = [before]
    for line in within.split(b"\n"):
        row = json.loads(line)
        for name in row:
            if name not in ("parentUuid", "uuid", "isSidechain"):
                lines.append(dump({**row, name: wrong}))
        if "message" in row:
            lines += [dump({**row, "message": {**row["message"], name: wrong}}) for name in row["message"]]
    lines.append(after)
    if world.name == "claude-code":
        lines = [line.replace(json.loads(line).get("uuid", "").encode(), b"odd-%d" % at) if 0 < at < len(lines) - 1
                 else line for at, line in enumerate(lines)]  # fmt: skip
    text = world.fire(joined(*lines))
    assert "Before." in text and "After." in text


def test_f33_the_scanner_keeps_a_record_whose_members_are_of_the_wrong_type(impl, tmp_path):
    rows = [{"step_index": "7", "type": 3, "content": 3}, {"message": None, "uuid": 1}]
    path = write_lines(tmp_path / "t", rows)
    found = impl.iter_steps(path)
    assert [(each.index, each.type, each.json()) for each in found] == [(None, None, row) for row in rows]
    assert found.damaged == 0


def test_f34_a_record_of_a_type_to_come_is_kept_and_counted(impl, tmp_path):
    rows = [step(1), {"version": 9, **step(2, "TO_COME")}, {"format": "v9", "payload": [1]}]
    path = write_lines(tmp_path / "t", rows)
    tail = impl.scan_tail(path)
    assert (tail.lines, tail.damaged, tail.last_step) == (3, 0, 2)
    assert [each.type for each in impl.iter_steps(path)] == ["PLANNER_RESPONSE", "TO_COME", None]


def test_f34_records_of_types_to_come_hide_nothing(world):
    lines = [world.user("One."), world.other("to-come", version=9), world.user("Two."), b'{"format":"v9"}']
    text = world.fire(joined(*lines, world.other("TO_COME"), world.user("Three.")))
    assert all(words in text for words in ("One.", "Two.", "Three."))


SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"


def test_f64_secrets_are_masked_wherever_they_stand(world):
    file = world.work / "config.py"
    file.write_text(f'TOKEN = "{SECRET}"\n')
    lines = [
        world.user(f"Use {SECRET}, please."),
        world.said(f"I use {SECRET}.", ("run", f"curl https://me:{SECRET}@example.org/x"), ("edit", str(file))),
        world.user(f"A diff:\n-old\n+token = '{SECRET}'"),
    ]
    text = world.fire(joined(*lines))
    assert SECRET not in text and "[redacted: " in text
    if world.name == "claude-code":
        assert SECRET not in world.whole() and "[redacted: " in world.whole()


def test_f64_a_string_of_high_entropy_alone_is_left_as_it_is(world):
    digest = "3f786850e387550fdab836ed7e6dc881de23001b"
    assert digest in world.fire(joined(world.user(f"See commit {digest}."), world.user("Go on.")))
