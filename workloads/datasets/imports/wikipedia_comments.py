"""Comments of Wikipedia edits to the input `tweets`: every edit is a tweet of its user.

JSON lines as for `wikipedia-edits`, with `time`, `user` and `comment`, which may be empty. How
texts become words is said in `words.py`; times are in milliseconds.
"""

from workloads.datasets.imports import texts
from workloads.datasets.imports.json_lines import object_of, text_of
from workloads.datasets.imports.kind import ImportKind, ImportOptions, Row
from workloads.datasets.imports.lines import Line, read_lines
from workloads.datasets.imports.wikipedia_edits import edit_time
from workloads.model import Alphabet


def parse(line: Line, options: ImportOptions) -> Row:
    """Return (ts, user, comment) of one line.

    Raises:
        BadRowError: not a JSON object, or a field is missing or not what it must be.
    """
    edit = object_of(line)
    return edit_time(edit, options), text_of(edit, "user"), text_of(edit, "comment", empty=True)


WIKIPEDIA_COMMENTS = ImportKind(
    name="wikipedia-comments",
    workload="tweets",
    help="comments of Wikipedia recent changes, one JSON object a line with `time`, `user` and "
    "`comment`",
    read=read_lines,
    parse=parse,
    columns=(("user", "string"), ("text", "string")),
    prepare=texts.prepare,
    dictionaries=texts.DICTIONARIES,
    keys=None,
    streams=texts.streams,
    alphabet=lambda keys: Alphabet(kinds=("tweet",), keys=keys),
)
