"""Writes a gate's report as text, Markdown, JSON and JUnit XML."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from streamlab.lab.gate.outcome import GateReport, Headline, Line, Verdict

_HEAD = ("cell", "metric", "new / old", "95 %", "first", "n", "p", "floor", "A/A 95 %", "verdict")


def align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows, the first one a heading, as an aligned Markdown table."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return [lines[0], rule, *lines[1:]]


def headline(report: GateReport) -> str:
    """Return the outcome as the end of a sentence that starts with `Gate`."""
    total = len(report.lines)
    if report.headline is Headline.FAILED:
        return f"FAILED: {sum(line.fails for line in report.lines)} of {total}"
    if report.headline is Headline.INCONCLUSIVE:
        doubtful = sum(line.doubtful for line in report.lines)
        reason = f"{doubtful} of {total} in doubt" if doubtful else "nothing was compared"
        return f"INCONCLUSIVE: {reason}"
    return str(report.headline)


def table_of(report: GateReport) -> list[list[str]]:
    """Return a heading and one row per line, without empty columns."""
    rows = [_HEAD, *(_format_line(line) for line in report.lines)]
    columns = [k for k in range(len(_HEAD)) if k == 0 or any(row[k] for row in rows[1:])]
    return [[row[k] for k in columns] for row in rows]


def meanings(report: GateReport) -> list[tuple[str, str]]:
    """Return the verdicts of a report, with their meanings."""
    verdicts = {line.word for line in report.lines}
    return [(str(word), word.meaning) for word in Verdict if word in verdicts]


def as_markdown(report: GateReport) -> str:
    """Return the outcome as Markdown."""
    lines = [f"### Gate {headline(report)}", "", f"old: {report.old}", f"new: {report.new}"]
    lines = [f"{line}  " if line.startswith(("old:", "new:")) else line for line in lines]
    lines += [f"rule: {report.rule}", ""]
    lines += align_rows(table_of(report))
    lines += ["", *(f"- {line.name}: {line.note}" for line in report.lines if line.note)]
    lines += [f"- {note}" for note in report.notes]
    lines += ["", *(f"*{word}*: {meaning}.  " for word, meaning in meanings(report))]
    return "\n".join(line.rstrip() if not line.endswith("  ") else line for line in lines) + "\n"


def as_text(report: GateReport) -> str:
    """Return the outcome as text: the Markdown without emphasis."""
    lines = [line.rstrip().removeprefix("### ") for line in as_markdown(report).splitlines()]
    return "\n".join(line.replace("*", "") if line.startswith("*") else line for line in lines)


def as_json(report: GateReport) -> str:
    """Return the outcome as JSON: `headline` is `passed`, `failed` or `inconclusive`."""
    content = {"headline": report.headline, **msgspec.to_builtins(report)}
    for line, record in zip(report.lines, content["lines"], strict=True):
        record |= {"fails": line.fails, "doubtful": line.doubtful}
    return json.dumps(content, indent=1) + "\n"


def as_junit(report: GateReport) -> str:
    """Return JUnit XML with one test case per line."""
    suite = ElementTree.Element("testsuite", name="lab gate")
    counts = {"tests": len(report.lines), "failures": 0, "skipped": 0, "errors": 0}
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("headline", "old", "new", "rule"):
        value = str(getattr(report, name))
        ElementTree.SubElement(properties, "property", name=name, value=value)
    for line in report.lines:
        case = ElementTree.SubElement(
            suite, "testcase", classname=line.cell, name=line.metric or "correctness"
        )
        values = ", ".join(
            f"{name} {value}"
            for name, value in zip(_HEAD[2:], _format_line(line)[2:], strict=True)
            if value
        )
        if line.fails:
            counts["failures"] += 1
            failure = ElementTree.SubElement(case, "failure", message=f"{line.word}: {values}")
            failure.text = line.note or line.word.meaning
        elif line.advisory or line.word in _SKIPPED_VERDICTS:
            counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", message=f"{values}; {line.note}".rstrip("; "))
        else:
            ElementTree.SubElement(case, "system-out").text = values
    suite.attrib.update({name: str(count) for name, count in counts.items()})
    ElementTree.indent(suite)
    text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text.decode()


FORMS: Mapping[str, Callable[[GateReport], str]] = {
    "json": as_json,
    "junit": as_junit,
    "markdown": as_markdown,
}


def write_report(report: GateReport, form: str, path: Path) -> None:
    """Write the outcome in one of FORMS; Markdown is appended, e.g. to a step summary of CI."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if form == "markdown" else "w", encoding="utf-8") as file:
        file.write(FORMS[form](report))


_SKIPPED_VERDICTS = frozenset(
    {
        Verdict.NO_NUMBER,
        Verdict.TOO_FEW,
        Verdict.NOT_GATED,
        Verdict.UNSTABLE,
        Verdict.ACCEPTED,
        Verdict.ADDED,
        Verdict.UNSUPPORTED,
    }
)


def _format_line(line: Line) -> tuple[str, ...]:
    verdict = f"{line.word} (advisory)" if line.advisory else str(line.word)
    interval = line.interval
    return (
        line.cell,
        line.metric,
        _format_ratio(line.ratio),
        "" if interval is None else f"{interval.low:.3f} - {interval.high:.3f}",
        _format_ratio(line.first_ratio),
        "" if line.n is None else str(line.n),
        "" if line.p is None else f"{line.p:.2g}",
        _format_share(line.floor),
        _format_share(line.noise),
        verdict.upper() if line.fails else verdict,
    )


def _format_ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _format_share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"
