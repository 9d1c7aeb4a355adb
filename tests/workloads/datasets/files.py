"""Raw files to import, and where the real ones are."""

import gzip
import json
import lzma
import os
from pathlib import Path

import pytest

from workloads.datasets.imports.access_log import COLUMNS

REAL = Path(os.environ.get("LAB_REAL_DATA") or Path(__file__).parents[4] / "shared" / "data")


def real(name: str) -> Path:
    path = REAL / name
    if not path.is_file():
        pytest.skip(f"real input {path} is not on this machine; LAB_REAL_DATA says where it is")
    return path


def log_line(
    ts: int, url: str, size: str, response: int = 200, host: str = "h", method: str = "GET"
) -> str:
    return "\t".join([host, "-", str(ts), method, url, str(response), size, "", ""])


def edit_line(time: str, page: str) -> str:
    return json.dumps({"time": time, "page": page})


def log_file(folder: Path, *lines: str, header: bool = True, name: str = "log.tsv") -> Path:
    return text_file(folder / name, *(["\t".join(COLUMNS)] if header else []), *lines)


def text_file(path: Path, *lines: str) -> Path:
    content = "".join(f"{line}\n" for line in lines).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content)
    elif path.suffix == ".xz":
        content = lzma.compress(content)
    path.write_bytes(content)
    return path
