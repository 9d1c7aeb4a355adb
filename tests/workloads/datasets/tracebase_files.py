"""Files of Tracebase, as their readings were published."""

from datetime import UTC, datetime
from pathlib import Path

from tests.workloads.datasets.files import text_file

DAY = int(datetime(2012, 1, 21, tzinfo=UTC).timestamp())
WEEK = "smartplug/tracebase_complete_2012-01-16_22.tar.xz"


def day_file(folder: Path, *lines: str, name: str = "Lamp/dev_A_2012.01.21.csv") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return text_file(path, *lines)


def at(second: int, *watts: object) -> str:
    time = datetime.fromtimestamp(DAY + second, UTC).strftime("%d/%m/%Y %H:%M:%S")
    return ";".join([time, *map(str, watts)])
