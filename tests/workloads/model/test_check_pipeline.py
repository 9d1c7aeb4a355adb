"""The checker on pipelines: good ones pass, ones broken on purpose are caught with their law."""

from dataclasses import replace
from typing import Any

import pytest

from streamlab.lab.cli import EXIT_OK, call
from streamlab.workloads.model import Pipeline, Stage
from streamlab.workloads.model.check import ConsistencyReport, check
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATELESS
from streamlab.workloads.registry import names, workload
from tests.examples import examples
from tests.workloads.model.pipelines import ALL_KINDS, BY_KEY, OF_ALL, TWICE, pipeline

PIPELINES = [name for name in names() if isinstance(workload(name).program, Pipeline)]


def conditions(report: ConsistencyReport) -> set[tuple[str, str]]:
    return {(violation.condition, violation.where) for violation in report.violations}


@pytest.mark.parametrize("name", PIPELINES)
def test_the_pipelines_of_the_suite_pass(name: str):
    program = workload(name).program
    assert isinstance(program, Pipeline)
    report = check(program, examples=examples(40))
    assert report.ok, report.render()
    laws = {STATELESS: 1, PARTITIONED: 2}
    expected = sum(laws.get(stage.kind, 0) + stage.ties_commute for stage in program.stages)
    assert len(report.checked) == 2 + expected


def test_a_pipeline_of_all_kinds_passes():
    report = check(ALL_KINDS, examples=examples(100))
    assert report.ok, report.render()
    assert report.checked == (
        "order for twice",
        "keys for by_key",
        "apart for by_key",
        "emits for small",
        "repeat for small",
    )


CALLS: list[int] = []
LATEST: dict[int, int] = {}


def key_by_call(t: Any) -> int:
    CALLS.append(t.k)
    return len(CALLS) % 3


def forward_the_last(t: Any, out: Any) -> None:
    out.emit(t.k, CALLS[-1] if CALLS else 0)
    CALLS.append(t.v)


def forward_another_key(s: Any, t: Any, out: Any) -> None:
    # What another key left at this very time; nothing that outlives a run.
    out.emit(t.k, LATEST.get(t.ts, 0))
    LATEST.clear()
    LATEST[t.ts] = 1 + t.k


def number_ties(s: Any, t: Any, out: Any) -> None:
    out.emit(t.k, s.sum)
    s.sum += 1


def number_calls(s: Any, t: Any, out: Any) -> None:
    CALLS.append(t.k)
    out.emit(t.k, len(CALLS))


def write_to_the_record(t: Any, out: Any) -> None:
    t.v = 1


@pytest.mark.parametrize(
    ("stage", "violation", "message"),
    [
        (replace(BY_KEY, key=key_by_call), "keys", "a record changes from call to call"),
        *(
            (
                replace(BY_KEY, key=lambda t, key=key: key),
                "keys",
                "a key is not an integer of 64 bits",
            )
            for key in (0.5, 2**63, "a", None)
        ),
        (replace(TWICE, apply=forward_the_last), "order", "depends on the records before it"),
        (replace(TWICE, apply=write_to_the_record), "order", "AttributeError"),
        (
            replace(BY_KEY, apply=forward_another_key),
            "apart",
            "a key's answer depends on other keys",
        ),
        (
            replace(BY_KEY, apply=number_ties, ties_commute=True),
            "ties",
            "the output for a record depends on the order of ties",
        ),
        (
            replace(TWICE, apply=lambda t, out: out.emit(2**40, 0)),
            "emits",
            "operator twice: 1099511627776 does not fit its output's int32",
        ),
        (
            replace(TWICE, max_outputs=1),
            "emits",
            "operator twice forwards more than 1 records for one",
        ),
        (
            replace(OF_ALL, apply=lambda s, t, out: out.emit(1)),
            "emits",
            "operator of_all: out.emit got 1 fields",
        ),
        (replace(OF_ALL, apply=number_calls), "repeat", "a second run gives another answer"),
    ],
)
def test_a_broken_operator_is_caught_with_its_law(stage: Stage, violation: str, message: str):
    CALLS.clear()
    report = check(pipeline(stage), examples={"apart": 200, "ties": 200}.get(violation, 80))
    where = "small" if violation in ("emits", "repeat") else stage.name
    assert (violation, where) in conditions(report)
    assert message in report.render()
    if violation == "repeat" or "does not fit" in message:  # and nothing else is
        assert conditions(report) == {(violation, where)}


@pytest.mark.full
def test_the_laws_hold_for_the_input_of_a_later_operator():
    def apply(s: Any, t: Any, out: Any) -> None:
        if t.v > 100:  # only the operator before forwards that
            s.sum = 2**31
        out.emit(s.sum, 0)

    report = check(pipeline(TWICE, replace(BY_KEY, apply=apply), OF_ALL), examples=100)
    assert ("emits", "small") in conditions(report)
    assert "operator by_key: 2147483648 does not fit its output's int32" in report.render()


def test_the_list_of_workloads_shows_the_operators(capsys):
    assert call(["list", "workloads"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert "ordered pipeline: new_seg (partitioned)" in shown
    assert "ordered pipeline: sl-0 (stateless) -> ps-1 (partitioned)" in shown
