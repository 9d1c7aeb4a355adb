"""The checker on pipelines: good ones pass, ones broken on purpose are caught with their law."""

from dataclasses import replace
from typing import Any

import pytest

from streamlab.lab.cli import EXIT_OK, EXIT_USER_ERROR, call
from streamlab.lab.cli.commands.check import find_program
from streamlab.workloads.model import Pipeline
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


def test_a_key_that_depends_on_earlier_calls_is_caught():
    calls: list[int] = []

    def key(t: Any) -> int:
        calls.append(t.k)
        return len(calls) % 3

    report = check(pipeline(replace(BY_KEY, key=key)), examples=40)
    assert ("keys", "by_key") in conditions(report)
    assert "the key of a record changes from call to call" in report.render()


@pytest.mark.parametrize("key", [0.5, 2**63, "a", None])
def test_a_key_that_is_no_integer_of_64_bits_is_caught(key: object):
    report = check(pipeline(replace(BY_KEY, key=lambda t: key)), examples=40)
    assert ("keys", "by_key") in conditions(report)
    assert "a key is not an integer of 64 bits" in report.render()


def test_a_stateless_operator_that_remembers_is_caught():
    before = [0]

    def apply(t: Any, out: Any) -> None:
        out.emit(t.k, before[0])
        before[0] = t.v

    report = check(pipeline(replace(TWICE, apply=apply)), examples=80)
    assert ("order", "twice") in conditions(report)
    assert "depends on the records before it" in report.render()


def test_a_partitioned_operator_that_reads_another_key_is_caught():
    latest: dict[int, int] = {}

    def apply(s: Any, t: Any, out: Any) -> None:
        # What another key left at this very time; nothing that outlives a run.
        out.emit(t.k, latest.get(t.ts, 0))
        latest.clear()
        latest[t.ts] = 1 + t.k

    report = check(pipeline(replace(BY_KEY, apply=apply)), examples=200)
    assert ("apart", "by_key") in conditions(report)
    assert "a key's answer depends on other keys" in report.render()


def test_an_operator_whose_ties_do_not_commute_is_caught():
    def apply(s: Any, t: Any, out: Any) -> None:
        out.emit(t.k, s.sum)
        s.sum += 1

    report = check(pipeline(replace(BY_KEY, apply=apply, ties_commute=True)), examples=200)
    assert ("ties", "by_key") in conditions(report)
    assert "the output for a record depends on the order of ties" in report.render()


@pytest.mark.full
def test_the_laws_hold_for_what_reaches_an_operator_behind_others():
    def apply(s: Any, t: Any, out: Any) -> None:
        if t.v > 100:  # only the operator before forwards that
            s.sum = 2**31
        out.emit(s.sum, 0)

    report = check(pipeline(TWICE, replace(BY_KEY, apply=apply), OF_ALL), examples=100)
    assert ("emits", "small") in conditions(report)
    assert "operator by_key: 2147483648 does not fit its output's int32" in report.render()


def test_a_value_that_the_last_operator_cannot_forward_is_caught():
    report = check(pipeline(replace(TWICE, apply=lambda t, out: out.emit(2**40, 0))), examples=20)
    assert conditions(report) == {("emits", "small")}
    assert "operator twice: 1099511627776 does not fit its output's int32" in report.render()


def test_more_records_than_declared_are_caught():
    report = check(pipeline(replace(TWICE, max_outputs=1)), examples=40)
    assert ("emits", "small") in conditions(report)
    assert "operator twice forwards more than 1 records for one" in report.render()


def test_a_record_with_other_fields_than_declared_is_caught():
    report = check(pipeline(replace(OF_ALL, apply=lambda s, t, out: out.emit(1))), examples=20)
    assert ("emits", "small") in conditions(report)
    assert "operator of_all: out.emit got 1 fields" in report.render()


def test_a_state_outside_the_states_is_caught():
    total = [0]

    def apply(s: Any, t: Any, out: Any) -> None:
        total[0] += 1
        out.emit(t.k, total[0])

    report = check(pipeline(replace(OF_ALL, apply=apply)), examples=40)
    assert conditions(report) == {("repeat", "small")}
    assert "a second run gives another answer" in report.render()


def test_a_record_that_is_written_to_is_caught():
    def apply(t: Any, out: Any) -> None:
        t.v = 1

    report = check(pipeline(replace(TWICE, apply=apply)), examples=20)
    assert ("order", "twice") in conditions(report)
    assert "AttributeError" in report.render()


@pytest.mark.full
def test_the_same_seed_finds_the_same_counterexample():
    program = pipeline(replace(TWICE, max_outputs=1))
    assert check(program, seed=5) == check(program, seed=5)


BROKEN = pipeline(replace(TWICE, max_outputs=1))


def test_the_command_checks_a_pipeline_by_module_and_attribute(capsys):
    assert find_program("tests.workloads.model.pipelines:ALL_KINDS") is ALL_KINDS
    good = ["check", "tests.workloads.model.pipelines:ALL_KINDS", "--examples", "20"]
    assert call(good) == EXIT_OK
    assert "holds  apart for by_key" in capsys.readouterr().out
    bad = ["check", "tests.workloads.model.test_check_pipeline:BROKEN", "--examples", "20"]
    assert call(bad) == EXIT_USER_ERROR
    assert "FAILS  emits for small" in capsys.readouterr().out


def test_the_list_of_workloads_shows_the_operators(capsys):
    assert call(["list", "workloads"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert "ordered pipeline: new_seg (partitioned)" in shown
    assert "ordered pipeline: sl-0 (stateless) -> ps-1 (partitioned)" in shown
