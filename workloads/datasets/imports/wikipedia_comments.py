"""Comments of Wikipedia edits to the input `tweets`: every edit is a tweet of its user.

JSON lines as for `wikipedia-edits`, with `time`, `user` and `comment`, which may be empty. Times
are in milliseconds; `text.words` describes how texts become words.
"""

from typing import Any

from workloads.datasets.imports import texts
from workloads.datasets.imports.cells import Transform
from workloads.datasets.imports.forms import Lines
from workloads.datasets.imports.json_lines import text_of
from workloads.datasets.imports.kind import ImportKind, ImportOptions
from workloads.datasets.imports.wikipedia_edits import edit_columns
from workloads.model import Alphabet


def transform(options: ImportOptions) -> Transform:
    """Return what makes the user and the comment of each edit."""
    return lambda cells: edit_columns(cells, _texts, ("user", "text"))


def _texts(edit: dict[str, Any]) -> tuple[str, str]:
    return text_of(edit, "user"), text_of(edit, "comment", empty=True)


WIKIPEDIA_COMMENTS = ImportKind(
    name="wikipedia-comments",
    workload="tweets",
    help="comments of Wikipedia recent changes, one JSON object a line with `time`, `user` and "
    "`comment`",
    form=Lines(),
    transform=transform,
    columns=(("user", "string"), ("text", "string")),
    prepare=texts.prepare,
    dictionaries=texts.DICTIONARIES,
    keys=None,
    streams=texts.streams,
    alphabet=lambda keys: Alphabet(kinds=("tweet",), keys=keys),
)
