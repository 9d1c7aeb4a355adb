"""Generates readings of twenty sensors as CSV: `python record.py 200000 > sensors.csv`."""

import random
import sys
from datetime import UTC, datetime, timedelta

rows = int(sys.argv[1])
chance = random.Random(1)
time = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
print("time,sensor,kind,value")
for _ in range(rows):
    time += timedelta(milliseconds=chance.randrange(20))
    kind = "reset" if chance.random() < 0.001 else "reading"
    value = "" if kind == "reset" else chance.randrange(1000)
    print(f"{time.isoformat(timespec='milliseconds')},hall-{chance.randrange(20)},{kind},{value}")
