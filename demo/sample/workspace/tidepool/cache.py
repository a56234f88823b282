"""Extremes of a station and day, computed once.  The key is the digest of the constants, never the file's time."""

import hashlib
import json
from datetime import datetime, timezone

from tidepool.harmonics import extremes


class Cache:
    """Holds at most `days` days; the oldest asked for goes first."""

    def __init__(self, days=14):
        self.days = days
        self._held = {}

    def extremes(self, station, day):
        """As harmonics.extremes for the 24 hours of the UTC date `day`."""
        key = self._key(station, day)
        if key not in self._held:
            start = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
            self._held[key] = extremes(station, start, 24)
            while len(self._held) > self.days:
                del self._held[next(iter(self._held))]
        return self._held[key]

    @staticmethod
    def _key(station, day):
        constants = json.dumps(station, sort_keys=True).encode()
        return hashlib.sha256(constants).hexdigest(), day.isoformat()
