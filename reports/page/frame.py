"""Makes the frame of all pages: one file that contains style and scripts, and sends no requests."""

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from streamlab.reports.page.inline_svg import engine_variable, variables
from streamlab.reports.palette import Colour

_HERE = Path(__file__).parent
_HEAD_BYTES = 200
"""Number of bytes at the start of a page that contain its `made-from`."""
_SPECIAL = re.compile(r"[^A-Za-z0-9_./@-]")


def fill(
    template: str,
    *,
    name: str,
    colours: Mapping[str, Colour],
    home: str = "",
    made_from: str = "",
    scripts: Sequence[str] = ("page.js",),
    **fields: Any,
) -> str:
    """Return the text of a page from a template in this folder.

    Args:
        template: name of the template.
        name: the end of the title.
        colours: the colour of each engine on the page.
        home: address of the site's first page; empty without a site.
        made_from: digest of all sources of the page (`is_current`).
        scripts: names of the page's scripts in this folder; the last script may load further scripts.
        fields: further variables of the template.
    """
    texts = [(_HERE / script).read_text(encoding="utf-8") for script in scripts]
    page = _templates().get_template(template)
    return page.render(
        name=name,
        home=home,
        made_from=made_from,
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        scripts=texts,
        policy=_policy(texts),
        variables=variables(colours),
        engine_variable={engine: engine_variable(engine, colours) for engine in colours},
        anchor=anchor,
        **fields,
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


def write_page(target: Path, page: str) -> Path:
    """Write a page atomically, and return its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.write_text(page, encoding="utf-8", errors="backslashreplace")
    partial.replace(target)
    return target


def is_current(target: Path, made_from: str) -> bool:
    """Return whether a page exists whose sources had this digest."""
    try:
        with target.open("rb") as file:
            return made_from.encode() in file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return False


def anchor(cell: str) -> str:
    """Return the element id of a cell's row.

    The element id depends only on the cell's id, so that an address leads to the same cell in later pages
    and runs. A special character becomes its code point between tildes, which keeps element ids unique.
    """
    return "cell-" + _SPECIAL.sub(lambda match: f"~{ord(match[0]):x}~", cell)


def _policy(scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy, which allows only these scripts and no requests.

    With a second script, `strict-dynamic` allows that script to load others.
    Styles need `unsafe-inline`, since some are in attributes; styles cannot send requests.
    """
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    loaded = " 'strict-dynamic'" if len(scripts) > 1 else ""
    return (
        f"default-src 'none'; script-src {allowed}{loaded}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
