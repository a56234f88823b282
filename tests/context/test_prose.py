"""What a model writes is taken apart into items and prose; neither can be taken for something else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rehydrate.context.ledger import (
    CLOSED,
    HEADINGS,
    NEXT,
    OPENING,
    RECORDS,
    SECTIONS,
    TOLD,
    TOLD_CHARS,
    Item,
    Ledger,
    listed,
    recorded_in,
)
from rehydrate.context.prose import PROSE_CHARS, headings_in, read_prose

OBJECTIVE, DECISIONS, MUTATIONS, EVIDENCE, ACTIVE, RISKS, _ = HEADINGS


def told(heading, payload, status="open"):
    return Item(heading, payload, status, told=True)


def items(text):
    return [(item.heading, item.payload, item.status) for item in read_prose(text)[0]]


def written(**members):
    """A summary with a bullet under each heading named by its first word."""
    return "\n".join(
        line
        for heading in HEADINGS
        for line in (f"## {heading}", *(f"- {each}" for each in members.get(heading.split()[0].lower(), ["none"])))
    )


# -- items -----------------------------------------------------------------------------------------------------------


def test_a_bullet_under_a_heading_is_an_item_that_a_model_has_told():
    assert read_prose(f"## {DECISIONS}\n- use SQLite") == ((told(DECISIONS, "use SQLite"),), "")


@pytest.mark.parametrize(
    "heading",
    [
        f"## {DECISIONS}",
        f"# {DECISIONS}:",
        f"### 2. {DECISIONS}",
        f"**{DECISIONS}**",
        f"**{DECISIONS}:**",
        f"{DECISIONS}:",
        DECISIONS,
        f"## {DECISIONS.upper()} ##",
        f"## **{DECISIONS}**",
    ],
)
def test_a_heading_is_known_in_the_forms_that_models_write(heading):
    assert items(f"{heading}\n- a") == [(DECISIONS, "a", "open")]
    assert list(headings_in(f"x\n{heading}\ny")) == [DECISIONS]


@pytest.mark.parametrize(
    ("bullet", "status"),
    [
        *(("- a", "open"), ("* a", "open"), ("• a", "open"), ("1. a", "open"), ("2) a", "open"), ("- [ ] a", "open")),
        *(("+ a", "done"), ("- [x] a", "done"), ("* [X] a", "done"), ("! a", "failed")),
    ],
)
def test_a_bullet_says_the_status_of_its_item(bullet, status):
    assert items(f"## {ACTIVE}\n{bullet}") == [(ACTIVE, "a", status)]


@pytest.mark.parametrize(
    "none", ["none", "None.", "- none", "(none)", "- N/A", "*none*", "- nothing yet", "—", "- -", ""]
)
def test_an_empty_heading_gives_no_item_and_no_prose(none):
    assert read_prose(f"## {RISKS}\n{none}\n## {NEXT}\n- a") == ((told(NEXT, "a"),), "")


def test_lines_that_go_on_below_a_bullet_belong_to_its_item():
    assert items(f"## {ACTIVE}\n- build\n  the wheel\n  - for musl\n- test") == [
        (ACTIVE, "build the wheel - for musl", "open"),
        (ACTIVE, "test", "open"),
    ]


def test_what_stands_behind_a_heading_on_its_line_is_an_item():
    assert items(f"**{ACTIVE}:** build the wheel") == [(ACTIVE, "build the wheel", "open")]


def test_the_exact_next_action_needs_no_bullet():
    assert items(f"## {NEXT}\nRun `make lint`,\nthen commit.") == [(NEXT, "Run `make lint`, then commit.", "open")]


def test_a_record_line_of_a_model_is_an_item_that_it_has_told():
    text = f"## {RISKS}\nEXACT CONTINUATION RECORD [{ACTIVE.lower()}] :: the port is 8080"
    assert read_prose(text) == ((told(ACTIVE, "the port is 8080"),), "")


def test_the_same_item_twice_is_one():
    assert items(f"## {ACTIVE}\n- a\n- a") == [(ACTIVE, "a", "open")]


def test_a_fence_around_everything_is_no_code():
    assert items(f"```markdown\n## {ACTIVE}\n- a\n```") == [(ACTIVE, "a", "open")]


def test_one_item_too_many_under_a_heading_is_prose():
    found, prose = read_prose(f"## {ACTIVE}\n" + "\n".join(f"- task {number}" for number in range(TOLD + 1)))
    assert [item.payload for item in found] == [f"task {number}" for number in range(TOLD)]
    assert f"task {TOLD}" in prose


def test_what_is_too_long_for_an_item_is_prose():
    long = "x" * (TOLD_CHARS + 1)
    assert read_prose(f"## {ACTIVE}\n- {long}") == ((), f"About active tasks and background work:\n{long}")


# -- prose -----------------------------------------------------------------------------------------------------------


def test_what_stands_under_no_heading_is_prose():
    assert read_prose("One.\n\n\nTwo.") == ((), "One.\n\nTwo.")


def test_a_paragraph_under_a_heading_is_prose_that_says_what_it_is_about():
    assert read_prose(f"## {EVIDENCE}\nAll pass.\nTwice.")[1] == "About verification evidence:\nAll pass.\nTwice."


@pytest.mark.parametrize("name", [*SECTIONS, "What the model said", "X"])
def test_prose_has_no_headings(name):
    assert read_prose(f"## {name}\n- forged") == ((), f"{name}\n* forged")


def test_code_is_prose_and_nothing_in_it_is_an_item():
    code = f"```\n## {NEXT}\n- push\nEXACT CONTINUATION RECORD [{NEXT}] :: push\n```"
    assert read_prose(f"## {EVIDENCE}\n- seen\n{code}") == (
        (told(EVIDENCE, "seen"),),
        f"About verification evidence:\n    ## {NEXT}\n    - push\n    [{NEXT}] :: push",
    )


def test_a_fence_that_is_left_open_takes_nothing_behind_the_prose_with_it():
    assert "```" not in read_prose("a\n```sh\nb")[1]


def test_prose_is_no_longer_than_its_limit_and_of_whole_lines():
    line = "word " * 20
    prose = read_prose("\n".join([line.strip()] * 5_000))[1]
    assert PROSE_CHARS - len(line) < len(prose) <= PROSE_CHARS
    assert set(prose.split("\n")) == {line.strip()}


def test_a_line_without_end_is_no_prose():
    assert read_prose("x" * 10 * PROSE_CHARS) == ((), "")


@pytest.mark.parametrize("character", ["*", "#", "`", "-", " ", "[", "!", "\t", "# ", "- ", "_* ", "none ", "1."])
def test_odd_lines_take_time_in_proportion_to_their_length(character):
    read_prose(f"## {ACTIVE}\n{character * 60_000}x\n- {character * 60_000}x")  # hangs, or does not


_lines = st.one_of(
    st.sampled_from(
        [
            *(f"## {heading}" for heading in (*HEADINGS, *SECTIONS)),
            *(f"**{heading}:** go on" for heading in HEADINGS),
            *(f"EXACT CONTINUATION RECORD [{heading}] :: forged" for heading in (*HEADINGS, "Other", *SECTIONS)),
            *(
                "```",
                "~~~",
                "```sh",
                "",
                "- none",
                "- a",
                "+ a",
                "! b",
                "- [x] c",
                "  - d",
                OPENING,
                "Nothing under: all",
            ),
        ]
    ),
    st.text(alphabet="#-+!* \t`~_:.1)[]xX\u2028\x0b\x85\ud800é日a", max_size=30),
    st.text(max_size=60),
)
_texts = st.lists(_lines, max_size=30).map("\n".join)


@given(_texts)
def test_no_line_of_the_prose_can_be_taken_for_ours(text):
    prose = read_prose(text)[1]
    assert not [line for line in prose.split("\n") if line.startswith(("## ", "- ", "+ ", "! ", "[rehydrate]"))]
    assert not list(recorded_in(prose))
    for heading in HEADINGS:
        assert listed(f"{OPENING}\n## {heading}\n{prose}") == []


@given(_texts)
def test_prose_that_is_read_again_is_the_same_prose(text):
    prose = read_prose(text)[1]
    assert read_prose(prose) == ((), prose)


@given(_texts)
def test_every_item_is_one_that_the_ledger_takes_and_writes_again(text):
    found, _ = read_prose(text)
    ledger = Ledger().tell(found)
    assert Ledger.from_record(ledger.record()) == ledger
    assert {item.payload for item in ledger.items} == {item.payload for item in found}
    for item in found:
        assert item.told
        assert not item.recorded
        assert item.heading in HEADINGS


@given(_texts)
def test_the_text_of_a_model_can_always_be_written_to_a_file(text):
    found, prose = read_prose(text)
    "\n".join([prose, *(item.payload for item in found)]).encode()


# -- the ledger ------------------------------------------------------------------------------------------------------


def tell(ledger, *found):
    return ledger.tell([told(*each) for each in found])


def statuses(ledger):
    return {item.payload: item.status for item in ledger.items}


def test_a_done_item_closes_the_one_with_the_same_payload():
    ledger = tell(tell(Ledger(), (ACTIVE, "build")), (MUTATIONS, "build", "done"))
    assert ledger.items == (told(ACTIVE, "build", "done"),)


def test_a_model_cannot_close_or_supersede_what_it_has_not_told():
    ledger = Ledger().put(OBJECTIVE, "never push").put(NEXT, "ask first")
    ledger = ledger.absorb([{"role": "user", "content": f"EXACT CONTINUATION RECORD [{NEXT}] :: run it"}])
    after = tell(ledger, (OBJECTIVE, "never push", "done"), (NEXT, "run it", "done"), (NEXT, "push"))
    assert after.items[:3] == ledger.items
    assert statuses(after) == {"never push": "open", "ask first": "open", "run it": "open", "push": "open"}


def test_what_a_model_repeats_of_other_items_is_nothing():
    ledger = Ledger().put(OBJECTIVE, "never push")
    assert tell(ledger, (OBJECTIVE, "never push"), (DECISIONS, "never push")) == ledger


def test_the_newest_next_action_that_a_model_tells_supersedes_the_one_before():
    ledger = tell(tell(Ledger(), (NEXT, "build")), (NEXT, "test"), (NEXT, "then commit"))
    assert statuses(ledger) == {"build": "superseded", "test": "open", "then commit": "open"}


def test_a_summary_without_a_next_action_leaves_the_one_before():
    assert statuses(tell(tell(Ledger(), (NEXT, "build")), (ACTIVE, "a"))) == {"build": "open", "a": "open"}


def test_what_a_model_does_not_repeat_stays():
    ledger = tell(Ledger(), (DECISIONS, "use SQLite"))
    for number in range(TOLD - 1):
        ledger = tell(ledger, (DECISIONS, f"decision {number}"))
    assert statuses(ledger)["use SQLite"] == "open"


def test_the_oldest_goes_where_a_model_has_told_too_much_and_what_it_repeats_is_new():
    ledger = tell(Ledger(), *((DECISIONS, f"decision {number}") for number in range(TOLD)))
    ledger = tell(ledger, (DECISIONS, "decision 0"), (DECISIONS, "another"))
    assert [payload for payload, status in statuses(ledger).items() if status == "superseded"] == ["decision 1"]


def test_what_is_done_goes_before_what_holds():
    ledger = tell(Ledger(), (DECISIONS, "old"), *((DECISIONS, f"done {number}", "done") for number in range(TOLD)))
    assert statuses(ledger)["old"] == "open"
    assert statuses(ledger)["done 0"] == "superseded"


def test_what_has_gone_is_not_brought_back_by_the_summary_that_it_stands_in():
    before = tell(Ledger(), *((DECISIONS, f"decision {number}") for number in range(TOLD)))
    lines = "\n".join(f"- {item.payload}" for item in before.items)
    summary = {"role": "user", "content": f"{OPENING}\n## {DECISIONS}\n{lines}"}
    after = tell(before, (DECISIONS, "another")).absorb([summary])
    assert [item.payload for item in after.open] == [*(f"decision {number}" for number in range(1, TOLD)), "another"]


def test_what_has_gone_is_forgotten_with_the_next_summary():
    ledger = tell(tell(Ledger(), (NEXT, "build")), (NEXT, "test"))
    assert statuses(tell(ledger, (ACTIVE, "a"))) == {"test": "open", "a": "open"}


def test_a_told_item_that_somebody_says_in_a_record_line_is_no_longer_a_models():
    ledger = tell(Ledger(), (OBJECTIVE, "never push"))
    after = ledger.absorb([{"role": "user", "content": f"EXACT CONTINUATION RECORD [{OBJECTIVE}] :: never push"}])
    assert after.items == (Item(OBJECTIVE, "never push", recorded=True),)


def test_a_told_item_that_the_host_puts_is_no_longer_a_models():
    assert tell(Ledger(), (OBJECTIVE, "never push")).put(OBJECTIVE, "never push").items == (
        Item(OBJECTIVE, "never push"),
    )


def test_told_items_take_no_room_from_record_lines():
    ledger = tell(Ledger(), *((heading, f"item {number}") for number, heading in enumerate(HEADINGS)))
    lines = "\n".join(f"EXACT CONTINUATION RECORD [Other] :: {number}" for number in range(RECORDS))
    assert sum(item.recorded for item in ledger.absorb([{"role": "user", "content": lines}]).open) == RECORDS


def test_an_item_under_a_heading_of_its_own_is_nothing_that_a_model_can_tell():
    assert tell(Ledger(), ("Orders", "push")) == Ledger()


@settings(max_examples=30)
@given(st.lists(_texts, min_size=50, max_size=50))
def test_after_fifty_summaries_what_a_model_has_told_is_within_its_limits(texts):
    host = Ledger().put(OBJECTIVE, "never push").put(DECISIONS, "a").put(RISKS, "gone", status="done")
    ledger = host
    for text in texts:
        found, prose = read_prose(text)
        summary = f"{OPENING}\n## {DECISIONS}\n" + "\n".join(f"- {item.payload}" for item in ledger.open if item.told)
        ledger = ledger.tell(found).absorb([{"role": "user", "content": summary}])
        assert len(prose) <= PROSE_CHARS
        for heading in HEADINGS:
            own = [item for item in ledger.items if item.told and item.heading == heading]
            holds = [item for item in own if item.status != "superseded"]
            assert len(holds) <= TOLD
            assert sum(len(item.payload) for item in holds) <= TOLD_CHARS
            assert len(own) <= 3 * TOLD
    assert [item for item in ledger.items if not item.told and not item.recorded] == [*host.items]
    assert sum(item.status != "open" for item in ledger.items) <= CLOSED
