"""300 random conversations cut to half and to a tenth of their tokens, on every format: none invalid, none over its
budget, none without what the user asked last.  Judge and counting are those of `harness`, which is not ours.
"""

import os
import subprocess
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path

import pytest

from rehydrate.context.meter import Meter
from rehydrate.context.tokens import default_counter
from rehydrate.context.trimming import trim
from tests.context.harness.made import conversation
from tests.context.harness.measures import A_MESSAGE, request_kept, texts, tokens
from tests.context.harness.rules import faults, opens_with_user
from tests.context.harness.written import FORMATS, written

ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(300)
FRACTIONS = (0.5, 0.1)
ROOM = 120
"""Tokens that what stands for the rest may take before a request that would fit alone is cut: its opening line, that
something was left out.
"""
count = cache(default_counter().count)
made_once = cache(conversation)
METER = Meter()


def cut_to(made, form, fraction):
    """What was there, what is left, and the budget."""
    wire = written(made, form)
    budget = int(tokens(wire, form, count) * fraction)
    return wire, trim(wire, budget=budget, format=form, meter=METER), budget


def least(wire, form, request):
    """Tokens of the leading system messages and the request, with nothing else."""
    system = [message for message in wire[:1] if message.get("role") in ("system", "developer")]
    return tokens(system, form, count) + A_MESSAGE + count(request)


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_left_is_valid_within_its_budget_and_holds_the_last_request(form, fraction):
    wrong = {}
    for seed in SEEDS:
        made = made_once(seed)
        wire, left, budget = cut_to(made, form, fraction)
        found = faults(left, form, source=wire)
        if not opens_with_user(left, form):
            found.append("the user does not say the first thing")
        if (size := tokens(left, form, count)) > budget:
            found.append(f"{size} tokens of {budget}")
        request = request_kept(left, form, made.last_request)
        if request == "lost" or (request == "cut" and least(wire, form, made.last_request) + ROOM <= budget):
            found.append(f"the last request is {request}")
        if found:
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_given_is_not_changed_and_gives_the_same_again(form):
    for seed in range(0, 300, 15):
        made = conversation(seed)
        wire, left, budget = cut_to(made, form, 0.1)
        assert wire == written(made, form)
        assert trim(deepcopy(wire), budget=budget, format=form, meter=Meter()) == left


@pytest.mark.parametrize("form", FORMATS)
def test_what_fits_loses_nothing(form):
    """Though it is put in order."""
    for seed in range(0, 300, 15):
        wire = written(conversation(seed), form)
        left = trim(wire, budget=10 * tokens(wire, form, count) + 20_000, format=form, meter=METER)
        assert sorted(texts(left, form)) == sorted(texts(wire, form))
        assert faults(left, form, source=wire) == []


@pytest.mark.parametrize("form", FORMATS)
def test_what_was_cut_is_not_cut_again_by_the_same_budget(form):
    for seed in range(0, 300, 15):
        _, left, budget = cut_to(conversation(seed), form, 0.1)
        assert trim(left, budget=budget, format=form, meter=METER) == left


@pytest.mark.parametrize("form", FORMATS)
def test_fifty_rounds_of_going_on_and_cutting_stay_valid_and_bounded(form):
    """Each round what the next conversation says comes after what is left."""
    budget = 3_000
    left = []
    for seed in range(50):
        made = conversation(seed, messages=20)
        source = left + written(made, form)[form == "openai-chat" and seed > 0 :]
        left = trim(source, budget=budget, format=form, meter=METER)
        assert faults(left, form, source=source) == [], seed
        assert tokens(left, form, count) <= budget, seed
        assert request_kept(left, form, made.last_request) != "lost", seed


def test_the_same_bytes_come_out_of_every_process():
    """Whatever the seed of its hashes is."""
    code = (
        "import hashlib, json\n"
        "from rehydrate.context.trimming import trim\n"
        "from tests.context.harness.made import conversation\n"
        "from tests.context.harness.written import FORMATS, written\n"
        "cut = [trim(written(conversation(s), f), budget=b, format=f) for s in range(8) for f in FORMATS\n"
        "       for b in (1000, 4000)]\n"
        "print(hashlib.sha256(json.dumps(cut).encode()).hexdigest())"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(hashes) == 1
