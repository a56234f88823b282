"""What providers say that a call was, each in its own words."""

import pytest

from rehydrate.context.usage import PROVIDERS, Usage, usage_of

CHAT = {
    "prompt_tokens": 9_000,
    "completion_tokens": 500,
    "total_tokens": 9_500,
    "prompt_tokens_details": {"cached_tokens": 8_000},
    "completion_tokens_details": {"reasoning_tokens": 300},
}
RESPONSES = {
    "input_tokens": 9_000,
    "output_tokens": 500,
    "total_tokens": 9_500,
    "input_tokens_details": {"cached_tokens": 8_000},
    "output_tokens_details": {"reasoning_tokens": 300},
}
ANTHROPIC = {
    "input_tokens": 12,
    "cache_read_input_tokens": 150_000,
    "cache_creation_input_tokens": 900,
    "output_tokens": 500,
    "cache_creation": {"ephemeral_5m_input_tokens": 900},
}
GEMINI = {
    "promptTokenCount": 9_000,
    "cachedContentTokenCount": 8_000,
    "candidatesTokenCount": 200,
    "thoughtsTokenCount": 300,
    "totalTokenCount": 9_500,
}
BEDROCK = {
    "inputTokens": 100,
    "outputTokens": 500,
    "cacheReadInputTokens": 8_000,
    "cacheWriteInputTokens": 900,
    "totalTokens": 9_500,
}


@pytest.mark.parametrize(
    ("provider", "raw", "usage", "floor"),
    [
        ("openai-chat", CHAT, Usage(9_000, 500, 9_500), 9_500),
        ("openai-responses", RESPONSES, Usage(9_000, 500, 9_500), 9_500),
        ("anthropic", ANTHROPIC, Usage(150_912, 500, None), 151_412),
        ("gemini", GEMINI, Usage(9_000, 500, 9_500), 9_500),
        ("bedrock", BEDROCK, Usage(9_000, 500, 9_500), 9_500),
    ],
)
def test_t16_what_was_cached_is_counted_once(provider, raw, usage, floor):
    assert usage_of(raw, provider=provider) == usage
    assert usage_of(raw, provider=provider).floor == floor


def test_t18_of_anthropic_all_three_parts_of_the_prompt_count():
    alone = {"input_tokens": 12, "output_tokens": 500}
    assert usage_of(alone, provider="anthropic").floor == 512
    assert usage_of({**alone, "cache_read_input_tokens": 150_000}, provider="anthropic").floor == 150_512
    assert usage_of({**alone, "cache_creation_input_tokens": 900}, provider="anthropic").floor == 1_412


@pytest.mark.parametrize(
    ("provider", "raw"),
    [
        ("openai-responses", {"total_token_usage": RESPONSES, "last_token_usage": RESPONSES}),
        ("openai-responses", {"total": RESPONSES, "last": RESPONSES}),
        ("openai-chat", {"requests": 3, **CHAT}),
        ("anthropic", {"num_turns": 7, **ANTHROPIC}),
        ("anthropic", {"modelUsage": {"some-model": {"inputTokens": 1}}, **ANTHROPIC}),
        ("gemini", {"cumulativeUsage": GEMINI}),
        ("bedrock", {"accumulated_usage": BEDROCK}),
        ("openai-chat", {"session_token_usage": CHAT}),
    ],
)
def test_t17_a_sum_over_several_calls_is_refused(provider, raw):
    with pytest.raises(ValueError, match="sum over several calls; give that of the last call"):
        usage_of(raw, provider=provider)


def test_t17_the_usage_of_one_request_is_taken():
    assert usage_of({"requests": 1, **CHAT}, provider="openai-chat").floor == 9_500


def test_of_several_passes_of_anthropic_the_last_message_counts():
    passes = [
        {"type": "message", "input_tokens": 180_000, "output_tokens": 10},
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {"type": "message", "input_tokens": 23_000, "cache_read_input_tokens": 1_000, "output_tokens": 1_000},
        {"type": "compaction", "input_tokens": 99_000, "output_tokens": 1},
    ]
    assert usage_of({**ANTHROPIC, "iterations": passes}, provider="anthropic") == Usage(24_000, 1_000, None)


@pytest.mark.parametrize("passes", [[], None, [None], [{"type": "compaction"}]])
def test_without_a_message_among_the_passes_the_whole_counts(passes):
    assert usage_of({**ANTHROPIC, "iterations": passes}, provider="anthropic").floor == 151_412


def test_names_in_snake_case_count_too():
    gemini = {"prompt_token_count": 9, "candidates_token_count": 2, "thoughts_token_count": None}
    assert usage_of(gemini, provider="gemini") == Usage(9, 2, None)


def test_the_floor_is_the_greater_of_the_total_and_the_parts():
    assert Usage(9, 2, 15).floor == 15
    assert Usage(9, 2, 3).floor == Usage(9, 2, None).floor == 11
    assert Usage(9, None, 15).floor == Usage(None, None, 15).floor == 15


def test_one_part_alone_is_no_floor():
    assert Usage(9, None, None).floor is None
    assert Usage(None, 2, None).floor is None


@pytest.mark.parametrize("wrong", [-1, 12.0, True, "12", None, float("nan"), [12], {"a": 1}])
def test_only_whole_numbers_from_zero_count(wrong):
    assert usage_of({**CHAT, "prompt_tokens": wrong}, provider="openai-chat") == Usage(None, 500, 9_500)
    assert usage_of({**CHAT, "total_tokens": wrong}, provider="openai-chat") == Usage(9_000, 500, None)


@pytest.mark.parametrize("wrong", [-1, 12.0, True, "12"])
def test_a_part_that_is_no_count_spoils_the_sum(wrong):
    assert usage_of({**ANTHROPIC, "cache_read_input_tokens": wrong}, provider="anthropic").floor is None


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_without_usage_says_nothing(provider):
    assert usage_of({}, provider=provider) == Usage(None, None, None)
    assert usage_of({}, provider=provider).floor is None


def test_a_provider_that_is_not_known_is_an_error():
    with pytest.raises(ValueError, match="'mistral' is no provider whose usage is known; there are openai-chat, "):
        usage_of(CHAT, provider="mistral")
