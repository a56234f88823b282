"""The times of records, in whatever way they are written."""

import pytest

from rehydrate.clients.antigravity.records import time_of

NOON_S = 1_772_366_400.0
"""2026-03-01T12:00:00Z."""


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("2026-03-01T12:00:00Z", NOON_S),
        (" 2026-03-01t12:00:00 z ", NOON_S),
        ("2026-03-01 12:00:00", NOON_S),
        ("2026-03-01T13:30:00+01:30", NOON_S),
        ("2026-03-01T10:30:00-0130", NOON_S),
        ("2026-03-01T12:00:00.25Z", NOON_S + 0.25),
        ("2026-03-01T12:00:00,123456789123Z", NOON_S + 0.123456789),
        ("2026-03-01T11:59:60Z", NOON_S),
        ("1969-12-31T23:59:59Z", -1.0),
        ("0001-01-01T00:00:00Z", -62_135_596_800.0),
        ("9999-12-31T23:59:59Z", 253_402_300_799.0),
    ],
)
def test_a_time_is_read_however_it_is_written(text, time_s):
    assert time_of(text) == time_s


@pytest.mark.parametrize(
    "text",
    [
        *("", "some day", "2026-03-01", "2026-03-01T12:00Z", "20260301T120000Z", "2026-W09-7T12:00:00Z"),
        *("2026-02-30T12:00:00Z", "2026-00-01T12:00:00Z", "0000-01-01T12:00:00Z"),
        *("2026-03-01T24:00:00Z", "2026-03-01T12:60:00Z", "2026-03-01T12:00:61Z"),
        *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "2026-03-01T1٢:00:00Z", None, 7),
    ],
)
def test_what_is_no_time_of_the_years_1_to_9999_has_none(text):
    assert time_of(text) is None
