"""Tide heights from harmonic constants.  Times are UTC, heights metres above chart datum, never rounded."""

import math
from datetime import datetime, timedelta, timezone

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
SPEEDS = {"M2": 28.9841042, "S2": 30.0, "N2": 28.4397295, "K1": 15.0410686, "O1": 13.9430356}
"""Degrees an hour of each constituent."""
PRECISION = timedelta(seconds=20)


def height(station, when):
    """Height at `when`; `station` is one of stations/*.json as a dict."""
    hours = (when - EPOCH).total_seconds() / 3600
    return station["mean_level"] + sum(
        part["amplitude"] * math.cos(math.radians(SPEEDS[name] * hours - part["phase"]))
        for name, part in station["constituents"].items()
    )


def slope(station, when):
    """Metres an hour; positive on the flood."""
    hours = (when - EPOCH).total_seconds() / 3600
    return -sum(
        part["amplitude"]
        * math.radians(SPEEDS[name])
        * math.sin(math.radians(SPEEDS[name] * hours - part["phase"]))
        for name, part in station["constituents"].items()
    )


def extremes(station, start, hours):
    """(when, height, "high" or "low") in order.  Looks every 20 minutes: no two extremes of a tide are closer."""
    found = []
    step = timedelta(minutes=20)
    left, before = start, slope(station, start)
    while left < start + timedelta(hours=hours):
        right = left + step
        after = slope(station, right)
        if before * after < 0:
            when = _crossing(station, left, right)
            found.append((when, height(station, when), "high" if before > 0 else "low"))
        left, before = right, after
    return found


def _crossing(station, left, right):
    rising = slope(station, left) > 0
    while right - left > PRECISION:
        middle = left + (right - left) / 2
        if (slope(station, middle) > 0) == rising:
            left = middle
        else:
            right = middle
    return left + (right - left) / 2
