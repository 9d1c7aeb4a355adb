"""Explains statuses and warnings: cause and remedy of each, for the terminal and the page.

The texts are the entries of docs/troubleshooting.md; `advice.txt` is a link to this file. Patterns here find the entry
for a reason or a warning.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from streamlab.results.schema import TrialRow

DOCUMENT = "docs/troubleshooting.md"
NOT_RUN = "not run"
"""Status of a planned cell without a trial."""

SIGNS = {
    "Generator too slow": r"generator: (emitted|send lag)",
    "Input too short": r"need about .* events, the input has",
    "Wrong count": r"the engine counted",
    "Contradicted clock": r"the trial's (clock|CPU time)|cannot check its clock|phases in the wrong order",
    "Early outputs": r"outputs had left after",
    "Right by chance": r"right by chance",
    "Code changed": r"differs from the code that the run started with",
    "Last bits of floats": r"only in the last bits of floats",
    "Function not deterministic": r"function is not deterministic",
    "Quick window": r"\bquick: ",
    "Doubtful rate": r"doubtful rate",
    "Empty answer": r"nothing was compared",
    "No rate failed": r"no rate failed|the input is the limit",
    "No rate sustained": r"no rate was sustained|no probe has finished",
    "Not confirmed": r"^not confirmed|; not confirmed|failed by majority",
    "Measurement is the limit": r"the \w+, not the engine, is the limit",
    "Leftover processes": r"the engine left (threads|processes)|left processes behind|the engine failed to close",
    "Unequal trials": r"its \d+ trials took",
    "Load average": r"load average",
    "Stolen time": r"went to other guests",
    "Cores moved": r"cores were .* apart|cores did not stay|until the cores stayed",
    "More cores than workers": r"it used .* cores with",
    "Kernel time": r"the kernel took",
    "Generator near its ceiling": r"the offered rate.* (is \d+% of|is above half of)",
    "Unknown ceiling": r"ceiling.* is unknown",
    "Frequency governor": r"governor is",
    "Turbo": r"turbo is on",
    "SMT": r"SMT is on",
    "CPU quota": r"a control group limits",
    "Fewer cores": r"the lab may use",
    "Swap": r"of swap in use",
    "Heat": r"heat slowed",
    "Number left out": r"it is left out",
    "Late rows": r"left out by the import: more than|came too late for their windows",
    "Temporary folder": r"remove the temporary folder",
}
"""By heading of an entry, the pattern that matches the reasons or warnings that the entry explains."""

_ENTRY = re.compile(r"^### (.+)\n\n((?:.+\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The cause and remedy of a status or a kind of warning.

    Attributes:
        title: the status, or the name of the kind of warning.
        sign: pattern that matches texts of this kind; empty for a status.
    """

    title: str
    cause: str
    remedy: str
    sign: str

    @property
    def anchor(self) -> str:
        """The id of the heading in the document, as GitHub and MkDocs derive it from the title."""
        return self.title.lower().replace(" ", "-")


def _parse_entry(heading: str, text: str) -> Advice:
    title = heading.strip("`")
    cause, remedy = " ".join(text.split()).split(" **Remedy:** ")
    return Advice(title=title, cause=cause, remedy=remedy, sign=SIGNS.get(title, ""))


ADVICE = tuple(
    _parse_entry(*entry)
    for entry in _ENTRY.findall(Path(__file__).with_name("advice.txt").read_text(encoding="utf-8"))
)
"""Advice on all statuses except ok, on reasons for missing or doubtful numbers, and on all kinds of warnings."""


def advice_on(
    rows: Iterable[TrialRow], warnings: Iterable[str], *, missing: bool = False
) -> tuple[Advice, ...]:
    """Return the advice on the statuses, reasons and warnings of trials, in the table's order.

    `warnings` are further warnings of the run; `missing` states whether the run lacks cells.
    """
    statuses = {NOT_RUN} if missing else set()
    texts = set(warnings)
    for row in rows:
        statuses.add(row.status)
        texts.add(row.reason or "")
        texts.update(map(str, json.loads(row.warnings or "[]")))
    text = "\n".join(sorted(texts))
    return tuple(
        advice
        for advice in ADVICE
        if advice.title in statuses or (advice.sign and re.search(advice.sign, text, re.MULTILINE))
    )


def advice_on_text(text: str) -> Advice | None:
    """Return the advice on a reason or a warning; None if its kind is unknown."""
    return next((advice for advice in ADVICE if advice.sign and re.search(advice.sign, text)), None)
