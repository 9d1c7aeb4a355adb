"""The families of the core, each with its random runs."""

import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore import _core
from streamlab.engines.multicore.adapter import FAMILIES as VARIANTS
from streamlab.engines.multicore.joins.run import ADHOC, INDEXED, TILES
from streamlab.engines.multicore.layers.run import COMMUNICATION, OPERATOR, TURN, check_ties
from streamlab.engines.multicore.oplus.elastic.mapping import instance_set
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.engines.protocol import Measured, Prepared
from streamlab.workloads.model import Columns, DGSProgram, Input, Pipeline, Query
from streamlab.workloads.model.dgs.plan import Plan
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.model.operators.program import FLUSH
from streamlab.workloads.model.operators.windows import flushed
from streamlab.workloads.optimizers import PlanRequest, choose
from tests.engines.multicore.native_runs import ScriptDecider
from tests.random_runs.answers import trace
from tests.random_runs.case import Case, Family
from tests.random_runs.programs import (
    BY_KEY,
    CHAINS,
    DGS,
    FLOWS,
    GRAPHS,
    OPERATORS,
    PIPELINES,
    Subject,
)
from tests.random_runs.settings import made, repeat, settings
from tests.random_runs.shapes import shaped

REACH = 100
"""More than the windows of any chain together."""
OF_QUERIES = (REACH - _core.FARTHEST, _core.FARTHEST - REACH)
"""The lowest and highest time in an input of windows."""
OF_FUNCTIONS = (-(1 << 61), 1 << 61)
"""Those of functions that add to times and subtract them: room for that."""
OF_DGS = (np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max - 1)
"""The ends of time themselves are refused."""


def _run_of(variant: str, program: Any, case: Case, settings: RunSettings, **more: Any) -> Prepared:
    """Return a run with the options of the variant that a case has, and more of them."""
    options = VARIANTS[variant].options
    names = {field.name for field in fields(options)}
    given = {name: value for name, value in case.how.items() if name in names}
    return VARIANTS[variant].run(program, case.data, settings, options(**{**given, **more}))


def _check(
    subjects: dict[str, Subject],
    make: Callable[[Any, Case, RunSettings], Prepared],
    case: Case,
    during: Callable[[Any], Measured] = lambda run: run.run(),
) -> str | None:
    """Do a case; return why it is refused, if it is."""
    subject = subjects[case.program]
    expected = subject.answer(case.data)
    try:
        repeat(
            case.how,
            case.data,
            lambda settings: make(subject.program, case, settings),
            lambda got: subject.same(expected, got),
            during,
        )
    except UnsupportedError as error:
        return str(error)
    return None


# ---- dgs: on plans that stay or change, with checkpoints and without, or as published ----------

OPTIMIZERS = ("by-stream", "by-stream", "balanced", "appendix-b", "leaf-per-stream")
"""Not by cost: that plans with one of these, and a run's failure would hang on the minute."""
CHANGES = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from(OPTIMIZERS), st.integers(1, 8)), max_size=4
)
"""Of the plan: at a cut, at the earliest, to another optimizer's for so many workers."""


@st.composite
def _dgs_cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(DGS)))
    how: dict[str, Any] = {
        **draw(settings()),
        "form": draw(st.sampled_from(["own", "own", "as-published"])),
        "optimizer": draw(st.sampled_from(OPTIMIZERS)),
        "checkpoint_every": 0,
    }
    if how["form"] == "own":
        how |= {
            "gather": draw(st.booleans()),
            "handover": draw(st.sampled_from(_core.HANDOVERS)),
            "checkpoint_every": draw(st.sampled_from([0, 0, 0, 1, 2, 7])),
            "checkpoint_ms": draw(st.sampled_from([0, 1])),
            "changes": draw(st.just([]) | CHANGES),
        }
    data = draw(shaped(DGS[name].inputs, *OF_DGS))
    return Case(family="dgs", program=name, data=data, how=how)


def _script(program: DGSProgram, case: Case) -> list[tuple[int, Plan]]:
    """Return the changes of the plan that a case asks for."""
    found = []
    for cut, optimizer, workers in sorted(case.how.get("changes", [])):
        request = PlanRequest(
            program=program,
            alphabet=case.data.alphabet,
            streams=profile(case.data),
            workers=min(workers, case.how["workers"]),
        )
        found.append((cut, choose(optimizer, request).plan))
    return found


def _check_dgs(case: Case) -> None:
    """A run with checkpoints is done again from the one before its last, which is its end."""
    subject, how = DGS[case.program], case.how
    expected = subject.answer(case.data)
    kind = VARIANTS["dgs"].options
    options = kind(**{field.name: how[field.name] for field in fields(kind) if field.name in how})
    script = _script(subject.program, case)

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "checkpoints"
        if how["checkpoint_every"]:
            options = replace(options, checkpoint_folder=str(folder))

        def run_of(settings: RunSettings) -> Any:
            run = VARIANTS["dgs"].run
            changes = ScriptDecider(script) if script else None
            return run(subject.program, case.data, settings, options, decider=changes)

        def begin(settings: RunSettings) -> Any:
            shutil.rmtree(folder, ignore_errors=True)
            return run_of(settings)

        def judge(got: Columns) -> None:
            subject.same(expected, got)
            if how["checkpoint_every"]:
                max(folder.glob("checkpoint-*")).unlink()
                with closing(run_of(replace(made(how, case.data), load=None))) as run:
                    run.run()
                    subject.same(expected, run.answer())

        repeat(how, case.data, begin, judge)


# ---- oplus: shared, not shared, or behind a map stage, their instances changing or not ----------

QUERIES = OPERATORS | CHAINS | BY_KEY
MAX_INSTANCES = 6
MAX_MAPS = 64 // 3
"""For as many streams as an input here has at most."""
INSTANCES = st.integers(1, MAX_INSTANCES) | st.sets(
    st.integers(0, MAX_INSTANCES - 1), min_size=1
).map(sorted)
SCRIPTS = st.lists(
    st.tuples(st.integers(0, 40), INSTANCES),
    min_size=1,
    max_size=4,
    unique_by=lambda step: step[0],
).map(
    lambda steps: {
        "kind": "script",
        "period_ms": 1.0,
        "steps": [[ms / 2000, active] for ms, active in sorted(steps, key=lambda step: step[0])],
    }
)
THRESHOLDS = st.just({"kind": "thresholds", "period_ms": 1.0, "min": 1, "max": MAX_INSTANCES})


@st.composite
def _query_inputs(draw: st.DrawFn, subject: Subject) -> Input:
    """Inputs that end, are cut, or are flushed. A query that flushes gets flushed input, as from a task."""
    data = draw(shaped(subject.inputs, *OF_QUERIES, subject.longest))
    program = subject.program
    if not isinstance(program, Query):
        return data
    flushes = program.at_end == FLUSH or draw(st.sampled_from([False, False, True]))
    return flushed(replace(program, at_end=FLUSH), data) if flushes else data


@st.composite
def _oplus_cases(draw: st.DrawFn) -> Case:
    # As often one operator as several.
    single = sorted(OPERATORS | BY_KEY)
    name = draw(st.sampled_from(single) | st.sampled_from(sorted(CHAINS)))
    subject = QUERIES[name]
    first, *others = subject.program.operators
    how: dict[str, Any] = {
        **draw(settings(workers=(1, 2, 3, 5))),
        "variant": "vsn",
        "tuple_buffer": draw(st.sampled_from(_core.TUPLE_BUFFERS)),
        "join_form": "fused",
        "link_rows": None,
        "downstream": draw(st.sampled_from([0, 1, 3])),
        "moves": (),
        "controller": None,
    }
    if first.join is not None:
        how["join_form"] = (
            "operator10" if subject.by_key else draw(st.sampled_from(["fused", "operator10"]))
        )
    if others or how["downstream"]:
        how["link_rows"] = draw(st.sampled_from([None, 2, 8]))
    if not others and (first.join is None or how["join_form"] == "operator10"):
        ways = ["vsn", "sn"] + ["sn-map"] * (first.join is None)
        how["variant"] = draw(st.sampled_from(ways))
    changes = ["", "moves", "controller"]
    if how["variant"] == "sn-map":
        how["map_instances"] = draw(st.sampled_from([1, 2, 5, MAX_MAPS]))
        changes = [""]  # what is behind a map stage stays as it is
    change = draw(st.sampled_from(changes))
    if change == "moves":
        moves = st.tuples(INSTANCES, st.integers(0, 99))
        how["moves"] = tuple(draw(st.lists(moves, min_size=1, max_size=30)))
    elif change == "controller":
        how["controller"] = draw(SCRIPTS | THRESHOLDS)
        how["measure"] = True
    if change:
        how["max_instances"] = MAX_INSTANCES
    data = draw(_query_inputs(subject))
    return Case(family="oplus", program=name, data=data, how=how)


def _check_oplus(case: Case) -> str | None:
    operators = QUERIES[case.program].program.operators

    def moved(run: Any) -> Measured:
        def move() -> None:
            for instances, seed in case.how["moves"]:
                rng = np.random.default_rng(seed)
                active = np.array(instance_set(instances))
                first, *behind = (rng.choice(active, operator.buckets) for operator in operators)
                if run.reconfigure(instances, first, behind) is None:
                    return

        with ThreadPoolExecutor(1) as pool:
            mover = pool.submit(move)
            measured: Measured = run.run()
            mover.result()
        return measured

    during = moved if case.how["moves"] else lambda run: run.run()
    return _check(QUERIES, partial(_run_of, case.how["variant"]), case, during)


# ---- ordered: schedulers, serials, worklists, buffers, partitions -------------------------------

QUEUES = [
    (serials, worklist)
    for serials in _core.SERIALS
    for worklist in _core.WORKLISTS
    if (serials, worklist) != ("operator", "homed")
]


@st.composite
def _ordered_cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(PIPELINES)))
    serials, worklist = draw(st.sampled_from(QUEUES))
    how: dict[str, Any] = {
        **draw(settings()),
        "scheduler": draw(st.sampled_from(_core.SCHEDULERS)),
        "serials": serials,
        "worklist": worklist,
        "reordering": draw(st.sampled_from(_core.REORDERINGS)),
        "window": draw(st.sampled_from([None, 1, 2, 5, 64])),
        "partitions": draw(st.sampled_from([None, 1, 4, 9])),
    }
    data = draw(shaped(PIPELINES[name].inputs, *OF_FUNCTIONS))
    return Case(family="ordered", program=name, data=data, how=how)


# ---- layers: pipelines and operators O+ as graphs, ordered by channels or operators -------------

LAYERED = (
    GRAPHS
    | OPERATORS
    | {
        name: subject
        for name, subject in PIPELINES.items()
        if subject.output is not None and check_ties(subject.program, subject.output, 2) is None
    }
)


@st.composite
def _layers_cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(LAYERED)))
    how: dict[str, Any] = {
        **draw(settings(workers=(1, 2, 3, 5))),
        "determinism": draw(st.sampled_from([COMMUNICATION, OPERATOR])),
        "channels": draw(st.sampled_from(_core.CHANNELS)),
        "merge_unit": draw(st.sampled_from(_core.MERGE_UNITS)),
        "dealing": draw(st.sampled_from(_core.DEALINGS)),
        "link_rows": draw(st.sampled_from([2, 4, 64, 4096])),
    }
    data = draw(_query_inputs(LAYERED[name]))
    return Case(family="layers", program=name, data=data, how=how)


def _check_layers(case: Case) -> str | None:
    subject, how = LAYERED[case.program], case.how
    program, output = subject.program, subject.output
    if isinstance(program, Pipeline):
        assert output is not None
        if how["dealing"] == TURN:  # ties leave in any order, those of one key as well
            output = replace(output, depends=lambda a, b: False)
            if check_ties(program, output, how["workers"], TURN) is not None:
                return None
        # Partitioned operators have instances: ties may swap.
        subject = replace(subject, same=trace(output))
    return _check({case.program: subject}, partial(_run_of, "layers"), case)


# ---- joins: the hand-written ones ----------------------------------------------------------------


@st.composite
def _joins_cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(_core.JOIN_KINDS))
    form = TILES if kind == INDEXED else draw(st.sampled_from(_core.JOIN_FORMS))
    how: dict[str, Any] = {**draw(settings()), "kind": kind, "join_form": form}
    if kind != ADHOC:
        how["workers"] = 1
    data = draw(shaped(OPERATORS["scale_join"].inputs, *OF_QUERIES))
    return Case(family="joins", program="scale_join", data=data, how=how)


# ---- dataflow: degrees of vertices, partial sums, full links -------------------------------------

MAX_MARKERS = 20_000
"""The interpreter takes them one by one, in all vertices."""


@st.composite
def _dataflow_cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(FLOWS)))
    flow = FLOWS[name].program
    how: dict[str, Any] = {
        **draw(settings()),
        "combine": draw(st.sampled_from(["always", "never"])),
        "link_rows": draw(st.sampled_from([1 << 14, 1])),
        "degrees": tuple(draw(st.sampled_from([None, None, 1, 2, 3])) for _ in flow.vertices),
    }
    data = draw(shaped(FLOWS[name].inputs, *OF_FUNCTIONS, MAX_MARKERS * flow.markers))
    return Case(family="dataflow", program=name, data=data, how=how)


def _dataflow_run(flow: Any, case: Case, settings: RunSettings) -> Prepared:
    vertices = tuple(
        vertex if vertex.is_source else replace(vertex, degree=degree)
        for vertex, degree in zip(flow.vertices, case.how["degrees"], strict=True)
    )
    return _run_of("dataflow", replace(flow, vertices=vertices), case, settings)


FAMILIES = {
    family.name: family
    for family in (
        Family(name="dgs", cases=_dgs_cases(), check=_check_dgs),
        Family(name="oplus", cases=_oplus_cases(), check=_check_oplus),
        Family(
            name="ordered",
            cases=_ordered_cases(),
            check=partial(_check, PIPELINES, partial(_run_of, "ordered")),
        ),
        Family(name="layers", cases=_layers_cases(), check=_check_layers),
        Family(
            name="joins",
            cases=_joins_cases(),
            check=lambda case: _check(OPERATORS, partial(_run_of, case.how["kind"]), case),
        ),
        Family(
            name="dataflow",
            cases=_dataflow_cases(),
            check=partial(_check, FLOWS, _dataflow_run),
        ),
    )
}
