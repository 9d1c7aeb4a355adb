"""Random runs of operators O+: shared, not shared, or behind a map stage, one or several operators,
their instances changing or not, read or not.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from hypothesis import strategies as st

from streamlab.engines.errors import UnsupportedError
from streamlab.engines.multicore._core import FARTHEST, TUPLE_BUFFERS
from streamlab.engines.multicore.oplus.options import FUSED, JOIN_FORMS, OPERATOR10, OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.protocol import Measured
from streamlab.workloads.model import Query
from tests.random_runs.case import Case, Family
from tests.random_runs.programs import BY_KEY, CHAINS, OPERATORS
from tests.random_runs.settings import repeat, settings
from tests.random_runs.shapes import shaped

SUBJECTS = OPERATORS | CHAINS | BY_KEY
MOST_INSTANCES = 6
MOST_MAPS = 64 // 3
"""For as many streams as an input here has at most."""
REACH = 100
"""More than the windows of any chain together."""

SCRIPTS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, MOST_INSTANCES)),
    min_size=1,
    max_size=4,
    unique_by=lambda step: step[0],
).map(
    lambda steps: {
        "kind": "script",
        "period_ms": 1.0,
        "steps": [[ms / 2000, instances] for ms, instances in sorted(steps)],
    }
)
THRESHOLDS = st.just({"kind": "thresholds", "period_ms": 1.0, "min": 1, "max": MOST_INSTANCES})


@st.composite
def _cases(draw: st.DrawFn) -> Case:
    # As often one operator as several.
    single = sorted(OPERATORS | BY_KEY)
    name = draw(st.sampled_from(single) | st.sampled_from(sorted(CHAINS)))
    query = SUBJECTS[name].program
    assert isinstance(query, Query)
    how: dict[str, Any] = {
        **draw(settings(workers=(1, 2, 3, 5))),
        "tuple_buffer": draw(st.sampled_from(TUPLE_BUFFERS)),
        "shared_nothing": False,
        "map_instances": None,
        "join_form": FUSED,
        "link_rows": None,
        "downstream": draw(st.sampled_from([0, 1, 3])),
        "moves": (),
        "controller": None,
    }
    subject = SUBJECTS[name]
    if query.operators[0].join is not None:
        how["join_form"] = OPERATOR10 if subject.by_key else draw(st.sampled_from(JOIN_FORMS))
    if len(query.operators) > 1 or how["downstream"]:
        how["link_rows"] = draw(st.sampled_from([None, 2, 8]))
    by_key = query.operators[0].join is None or how["join_form"] == OPERATOR10
    if len(query.operators) == 1 and by_key:
        ways = ["vsn", "sn"] + ["sn-map"] * (query.operators[0].join is None)
        parallelism = draw(st.sampled_from(ways))
        how["shared_nothing"] = parallelism == "sn"
        if parallelism == "sn-map":
            how["map_instances"] = draw(st.sampled_from([1, 2, 5, MOST_MAPS]))
    # What is behind a map stage stays as it is.
    changes = ["", "moves", "controller"] if how["map_instances"] is None else [""]
    change = draw(st.sampled_from(changes))
    if change == "moves":
        moves = st.tuples(st.integers(1, MOST_INSTANCES), st.integers(0, 99))
        how["moves"] = tuple(draw(st.lists(moves, min_size=1, max_size=30)))
    elif change == "controller":
        how["controller"] = draw(SCRIPTS | THRESHOLDS)
        how["measure"] = True
    data = draw(shaped(subject.inputs, REACH - FARTHEST, FARTHEST - REACH, subject.longest))
    return Case(family="oplus", program=name, data=data, how=how)


def _check(case: Case) -> str | None:
    subject, how = SUBJECTS[case.program], case.how
    query = subject.program
    assert isinstance(query, Query)
    wanted = subject.answer(case.data)
    changes = bool(how["moves"] or how["controller"])
    options = OplusOptions(
        shared_nothing=how["shared_nothing"],
        map_instances=how["map_instances"],
        join_form=how["join_form"],
        tuple_buffer=how["tuple_buffer"],
        link_rows=how["link_rows"],
        downstream=how["downstream"],
        max_instances=MOST_INSTANCES if changes else None,
        controller=how["controller"],
    )

    def moved(run: Any) -> Measured:
        def move() -> None:
            for instances, seed in how["moves"]:
                rng = np.random.default_rng(seed)
                first, *behind = (
                    rng.integers(0, instances, operator.buckets) for operator in query.operators
                )
                if run.reconfigure(instances, first, behind) is None:
                    return

        with ThreadPoolExecutor(1) as pool:
            mover = pool.submit(move)
            measured: Measured = run.run()
            mover.result()
        return measured

    try:
        repeat(
            how,
            case.data,
            lambda settings: OplusRun(query, case.data, settings, options),
            lambda got: subject.same(wanted, got),
            moved if how["moves"] else OplusRun.run,
        )
    except UnsupportedError as error:
        return str(error)
    return None


FAMILY = Family(name="oplus", cases=_cases(), check=_check)
