import json
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tidepool.harmonics import extremes, height

REYKJAVIK = json.loads((Path(__file__).parent.parent / "stations" / "reykjavik.json").read_text())
EQUINOX = datetime(2026, 3, 20, tzinfo=timezone.utc)


class Extremes(unittest.TestCase):
    def test_high_and_low_water_alternate(self):
        kinds = [kind for _, _, kind in extremes(REYKJAVIK, EQUINOX, 48)]
        self.assertTrue(all(one != other for one, other in zip(kinds, kinds[1:])))

    def test_an_extreme_is_higher_or_lower_than_what_is_around_it(self):
        for when, metres, kind in extremes(REYKJAVIK, EQUINOX, 24):
            for other in (when - timedelta(minutes=30), when + timedelta(minutes=30)):
                around = height(REYKJAVIK, other)
                self.assertTrue(metres > around if kind == "high" else metres < around)


if __name__ == "__main__":
    unittest.main()
