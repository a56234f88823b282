"""Which sentences may still hold later, and what they weigh."""

import pytest

from rehydrate.context.signs import FACT, PROHIBITION, RULE, weight
from tests.context.said import said


@pytest.mark.parametrize(
    "text",
    [
        "Never commit to main.",
        "never use sudo",
        "Don't touch the generated files.",
        "Do not push until Maria Lopez has reviewed it.",
        "No new dependencies, please.",
        "Always run the linter before committing.",
        "You must keep the public API stable.",
        "Make sure every function has a docstring.",
        "From now on, answer in German.",
        "Only Python 3.11 is allowed.",
        "Keep the image below 200 MB.",
        "Ask me before you delete anything.",
        "For database changes, use migrations.",
        "When a test fails, stop and tell me.",
        "I prefer tabs over spaces.",
        "We like small commits.",
        "I'd rather have one long file.",
        "Please keep answers short.",
        "stop adding comments everywhere",
        "The key is in .env, don't commit it.",
        "Everything has to be accessible.",
        "Write every comment in English.",
        "Please use snake_case for columns.",
        "Use fetch instead of axios.",
        "remember that we ship on Fridays",
        "We use vitest, not jest.",
        "We decided against Redis, it lost writes.",
        "Let's go with option B.",
        "The endpoint should return 404, not 403.",
        "I'm on Windows, so use PowerShell.",
        "My name is Priya.",
        "The staging host is stage-3.example.org.",
        "The deadline is 2027-03-01.",
        "We now deploy on Thursday.",
        "The budget is 500 euros.",
        "The service runs on port 8080.",
        "IMPORTANT: the schema is frozen",
        "Deadline: Friday",
        "Note: the cache is cold after a deploy",
        "Commit niemals auf main.",
        "Antworte immer auf Deutsch.",
        "Keine neuen Abhängigkeiten.",
        "Ne modifie jamais le schéma.",
        "Toujours écrire des tests.",
        "Bitte keine Kommentare im Code.",
        "请用中文回答。",
        "Nunca borres la base de datos.",
        "Sempre execute os testes.",
        "Non toccare mai questo file.",
        "Никогда не удаляй данные.",
        "不要修改生成的文件。",
        "总是先运行测试。",
        "預算上限是500美元。",
        "絶対にmainへpushしないでください。",
        "항상 한국어로 답해 주세요.",
    ],
)
def test_what_may_hold_later_is_found_word_for_word(text):
    assert said(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "Thanks!",
        "Fix the failing test in tests/test_a.py.",
        "Can you add a button?",
        "Should we never commit to main?",
        "Why is the port 8080?",
        "Let me know how it went.",
        "I don't understand the error.",
        "It must be a race somewhere.",
        "I think the deadline is Friday.",
        "Look at src/a.py and tell me what it does.",
        "This never worked before.",
        "I always get this error.",
        "The bug only happens in Safari.",
        "I want to refactor the auth module.",
        "I've pushed the branch feature/login, PR #482.",
        "Update every import in src.",
    ],
)
def test_what_is_asked_once_guessed_or_logged_is_not(text):
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Never push.", PROHIBITION),
        ("You add comments. Don't do that.", PROHIBITION),
        ("Always pull.", RULE),
        ("I prefer tabs.", RULE),
        ("We decided against Redis.", RULE),
        ("The port is 80.", FACT),
    ],
)
def test_what_must_not_happen_weighs_most_and_facts_least(text, expected):
    assert weight(text) == expected
