"""python3 -m tidepool.cli STATION DAY: the high and low waters of a day, in the station's local time."""

import json
import sys
from datetime import datetime, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

from tidepool.harmonics import extremes

STATIONS = Path(__file__).parent.parent / "stations"


def main(station, day):
    """Print the table."""
    constants = json.loads((STATIONS / f"{station}.json").read_text())
    zone = ZoneInfo(constants["zone"])
    start = datetime.fromisoformat(day).replace(tzinfo=zone).astimezone(timezone.utc)
    for when, metres, kind in extremes(constants, start, 24):
        print(f"{when.astimezone(zone):%H:%M}  {kind:<4}  {metres:5.2f} m")


if __name__ == "__main__":
    main(*sys.argv[1:])
