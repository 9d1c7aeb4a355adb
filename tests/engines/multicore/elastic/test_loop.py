import threading
import time

import numpy as np
import pytest

from streamlab.engines.errors import EngineCrashError, EngineError
from streamlab.engines.multicore.oplus.elastic.controller import make_controller
from streamlab.engines.multicore.oplus.elastic.decision import Decision
from streamlab.engines.multicore.oplus.elastic.loop import ElasticLoop, Switch
from streamlab.engines.multicore.oplus.elastic.mapping import balanced_mapping
from streamlab.engines.multicore.oplus.elastic.observation import RawSnapshot

MS = 1_000_000


class Operator:
    """Counts looks; each takes a millisecond on its clock, a change three."""

    def __init__(self, *, instances=1, ends_after=None, switches=True):
        self.active = tuple(range(instances))
        self.ends_after = ends_after
        self.switches = switches
        self.ns = 0
        self.looks = 0
        self.mappings = []
        self.ended = threading.Event()

    def snapshot(self):
        if self.looks == self.ends_after:
            self.ended.set()
            return None
        self.looks += 1
        self.ns += MS
        return RawSnapshot(
            time_ns=self.ns,
            active=self.active,
            busy_ns=(0,) * 4,
            processed=(self.looks,),
        )

    def reconfigure(self, instances, mapping):
        if not self.switches:
            return None
        self.ns += 3 * MS
        self.active = instances
        self.mappings.append(mapping)
        return Switch(event_ts=77, moved_bytes=5)


def loop_of(operator, option=None, *, offset_ns=0, **changes):
    controller, settings = make_controller(
        option or {"kind": "script", "steps": [[0.002, 3], [0.01, 2]]}
    )
    controller = changes.pop("controller", controller)
    arguments = {"maximum": 4, "mapping": balanced_mapping(10, operator.active), **changes}
    return ElasticLoop(
        operator,
        controller,
        settings,
        window_s=0.0,
        **{"clock": lambda: operator.ns + offset_ns, **arguments},
    )


def run(loop):
    while loop.look():
        pass
    return loop


@pytest.mark.parametrize("offset_ns", [0, 10**15])
def test_changes_are_timed_from_call_to_completion_on_the_operators_clock(offset_ns):
    loop = run(loop_of(Operator(ends_after=20), offset_ns=offset_ns))
    first, second = loop.reconfigurations
    assert (first.at_ns, first.duration_ns) == (2 * MS, 3 * MS)
    assert (first.before, first.after, first.event_ts, first.moved_bytes) == (1, 3, 77, 5)
    assert (second.before, second.after, second.at_ns) == (3, 2, 10 * MS)
    assert loop.decisions[0].why == "the script's step at 0.002 s"
    assert loop.looks == 20


def test_each_mapping_is_made_from_the_one_before():
    operator = Operator(ends_after=20)
    loop = run(loop_of(operator))
    first, second = operator.mappings
    assert np.array_equal(first, balanced_mapping(10, 3, balanced_mapping(10, 1)))
    assert np.array_equal(second, balanced_mapping(10, 2, first))
    assert np.array_equal(loop.mapping, second)


def test_a_decision_may_name_its_instances():
    option = {"kind": "script", "steps": [[0.002, [2]], [0.008, [3, 1]], [0.014, 2]]}
    operator = Operator(instances=2, ends_after=30)
    loop = run(loop_of(operator, option))
    assert [change.active for change in loop.reconfigurations] == [(2,), (1, 3), (0, 1)]
    assert [(change.before, change.after) for change in loop.reconfigurations] == [
        (2, 1),
        (1, 2),
        (2, 2),
    ]
    first, second, third = (set(mapping.tolist()) for mapping in operator.mappings)
    assert (first, second, third) == ({2}, {1, 3}, {0, 1})
    assert np.array_equal(operator.mappings[1], balanced_mapping(10, (1, 3), operator.mappings[0]))


def test_the_named_instances_that_are_there_call_nothing():
    operator = Operator(instances=2, ends_after=5)
    run(loop_of(operator, {"kind": "script", "steps": [[0.002, [1, 0]]]}))
    assert operator.mappings == []


def test_a_decision_beyond_the_bounds_is_brought_within_them():
    option = {"kind": "script", "steps": [[0.002, 9], [0.01, 1]], "min": 2, "max": 3}
    loop = run(loop_of(Operator(instances=2, ends_after=20), option))
    assert [change.after for change in loop.reconfigurations] == [3, 2]


def test_an_operator_that_starts_beyond_the_bounds_is_brought_within_them():
    option = {"kind": "thresholds", "min": 2}
    loop = run(loop_of(Operator(ends_after=3), option))
    assert [change.after for change in loop.reconfigurations] == [2]
    assert loop.decisions[0].why == "bounds 2 and 4"


def test_a_decision_for_what_is_there_calls_nothing():
    option = {"kind": "script", "steps": [[0.002, 1]]}
    operator = Operator(ends_after=5)
    assert run(loop_of(operator, option)).reconfigurations == []
    assert operator.mappings == []


def test_a_change_overtaken_by_the_end_of_the_input_does_not_count():
    loop = run(loop_of(Operator(ends_after=20, switches=False)))
    assert loop.reconfigurations == []
    assert np.array_equal(loop.mapping, balanced_mapping(10, 1))


def test_nothing_is_changed_before_the_controller_may():
    option = {"kind": "script", "steps": [[0.002, 3], [0.012, 2]], "from_s": 0.006, "min": 2}
    loop = run(loop_of(Operator(ends_after=20), option))
    assert [(change.at_ns, change.after) for change in loop.reconfigurations] == [
        (6 * MS, 3),
        (12 * MS, 2),
    ]


class Decisions:
    """Makes one decision after another; None keeps what is there."""

    def __init__(self, *decisions):
        self.decisions = list(decisions)
        self.seen = []

    def decide(self, observation):
        self.seen.append(observation)
        return self.decisions.pop(0) if self.decisions else None


def mapped(instances, *mapping):
    return Decision(instances=instances, why="chosen", mapping=mapping)


def named(*instances):
    return Decision(instances=instances, why="chosen")


def test_a_decision_may_map_each_bucket_also_between_as_many_instances():
    operator = Operator(instances=2, ends_after=12)
    uneven, again, wider = (0, 0, 0, 1), (1, 0, 0, 1), (2, 0, 1, 1)
    chosen = Decisions(mapped(2, *uneven), None, mapped(2, *again), mapped(3, *wider))
    loop = run(loop_of(operator, controller=chosen, mapping=balanced_mapping(4, 2)))
    assert [tuple(mapping) for mapping in operator.mappings] == [uneven, again, wider]
    changes = [(change.before, change.after) for change in loop.reconfigurations]
    assert changes == [(2, 2), (2, 2), (2, 3)]
    # The interval with a change in it is left out, also when the number stays.
    assert [tuple(seen.mapping) for seen in chosen.seen[:4]] == [
        (0, 1, 0, 1),
        uneven,
        uneven,
        again,
    ]
    spans_s = [seen.span_s for seen in chosen.seen]
    assert spans_s == pytest.approx([0.001] * len(spans_s))


def test_the_mapping_that_is_there_calls_nothing_and_cannot_be_changed_in_place():
    operator = Operator(instances=2, ends_after=5)
    same = Decisions(mapped(2, 0, 1, 0, 1), Decision(instances=2, why="as before"))
    assert run(loop_of(operator, controller=same, mapping=balanced_mapping(4, 2))).decisions == []
    assert operator.mappings == []
    with pytest.raises(ValueError, match="read-only"):
        same.seen[0].mapping[0] = 1


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (
            mapped(2, 0, 1),
            r"controller script: the mapping has shape \(2,\); give one .* 4 buckets",
        ),
        (mapped(2, 0, 1, 2, 1), "bucket 2 belongs to instance 2; give instances from 0 to 1"),
        (mapped(2, 0, -1, 0, 1), "bucket 1 belongs to instance -1"),
        (mapped(2, 0.0, 1.0, 0.0, 1.0), "contains float64; give whole numbers"),
        (mapped(5, 0, 1, 2, 4), "5 instances is not within the bounds 1 and 4"),
        (
            mapped((1, 3), 1, 3, 3, 0),
            "script: bucket 3 belongs to instance 0; give instances among",
        ),
        (
            named(0, 4),
            "script: instance 4 does not exist; name instances from 0 to 3, or raise max_",
        ),
        (named(0, 1, 2, 3, 4), "5 named instances are not within the bounds 1 and 4"),
        (named(1, 1), "controller script: instance 1 occurs twice"),
        (named(-1), "controller script: instance -1 is no index"),
    ],
)
def test_a_malformed_decision_is_refused(decision, message):
    operator = Operator(instances=2, ends_after=5)
    loop = loop_of(operator, controller=Decisions(decision), mapping=balanced_mapping(4, 2))
    with pytest.raises(EngineError, match=message):
        run(loop)
    assert operator.mappings == []


PATIENCE_S = 600
FAST = {"kind": "script", "steps": [[0.002, 2]], "period_ms": 1}


def test_the_thread_looks_until_the_input_ends():
    operator = Operator(ends_after=5)
    loop = loop_of(operator, FAST, clock=time.monotonic_ns)
    loop.start()
    assert operator.ended.wait(PATIENCE_S)
    loop.stop()
    loop.stop()
    assert loop.looks == 5
    assert [change.after for change in loop.reconfigurations] == [2]


def test_stopping_does_not_wait_for_the_next_look():
    loop = loop_of(Operator(), FAST | {"period_ms": 1e9}, clock=time.monotonic_ns)
    loop.start()
    loop.stop(timeout_s=PATIENCE_S)
    assert loop.looks == 0


def test_a_loop_that_never_started_stops():
    loop = loop_of(Operator())
    loop.stop()
    assert (loop.looks, loop.reconfigurations) == (0, [])


class Broken(Operator):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def reconfigure(self, instances, mapping):
        self.ended.set()
        raise self.error


@pytest.mark.parametrize(
    ("error", "raised", "text"),
    [
        (RuntimeError("no thread"), EngineCrashError, r"script failed at look \d+: .*no thread"),
        (EngineError("at most 4 instances"), EngineError, r"^at most 4 instances$"),
    ],
)
def test_an_error_in_the_thread_is_raised_when_it_is_stopped(error, raised, text):
    operator = Broken(error)
    loop = loop_of(operator, FAST, clock=time.monotonic_ns)
    loop.start()
    assert operator.ended.wait(PATIENCE_S)
    with pytest.raises(raised, match=text):
        loop.stop()
    loop.stop()


class Stuck(Operator):
    def __init__(self):
        super().__init__()
        self.free = threading.Event()

    def reconfigure(self, instances, mapping):
        self.ended.set()
        self.free.wait(PATIENCE_S)


def test_a_call_that_does_not_return_is_reported():
    operator = Stuck()
    loop = loop_of(operator, FAST, clock=time.monotonic_ns)
    loop.start()
    assert operator.ended.wait(PATIENCE_S)
    with pytest.raises(EngineCrashError, match=r"has not returned for 0\.01 s"):
        loop.stop(timeout_s=0.01)
    operator.free.set()
    loop.stop()
