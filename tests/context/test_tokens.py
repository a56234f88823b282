"""Counting tokens: exactly, or without the vocabulary."""

import base64
import importlib.util
import random
import subprocess
import sys

import pytest

from rehydrate.context import tokens
from rehydrate.context.tokens import Estimate, Exact, Learnt, default_counter
from tests.context import kinds

needs_exact = pytest.mark.skipif(
    isinstance(default_counter(), Estimate), reason="the exact count is not there: bpe-openai has no wheel for here"
)

COUNTERS = [pytest.param(Exact, marks=needs_exact, id="exact"), pytest.param(Estimate, id="estimate")]


KNOWN = {
    "hello world": 2,
    "def f(x):\n    return [i ** 2 for i in range(x)]\n": 17,
    "We'll see what they've said, DON'T we?": 9,
    "camelCaseNames and SNAKE_CASE_NAMES and __init__": 13,
    "1234567890 3.14159 0xDEADBEEF": 15,
    "naïve café — Zürich, ﬁne": 9,
    "请先检查配置文件是否存在。": 8,
    "データベースへの接続がタイムアウトしました": 12,
    "먼저 설정 파일이 있는지 확인해 주세요": 10,
    "Проверьте, существует ли файл настроек": 10,
    "تحقق من وجود الملف": 5,
    "हिन्दी में लिखा": 5,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f600\U0001f680": 11,
    "\t\t\r\n\r\n    \n  x": 5,
    "                                                                                ": 2,
    '{"ok":true,"n":[1,2.5,null]}': 14,
    "<|endoftext|>": 7,
    "\u2028\xa0\u3000\u200b": 4,
    "áé": 4,
    "'ſ 'S 'LL": 6,
}
"""Text -> its tokens in o200k, by OpenAI's own tiktoken 0.14.0."""


@needs_exact
@pytest.mark.parametrize("text", KNOWN, ids=ascii)
def test_the_exact_count_is_that_of_o200k(text):
    assert Exact().count(text) == KNOWN[text]


CJK = {"Chinese": 838, "Japanese": 1246, "Korean": 1022}
"""Kind -> tokens in o200k of its text of seed 23, by the same."""


@needs_exact
@pytest.mark.parametrize("kind", CJK)
def test_t23_chinese_japanese_and_korean_are_counted_as_the_tokenizer_does(kind):
    text = kinds.of(kind, 23)
    assert Exact().count(text) == CJK[kind]
    assert abs(Estimate().count(text) - CJK[kind]) < 0.15 * CJK[kind]
    assert CJK[kind] > 1.7 * len(text) / 4


def test_t25_base64_in_a_text_is_not_counted_as_prose():
    text = base64.b64encode(random.Random(1).randbytes(300_000)).decode()
    assert len(text) // 4 == 100_000
    assert abs(Estimate().count(text) - 272_772) < 0.15 * 272_772
    if default_counter().is_exact:
        assert default_counter().count(text) == 272_772


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("special", ["<|endoftext|>", "<|endofprompt|>"])
def test_what_looks_like_a_special_token_is_text(counter, special):
    assert counter().count(f"say {special} twice") > counter().count("say twice") + 3


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\0", "\U0010ffff", "\ufeff", "\u202e", "a" * 100_000])
def test_any_text_can_be_counted(counter, text):
    assert counter().count(text) > 0


@pytest.mark.parametrize("counter", COUNTERS)
def test_only_an_empty_text_is_nothing(counter):
    assert counter().count("") == 0
    assert counter().count(" ") == 1


@needs_exact
@pytest.mark.parametrize("unit", ["a", " ", "\n", "=", "é", "一", "7"])
def test_a_megabyte_of_one_letter_is_counted(unit):
    assert Exact().count(unit * 1_000_000) > 0


def run(*lines):
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    return done.stdout


@needs_exact
def test_the_exact_count_needs_no_network():
    closed = ("import socket", "def refuse(*_, **__): raise OSError", "socket.socket = socket.getaddrinfo = refuse")
    count = "from rehydrate.context.tokens import Exact; print(Exact().count('hello world'))"
    assert run(*closed, count) == "2\n"


@needs_exact
def test_the_package_itself_can_be_used_beside_it():
    ours = "from rehydrate.context.tokens import Exact; print(Exact().count('hello world'))"
    theirs = "import bpe_openai; print(len(bpe_openai.get_encoding('o200k_base').encode_ordinary('hello world')))"
    assert run(ours, theirs) == run(theirs, ours) == "2\n2\n"


@needs_exact
def test_the_compiled_part_is_loaded_once():
    ours = "from rehydrate.context.tokens import _compiled; one = _compiled()"
    theirs = "from bpe_openai import _bindings as two; print(one is two is _compiled())"
    assert run(ours, theirs) == "True\n"


@needs_exact
def test_only_the_compiled_part_is_loaded():
    assert run(
        "from rehydrate.context.tokens import Exact; Exact()", "import sys; print('bpe_openai' in sys.modules)"
    ) == ("False\n")


@pytest.fixture
def without_the_extra(monkeypatch):
    """As if it were not installed."""
    monkeypatch.delitem(sys.modules, "bpe_openai._bindings", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_without_the_extra_it_is_estimated(without_the_extra):
    counter = default_counter.__wrapped__()
    assert isinstance(counter, Estimate)
    assert not counter.is_exact
    with pytest.raises(ImportError, match=r"needs the extra `tokens`: pip install 'rehydrate\[tokens\]'"):
        Exact()


@needs_exact
def test_with_the_extra_it_is_exact():
    assert default_counter().is_exact
    assert default_counter() is default_counter()


def test_a_text_is_counted_once():
    counted = []
    remembered = tokens._Remembered(lambda text: counted.append(text) or len(text))
    assert [remembered("one"), remembered("two!"), remembered("one")] == [3, 4, 3]
    assert counted == ["one", "two!"]


def test_what_is_remembered_is_bounded_and_what_is_used_stays(monkeypatch):
    monkeypatch.setattr(tokens, "REMEMBERED_CHARS", 100)
    counted = []
    remembered = tokens._Remembered(lambda text: counted.append(text) or len(text))
    for number in range(1_000):
        remembered("kept")
        remembered(f"{number:010}")
    assert counted.count("kept") == 1
    assert sum(map(len, [*remembered._new, *remembered._old])) <= 2 * (100 + 10)


def test_another_vocabulary_is_bounded_by_what_was_seen():
    learnt = Learnt(Estimate())
    plain = Estimate().count("some words to count")
    assert learnt.count("some words to count") == plain
    learnt.learn(ours=10_000, theirs=12_500)
    assert learnt.count("some words to count") == -(-plain * 5 // 4)
    learnt.learn(ours=10_000, theirs=11_000)
    assert learnt.count("some words to count") == -(-plain * 5 // 4)
    assert not learnt.is_exact


def test_the_ratio_never_falls_below_one():
    learnt = Learnt(Estimate())
    learnt.learn(ours=10_000, theirs=5_000)
    assert learnt.count("some words to count") == Estimate().count("some words to count")


def test_what_a_provider_adds_to_a_small_request_teaches_nothing():
    learnt = Learnt(Estimate())
    learnt.learn(ours=Learnt.LEAST - 1, theirs=3_000)
    assert learnt.count("some words to count") == Estimate().count("some words to count")


def test_a_ratio_beyond_belief_is_cut():
    learnt = Learnt(Estimate())
    learnt.learn(ours=1_000, theirs=900_000)
    assert learnt.count("some words to count") == Learnt.MOST * Estimate().count("some words to count")
