"""Makes the frame of all pages: one file with style and script inside, without requests to a network."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from streamlab.reports.page.inline_svg import engine_variable, variables
from streamlab.reports.palette import Colour

_HERE = Path(__file__).parent
_OTHER = re.compile(r"[^A-Za-z0-9_./@-]")


def fill(template: str, *, name: str, colours: Mapping[str, Colour], **more: Any) -> str:
    """Return the text of a page from a template in this folder; `name` is the end of the title."""
    script = (_HERE / "page.js").read_text(encoding="utf-8")
    page = _templates().get_template(template)
    return page.render(
        name=name,
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        script=script,
        policy=_policy(script),
        variables=variables(colours),
        engine_variable={engine: engine_variable(engine, colours) for engine in colours},
        anchor=anchor,
        **more,
    )


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write_whole(target: Path, page: str) -> Path:
    """Write a page atomically, and return its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.write_text(page, encoding="utf-8", errors="backslashreplace")
    partial.replace(target)
    return target


def anchor(cell: str) -> str:
    """Return the element id of a cell's row.

    It depends only on the cell's id, so that an address leads to the same cell in later pages and runs.
    It is unique: special characters become their code point between tildes.
    """
    return "cell-" + _OTHER.sub(lambda match: f"~{ord(match[0]):x}~", cell)


def _policy(script: str) -> str:
    """Return the Content-Security-Policy: only this script, and no requests.

    Styles need `unsafe-inline`, since some are in attributes; they cannot send requests.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
