"""settings: what the environment may change, and what is said of a bad value."""

import pytest

from rehydrate.settings import Settings, read_settings


def test_with_nothing_set_the_defaults_hold():
    assert read_settings({}) == (Settings(), [])


def test_a_value_in_the_environment_wins():
    settings, problems = read_settings({"REHYDRATE_REQUESTS_CHARS": "100", "REHYDRATE_REDACT": "off"})
    assert (settings.requests_chars, settings.redact, problems) == (100, False, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("REQUESTS_CHARS", "-1"),
        ("REQUESTS_CHARS", "many"),
        ("REQUESTS_CHARS", ""),
        ("REQUESTS_CHARS", "1e3"),
        ("REQUESTS_CHARS", "٣"),
        ("PART_BYTES", "10"),
        ("PART_BYTES", "60000"),
        ("REDACT", "perhaps"),
    ],
)
def test_a_bad_value_is_named_and_the_default_holds(key, value):
    settings, problems = read_settings({f"REHYDRATE_{key}": value})
    assert settings == Settings()
    assert len(problems) == 1 and f"REHYDRATE_{key}" in problems[0]


def test_half_the_room_is_half_of_every_section_and_the_third_time_only_requests_remain():
    half, third = Settings().halved(), Settings().requests_only()
    assert (half.requests_chars, half.dialogue_chars, half.documents_chars, half.files_chars) == (
        12_000,
        21_000,
        10_000,
        24_000,
    )
    assert (third.requests_chars, third.dialogue_chars, third.documents_chars, third.files_chars) == (12_000, 0, 0, 0)
