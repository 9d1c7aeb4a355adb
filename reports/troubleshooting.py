"""Explains statuses and warnings: cause and remedy of each, for the terminal and the page.

docs/troubleshooting.md has the same texts; a test compares them.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from streamlab.results import schema
from streamlab.results.schema import TrialRow

DOCUMENT = "docs/troubleshooting.md"
NOT_RUN = "not run"
"""Status of a planned cell without a trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The cause of a status or a warning, and its remedy.

    Attributes:
        title: the status, or a name of the kind of warning.
        sign: pattern that finds the texts of this kind; empty for a status.
    """

    title: str
    cause: str
    remedy: str
    sign: str = ""

    @property
    def anchor(self) -> str:
        """The id of its heading in the document, as GitHub and MkDocs derive it from the title."""
        return self.title.lower().replace(" ", "-")


STATUSES = (
    Advice(
        title=schema.WRONG_OUTPUT,
        cause="The answer differs from the oracle's; the reason shows the first differing record.",
        remedy="`lab check WORKLOAD` tests the program's laws. "
        "`--engine reference` runs it one event at a time, under a debugger if you like.",
    ),
    Advice(
        title=schema.UNSUPPORTED,
        cause="The engine cannot run this workload, option or number of workers; the reason says which.",
        remedy="Choose another variant: `lab list engines`.",
    ),
    Advice(
        title=schema.TIMEOUT,
        cause="The trial ran longer than `timeout_s`.",
        remedy="Use fewer events, or raise `timeout_s` in the matrix.",
    ),
    Advice(
        title=schema.CRASH,
        cause="The engine's process failed.",
        remedy="Read the last lines of its log in the reason; `logs/` of the run has all of it.",
    ),
    Advice(
        title=schema.OOM,
        cause="Memory ran out, or the kernel killed the process.",
        remedy="Use fewer events or workers, or give the container more memory.",
    ),
    Advice(
        title=schema.INVALID,
        cause="The measurement contradicts itself, the schedule or the lab's clock.",
        remedy="The reason says how; the entries of reasons explain it.",
    ),
    Advice(
        title=schema.UNSTEADY,
        cause="Throughput did not settle in the window, or outputs are too few for the objective.",
        remedy="Use a longer `warm_up_s`, then a longer `window_s` (60 s in CI, 300 s for a paper). "
        "If the reason says that the engine keeps no progress, no window helps: choose an engine that "
        "counts over time.",
    ),
    Advice(
        title=schema.UNSUSTAINED,
        cause="The engine is slower than the rate: its backlog or latency grew, the drain took more "
        "than 5 s, or it missed the objective.",
        remedy='Offer a lower rate; `search = "sustainable"` finds the highest.',
    ),
    Advice(
        title=NOT_RUN,
        cause="The run ended before the cell's first trial.",
        remedy="`lab run --resume RUN` completes it.",
    ),
)
"""All statuses except ok."""

REASONS = (
    Advice(
        title="Generator too slow",
        sign=r"generator: (emitted|send lag)",
        cause="The source handed events over late or not at all. "
        "It had no free core, the engine blocked it, or the rate is above its ceiling.",
        remedy="Use fewer workers, so that a core stays free, a larger batch or a lower rate; "
        "`lab doctor --generator` measures the ceilings.",
    ),
    Advice(
        title="Input too short",
        sign=r"need about .* events, the input has",
        cause="The input ends before the window does.",
        remedy="Raise `events`, or shorten `window_s`.",
    ),
    Advice(
        title="Wrong count",
        sign=r"the engine counted",
        cause="The adapter reports another number of events than the input has.",
        remedy="Correct the adapter; `lab conform ENGINE` tests it.",
    ),
    Advice(
        title="Contradicted clock",
        sign=r"the trial's (clock|CPU time)|cannot check its clock|phases in the wrong order",
        cause="The engine changed the clock, or moved work to processes that escaped.",
        remedy="Remove that from the engine; docs/trust.md lists what the lab checks.",
    ),
    Advice(
        title="Early outputs",
        sign=r"outputs had left after",
        cause="Outputs left before their inputs were due: the engine read ahead of the schedule.",
        remedy="Take events only when they are due.",
    ),
    Advice(
        title="Code changed",
        sign=r"differs from the code that the run started with",
        cause="The workload was edited during the run, or reads values that differ between processes.",
        remedy="Start a new run.",
    ),
    Advice(
        title="Last bits of floats",
        sign=r"only in the last bits of floats",
        cause="The order of additions differs.",
        remedy="Use an exact sum, or declare a bound for the field (docs/model.md).",
    ),
    Advice(
        title="Function not deterministic",
        sign=r"function is not deterministic",
        cause="Engine and reference ran the same functions, and their answers differ.",
        remedy="Let functions depend on their arguments alone; else the engine is wrong.",
    ),
    Advice(
        title="Quick window",
        sign=r"\bquick: ",
        cause="A window below 60 s, or a warm-up below 10 s, cannot show slow growth.",
        remedy="Use longer ones before you publish.",
    ),
    Advice(
        title="Doubtful rate",
        sign=r"doubtful rate",
        cause="The timed part took less than a millisecond: mostly the start of threads.",
        remedy="Use more `events`.",
    ),
    Advice(
        title="Empty answer",
        sign=r"nothing was compared",
        cause="The oracle's answer has no records.",
        remedy="Use more `events`, or set parameters so that the workload has outputs.",
    ),
    Advice(
        title="No rate failed",
        sign=r"no rate failed|the input is the limit",
        cause="A search ended at the highest rate that the input or a limit allows.",
        remedy="Use more `events`, or a higher `max_eps`.",
    ),
    Advice(
        title="No rate sustained",
        sign=r"no rate was sustained|no probe has finished",
        cause="A search found no rate that holds, or did not end.",
        remedy="Read why its lowest rate failed; `lab run --resume RUN` continues an unfinished search.",
    ),
    Advice(
        title="Not confirmed",
        sign=r"^not confirmed|; not confirmed|failed by majority",
        cause="Engine or machine vary: a rate did not pass, or fail, in all of the confirming processes.",
        remedy="Use a quieter machine, or a longer `window_s`.",
    ),
    Advice(
        title="Measurement is the limit",
        sign=r"the \w+, not the engine, is the limit",
        cause="Trials of a search above this rate were invalid, so the engine may be faster.",
        remedy="Follow the entry of their reason.",
    ),
    Advice(
        title="Leftover processes",
        sign=r"the engine left (threads|processes)|left processes behind|the engine failed to close",
        cause="`close` of the adapter does not end the engine's threads or processes.",
        remedy="End them in `close`; they would disturb the next trial.",
    ),
)
"""Kinds of reasons: why a trial has no number, or why its number is doubtful."""

WARNINGS = (
    Advice(
        title="Unequal trials",
        sign=r"its \d+ trials took",
        cause="Trials of a cell differ more than the noise of the run explains.",
        remedy="Look at the timelines for state that persists; then use more repetitions.",
    ),
    Advice(
        title="Load average",
        sign=r"load average",
        cause="Other programs use the cores.",
        remedy="Stop them, or gate instruction counts.",
    ),
    Advice(
        title="Stolen time",
        sign=r"went to other guests",
        cause="The host is shared: its other guests used the cores.",
        remedy="Use another machine, or more repetitions.",
    ),
    Advice(
        title="Cores moved",
        sign=r"cores were .* apart|cores did not stay|until the cores stayed",
        cause="The hypervisor moved the virtual cores, so that data takes longer between them.",
        remedy="Set `cores_within_ns` in the matrix: it repeats such trials.",
    ),
    Advice(
        title="More cores than workers",
        sign=r"it used .* cores with",
        cause="Other threads of the engine work: a compiler, a garbage collector, a source.",
        remedy="Compare CPU time per event instead of the rate per worker.",
    ),
    Advice(
        title="Kernel time",
        sign=r"the kernel took",
        cause="The kernel cleared fresh memory, waited for a disk, or let threads wait and wake.",
        remedy="Use a larger batch; give the engine its memory in the preparation.",
    ),
    Advice(
        title="Generator near its ceiling",
        sign=r"the offered rate.* (is \d+% of|is above half of)",
        cause="The trial may measure the generator instead of the engine.",
        remedy="Use a lower rate, or a larger batch.",
    ),
    Advice(
        title="Unknown ceiling",
        sign=r"ceiling.* is unknown",
        cause="The lab could not measure how fast the engine's source is.",
        remedy="Correct the source; `lab doctor --generator` repeats the measurement.",
    ),
    Advice(
        title="Frequency governor",
        sign=r"governor is",
        cause="The frequency of the cores follows the load.",
        remedy="`lab doctor` prints the command that sets it.",
    ),
    Advice(
        title="Turbo",
        sign=r"turbo is on",
        cause="The frequency of the cores varies with heat.",
        remedy="`lab doctor` prints the command that turns it off.",
    ),
    Advice(
        title="SMT",
        sign=r"SMT is on",
        cause="Two threads share the units of a core.",
        remedy="`lab doctor` prints the command that turns it off.",
    ),
    Advice(
        title="CPU quota",
        sign=r"a control group limits",
        cause="A control group throttles the trials.",
        remedy="Raise the quota, or compare only runs with the same one.",
    ),
    Advice(
        title="Fewer cores",
        sign=r"the lab may use",
        cause="An affinity mask or a container hides cores.",
        remedy="Start the lab without it.",
    ),
    Advice(
        title="Swap",
        sign=r"of swap in use",
        cause="Memory is short; swapped pages cost time inside the clock.",
        remedy="Free memory.",
    ),
    Advice(
        title="Heat",
        sign=r"heat slowed",
        cause="The processor throttled itself.",
        remedy="Improve the cooling, use fewer cores, or pause between runs.",
    ),
    Advice(
        title="Number left out",
        sign=r"it is left out",
        cause="A counter or column of the engine is nan or infinite.",
        remedy="Correct the adapter, often a division by zero.",
    ),
    Advice(
        title="Late rows",
        sign=r"left out by the import: more than|came too late for their windows",
        cause="Rows came later than `out_of_order` or `allowed_lateness` allow, so the answer lacks them.",
        remedy="Give a longer bound; `lab.late_rows` has those of windows.",
    ),
    Advice(
        title="Temporary folder",
        sign=r"remove the temporary folder",
        cause="The engine left files that the lab may not remove.",
        remedy="Remove the folder by hand.",
    ),
)

ADVICE = (*STATUSES, *REASONS, *WARNINGS)


def advice_on(
    rows: Iterable[TrialRow], warnings: Iterable[str], *, missing: bool = False
) -> tuple[Advice, ...]:
    """Return the advice on the statuses, reasons and warnings of trials, in the table's order.

    `warnings` are further warnings, of the run; `missing`: the run lacks cells.
    """
    statuses = {NOT_RUN} if missing else set()
    texts = set(warnings)
    for row in rows:
        statuses.add(row.status)
        texts.add(row.reason or "")
        texts.update(map(str, json.loads(row.warnings or "[]")))
    text = "\n".join(sorted(texts))
    return tuple(
        each
        for each in ADVICE
        if each.title in statuses or (each.sign and re.search(each.sign, text, re.MULTILINE))
    )


def advice_on_text(text: str) -> Advice | None:
    """Return the advice on a reason or a warning; None if it is of no known kind."""
    return next((each for each in ADVICE if each.sign and re.search(each.sign, text)), None)
