"""Costs are measured by the real core, in processes of their own, and fitted to what runs take."""

from dataclasses import replace
from textwrap import dedent

import pytest

from lab.errors import LabError
from lab.project.calibration import calibrate, calibration_of
from lab.project.child import Report, memory_bytes_per_ns
from lab.project.simulation import Machine, simulate
from lab.project.subject import Subject
from workloads.optimizers.request import Costs

SUBJECT = Subject(
    reference="event_window",
    events=50_000,
    params={"values_per_barrier": "1000"},
    grow="streams",
)
COSTS = Costs(
    update_ns=2,
    order_ns=9,
    fork_join_ns=300,
    handover_ns=500,
    skip_ns=0,
    start_ns=1e4,
    cores=2,
)
ROUNDS = 200


def report(costs: Costs = COSTS, one_core_ns: float = 1e6) -> Report:
    return Report(
        costs=costs,
        alone=costs,
        one_core_ns=one_core_ns,
        memory_bytes_per_ns=10,
        slice_ns=None,
        loadavg=0.5,
    )


@pytest.fixture
def slow_window(tmp_path):
    """A workload like event_window, each of whose updates takes hundreds of dependent steps."""
    path = tmp_path / "slow_window.py"
    path.write_text(
        dedent(f"""
        from dataclasses import replace

        from workloads.suite.event_window import WORKLOAD as MODEL

        VALUE = 0


        def update(state, event, out):
            if event.kind == VALUE:
                for step in range({ROUNDS}):
                    state.sum = (state.sum ^ (state.sum << 1)) + event.value + step
            else:
                out.emit(event.ts, state.sum)


        program = MODEL.program
        states = tuple(replace(state, update=update) for state in program.states)
        WORKLOAD = replace(MODEL, name="slow_window", program=replace(program, states=states))
        """)
    )
    return str(path)


def test_costs_are_those_of_the_program_that_the_core_runs(slow_window):
    """A step that needs the one before it takes a cycle at least: 0.1 ns at 10 GHz."""
    found = calibrate(replace(SUBJECT, reference=slow_window), processes=1, told=lambda _: None)
    assert found.costs.update_ns > ROUNDS * 0.1 * 2
    assert found.processes == 1
    assert found.memory_bytes_per_ns > 0


def test_a_process_that_fails_says_why(tmp_path):
    gone = tmp_path / "gone.py"
    with pytest.raises(LabError, match=r"costs of .*gone\.py ended with code 1: .*gone\.py"):
        calibrate(replace(_named(gone), grow=None), processes=1, told=lambda _: None)


def _named(path) -> Subject:
    """Return a subject whose file is taken away between the check and the measurement."""
    path.write_text("from workloads.suite.event_window import WORKLOAD\n")
    subject = Subject(reference=str(path), events=1000)
    subject.checked()
    path.write_text("raise ValueError('gone.py was edited')\n")
    return replace(subject, dataset="0123456789")


def test_medians_of_processes_count_and_their_range_is_kept():
    costs = [replace(COSTS, update_ns=ns) for ns in (3.0, 1.0, 50.0)]
    found = calibration_of(SUBJECT, [report(one) for one in costs])
    assert found.costs.update_ns == 3
    assert (found.lowest.update_ns, found.highest.update_ns) == (1, 50)
    assert found.costs.cores == 2
    dear = [replace(report(), alone=replace(COSTS, order_ns=ns)) for ns in (7.0, 8.0, 9.0)]
    found = calibration_of(SUBJECT, dear)
    assert [found.costs_for(workers).order_ns for workers in (1, 2)] == [8, COSTS.order_ns]


@pytest.mark.parametrize("switch_ns", [0.0, 250.0, 4000.0])
def test_the_cost_of_a_switch_is_found_from_a_run_on_one_core(switch_ns):
    alone = replace(COSTS, handover_ns=0)
    machine = Machine(cores=1, switch_ns=switch_ns)
    took = simulate(SUBJECT.work(2), alone, machine).duration_ns
    found = calibration_of(SUBJECT, [report(one_core_ns=took)])
    assert found.switch_ns == pytest.approx(switch_ns, abs=1e-3)


def test_a_run_on_one_core_that_was_too_quick_gives_no_negative_cost():
    assert calibration_of(SUBJECT, [report(one_core_ns=1.0)]).switch_ns == 0


def test_the_kernels_slice_is_taken_where_it_tells_one():
    assert calibration_of(SUBJECT, [replace(report(), slice_ns=1e6)]).slice_ns == 1e6
    assert calibration_of(SUBJECT, [report()]).slice_ns == Machine.UNKNOWN_SLICE_NS


def test_memory_is_read_by_no_more_than_what_a_machine_can():
    """Any machine that runs this reads more than 10 MB/s and less than 10 TB/s."""
    assert 0.01 < memory_bytes_per_ns() < 10_000
