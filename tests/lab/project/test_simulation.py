"""The simulation against what can be computed by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lab.project.simulation import Machine, Network, Simulated, Work, simulate, work_of
from workloads.model import Alphabet
from workloads.model.profile import StreamProfile
from workloads.optimizers import PlanRequest, choose
from workloads.optimizers.prediction import predict
from workloads.optimizers.request import Costs
from workloads.suite.event_window.program import PROGRAM
from workloads.suite.keyed_counter import WORKLOAD as KEYED

FREE = Costs(update_ns=0, order_ns=0, fork_join_ns=0, handover_ns=0, skip_ns=0, start_ns=0, cores=1)
UPDATE = replace(FREE, update_ns=2.0)
DEAR = replace(UPDATE, fork_join_ns=300.0, handover_ns=500.0, start_ns=1e4)
NETWORK = Network(latency_ns=10_000.0, bytes_per_ns=1.0, header_bytes=92)
WAY_NS = 10_000 + 92 + 8
"""Of a message with the state of event_window, which has 8 bytes."""


def request(streams: int, values: int, barriers: int, workers: int) -> PlanRequest:
    return request_of([values] * streams, barriers, workers)


def request_of(values: list[int], barriers: int, workers: int) -> PlanRequest:
    """Return what is asked of event_window: so many values in each stream."""
    streams = len(values)
    counts = [[count, 0] for count in values] + [[0, barriers]]
    return PlanRequest(
        program=PROGRAM,
        alphabet=Alphabet(kinds=("value", "barrier"), keys=1),
        streams=tuple(
            StreamProfile(
                name=f"s{index}",
                kinds=(0 if index < streams else 1,),
                counts=np.array([count], dtype=np.int64),
            )
            for index, count in enumerate(counts)
        ),
        workers=workers,
    )


def window(streams: int, values: int, barriers: int, workers: int) -> Work:
    """Return the work of event_window: so many values in each stream, by stream."""
    asked = request(streams, values, barriers, workers)
    return work_of(choose("by-stream", asked).plan, asked.streams)


def took(work: Work, costs: Costs, machine: Machine, **more: int) -> float:
    return simulate(work, costs, machine, **more).steady_ns


def test_one_worker_takes_the_cost_of_each_event():
    work = window(1, 1_000_000, 0, 1)
    assert took(work, UPDATE, Machine(cores=1)) == pytest.approx(2e6)


def test_two_workers_that_never_meet_take_half():
    work = window(2, 500_000, 0, 2)
    assert work.workers == 2
    assert took(work, UPDATE, Machine(cores=2)) == pytest.approx(1e6)


def test_one_worker_pays_for_barriers_in_order_and_for_no_synchronization():
    work = window(1, 1_000_000, 100, 1)
    costs = replace(DEAR, order_ns=50.0)
    assert work.synchronizations == 0
    assert took(work, costs, Machine(cores=1)) == pytest.approx(2e6 + 100 * 50)


@pytest.mark.parametrize("per_barrier", [10, 1000])
def test_a_barrier_costs_two_workers_a_join_a_fork_and_a_hand_over(per_barrier):
    """Closed form: each window takes its values' cost, one fork and join, one hand-over."""
    barriers = 200
    work = window(2, per_barrier * barriers, barriers, 2)
    exact = barriers * (per_barrier * 2 + 300 + 500)
    # The last hand-over back is nobody's wait.
    assert took(work, DEAR, Machine(cores=2)) == pytest.approx(exact, abs=500)


@pytest.mark.parametrize("leaves", [2, 4, 8, 64])
def test_each_level_of_a_tree_costs_a_fork_a_join_and_a_hand_over(leaves):
    barriers = 100
    work = window(leaves, 1000 * barriers, barriers, leaves)
    levels = math.log2(leaves)
    exact = barriers * (1000 * 2 + levels * (300 + 500))
    assert took(work, DEAR, Machine(cores=leaves)) == pytest.approx(exact, rel=0.01)


def test_a_serial_part_bounds_the_speed_up_as_amdahl_says():
    """Of each window a share stays with the tree, whatever the number of workers."""
    serial_ns, values = 2000.0, 64_000
    costs = replace(UPDATE, fork_join_ns=serial_ns)
    for workers in (2, 4, 8):
        work = window(workers, values // workers * 100, 100, workers)
        levels = math.log2(workers)
        exact = 100 * (2 * values / workers + levels * serial_ns)
        assert took(work, costs, Machine(cores=workers)) == pytest.approx(exact, rel=0.01)


def test_for_one_and_two_workers_it_says_what_the_optimizer_predicts():
    costs = replace(DEAR, order_ns=40.0, cores=2)
    for workers in (1, 2):
        asked = request(2, 100_000, 100, workers)
        plan = choose("by-stream", asked).plan
        found = simulate(work_of(plan, asked.streams), costs, Machine(cores=2))
        expected = predict(plan, asked.streams, costs).duration_ns
        assert found.duration_ns == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("workers", "cores"), [(4, 2), (6, 2), (8, 3)])
def test_more_workers_than_cores_share_them(workers, cores):
    """Work without synchronization is spread over all cores, up to a slice at the end."""
    work = window(workers, 10_000_000, 0, workers)
    machine = Machine(cores=cores, slice_ns=1e5)
    exact = workers * 2e7 / cores
    assert took(work, UPDATE, machine) == pytest.approx(exact, rel=0.01)


def test_two_workers_on_one_core_switch_once_a_barrier():
    """Who arrives last goes on with its next window, and gives the core away when it waits."""
    barriers = 100
    work = window(2, 1000 * barriers, barriers, 2)
    machine = Machine(cores=1, switch_ns=700.0)
    exact = barriers * (2 * 1000 * 2 + 300 + 250 + 700)
    assert took(work, DEAR, machine) == pytest.approx(exact, rel=0.01)


def test_a_worker_that_waits_leaves_its_core_to_others():
    """Three workers on two cores: the third computes while the first two wait for it."""
    work = window(3, 100_000, 100, 3)
    machine = Machine(cores=2)
    least = 3 * 100_000 * 2 / 2
    assert least <= took(work, UPDATE, machine) <= least * 1.4


def test_a_worker_waits_for_the_core_that_it_was_on_while_another_is_idle():
    """Workers 0 and 2 share a core and have 10 and 4 to do; 1 and 3 are done after 8."""
    barriers = 100
    asked = request_of([each * 100 * barriers for each in (10, 4, 4, 4)], barriers, 4)
    work = work_of(choose("by-stream", asked).plan, asked.streams)
    exact = barriers * 14 * 100 * 2
    assert took(work, UPDATE, Machine(cores=2)) == pytest.approx(exact, rel=0.01)


def test_at_the_end_of_a_slice_a_worker_goes_where_fewer_wait():
    values = [10_000_000, 1_000_000] * 2
    asked = request_of(values, 0, 4)
    work = work_of(choose("by-stream", asked).plan, asked.streams)
    machine = Machine(cores=2, slice_ns=1e5)
    assert took(work, UPDATE, machine) == pytest.approx(2 * sum(values) / 2, rel=0.02)


def test_memory_bounds_the_rate_of_all_cores_together():
    work = window(4, 1_000_000, 0, 4)
    bytes_per_ns = 8.0
    machine = Machine(cores=4, memory_bytes_per_ns=bytes_per_ns)
    all_bytes = work.events * work.event_bytes
    found = simulate(work, UPDATE, machine)
    assert found.steady_ns == pytest.approx(all_bytes / bytes_per_ns)
    assert found.memory_bytes_per_ns == pytest.approx(bytes_per_ns)
    one = simulate(window(1, 1_000_000, 0, 1), UPDATE, machine)
    assert one.steady_ns == pytest.approx(2e6)


def test_a_barrier_between_two_machines_costs_a_way_there_and_back():
    barriers = 100
    work = window(2, 10 * barriers, barriers, 2)
    machine = Machine(cores=1, machines=2, network=NETWORK)
    found = simulate(work, DEAR, machine)
    exact = barriers * (2 * WAY_NS + 300 + 10 * 2)
    assert found.steady_ns == pytest.approx(exact, rel=0.01)
    assert found.sent_bytes == pytest.approx(barriers * 2 * 100)


def test_workers_of_one_machine_send_nothing():
    work = window(8, 1000, 10, 8)
    assert simulate(work, DEAR, Machine(cores=8)).sent_bytes == 0
    of_two = simulate(work, DEAR, Machine(cores=4, machines=2, network=NETWORK))
    assert of_two.sent_bytes == pytest.approx(10 * 2 * 100)


def test_messages_of_a_machine_leave_one_after_the_other():
    """Bandwidth bounds it where states are large beside what the network carries."""
    slow = replace(NETWORK, latency_ns=0.0, bytes_per_ns=0.001)
    work = window(2, 100, 100, 2)
    found = took(work, FREE, Machine(cores=1, machines=2, network=slow))
    assert found == pytest.approx(100 * 2 * 100 / 0.001, rel=0.02)


def test_a_long_run_is_a_short_one_that_many_times():
    work = window(4, 1000 * 5_000, 5_000, 4)
    machine = Machine(cores=4)
    whole = took(work, DEAR, machine, most_steps=100_000)
    assert took(work, DEAR, machine, most_steps=400) == pytest.approx(whole, rel=0.01)


def test_starting_workers_is_in_the_run_and_not_in_the_rate():
    work = window(4, 1000, 10, 4)
    found = simulate(work, replace(DEAR, begin_ns=2e5), Machine(cores=4))
    assert found.start_ns == 2e5 + 3e4
    assert found.duration_ns == found.steady_ns + found.start_ns
    assert found.steady_ns == simulate(work, DEAR, Machine(cores=4)).steady_ns
    assert found.rate_eps == pytest.approx(work.events / found.steady_ns * 1e9)
    assert found.run_rate_eps < found.rate_eps


def keyed(workers: int, optimizer: str = "by-stream") -> Work:
    params = KEYED.params({})
    alphabet = Alphabet(kinds=KEYED.program.kinds, keys=KEYED.keys(params))
    from workloads.model.profile import profile_of_specs

    streams = profile_of_specs(KEYED.streams(params, 100_000), alphabet)
    asked = PlanRequest(program=KEYED.program, alphabet=alphabet, streams=streams, workers=workers)
    return work_of(choose(optimizer, asked).plan, streams)


def test_what_all_strands_do_is_every_event_once():
    for workers in (1, 2, 4, 16):
        work = keyed(workers)
        done = sum(strand.updates + strand.ordered for strand in work.strands)
        assert done + work.synchronizations == work.events


def test_balanced_workers_pass_over_each_others_keys_and_never_meet():
    work = keyed(4, "balanced")
    assert work.synchronizations == 0
    assert all(strand.skipped > 0 for strand in work.strands)


def test_forests_meet_pair_by_pair():
    """Of eight workers on 16 keys each synchronization is of two; the others go on."""
    costs = replace(FREE, fork_join_ns=1000.0)
    alone = took(keyed(2), costs, Machine(cores=2))
    spread = took(keyed(8), costs, Machine(cores=8))
    assert alone / 4 <= spread < alone / 2


@pytest.mark.parametrize("machine", [Machine(cores=8), Machine(cores=3, switch_ns=100)])
def test_the_same_arguments_give_the_same_answer(machine):
    def found(seed: int) -> Simulated:
        return simulate(keyed(8), DEAR, machine, seed=seed)

    assert found(1) == found(1)
    assert found(1) != found(2)


def test_128_workers_take_seconds_at_most_by_their_number_of_steps():
    """Not timed: what bounds the time is how many synchronizations are simulated."""
    work = window(128, 10_000 * 1_000_000, 1_000_000, 128)
    found = simulate(work, DEAR, Machine(cores=128), most_steps=4096)
    assert found.synchronizations == 1_000_000
    assert found.rate_eps == pytest.approx(128 * 1e9 * 10_000 / (20_000 + 7 * 800), rel=0.02)


def test_machines_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="2 machines need a network"):
        Machine(cores=1, machines=2)
    with pytest.raises(ValueError, match="each at least 1"):
        Machine(cores=0)
