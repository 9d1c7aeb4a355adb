"""Declared workloads of every form, on random inputs: an engine's generated query answers as the reference engine.

`python declared_workloads.py ENGINE VARIANT INPUTS [FORM...]` prints, by form, how many inputs had an output. Inputs
have ties, several keys, pauses, negative times and values, one stream or two, and few rows or none.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import streamlab as lab
from streamlab.engines.environment import activate
from streamlab.engines.registry import engine as find_engine
from streamlab.lab.judge.verify import verify
from streamlab.workloads.declarative.declaration import JoinStep
from streamlab.workloads.model import DGSProgram, Input, Workload
from streamlab.workloads.registry import workload
from tests.engines.inputs import input_of
from tests.engines.tasks import run_task, task_of


def rows(events, seed):
    """Rows, of which the tests use the types only."""
    return {
        "ts": np.arange(events),
        "zone": np.arange(events),
        "amount": np.arange(events),
        "price": np.arange(events) / 3,
        "open": np.arange(events) % 2 == 0,
    }


LATE = lab.arrays(
    {**rows(9, 1), "ts": [0] * 9}, ts="ts", time_format="ms", out_of_order="2 ms", late="keep"
)
RESULT = {
    "n": lab.count(),
    "total": lab.sum("amount"),
    "income": lab.sum("price * amount"),
    "mean": lab.mean("amount"),
    "price": lab.mean("price"),
    "low": lab.min("amount - 3"),
    "high": lab.max("price"),
    "kinds": lab.distinct("amount"),
    "opened": lab.sum("open"),
    "p90": lab.percentile("price", 90),
    "p50": lab.percentile("price / 7", 50.5, error=0.1, low=0.25),
    "p20": lab.percentile("amount", 20, low=2, high=20),
    "p80": lab.percentile("amount", 80, low=2, high=20),
}


RATIO = {
    "low": lab.min("ratio"),
    "high": lab.max("ratio"),
    "p70": lab.percentile("ratio", 70, low=0.5, high=20),
    "twice": lab.sum("2 * (ratio > 1)"),
}


def _declared() -> dict[str, Workload]:
    tumbling = lab.window("5 ms", input=rows, key="zone", result=RESULT, name="tumbling")
    whole = lab.window(
        "7 ms", input=rows, result={"n": lab.count(), "s": lab.sum("price")}, name="unkeyed"
    )
    counted = lab.count_window(3, input=rows, key="zone", result=RESULT, name="count_window")
    ratios = lab.window(
        "5 ms",
        input=rows,
        key="zone",
        result={"n": lab.count(), "ratio": lab.max("price / amount - amount / zone")},
        name="ratios",
    )
    quotients = lab.select(
        {"zone": "zone", "price": "price", "amount": "amount", "ratio": "price / amount"},
        input=rows,
        where="1 / zone > price / amount or amount == 0",
        name="quotients",
    )
    selected = lab.select(
        {
            "zone": "zone",
            "amount": "amount",
            "ratio": "price / 3 - -1",
            "flag": "not open or zone >= 1",
            "seen": "ts",
            "one": "2 * 3",
        },
        input=rows,
        where="-4 < amount <= 30 and (open or not zone) and price != 0.25",
        name="select",
    )
    late = lab.window(
        "9 ms",
        every="2 ms",
        input=LATE,
        key="zone",
        result=RESULT,
        allowed_lateness="3 ms",
        name="late",
    )
    made = [
        tumbling,
        whole,
        counted,
        selected,
        lab.window("9 ms", every="2 ms", input=rows, key="zone", result=RESULT, name="sliding"),
        lab.window(
            "5 ms",
            every="3 ms",
            input=rows,
            key="amount",
            where="price > 30 or open == 1",
            result={"n": lab.count(), "s": lab.sum("price")},
            name="filtered",
        ),
        late,
        lab.late_rows(late),
        lab.window(
            "5 ms", input=LATE, where="amount > 0", result={"n": lab.count()}, name="late_unkeyed"
        ),
        lab.session("3 ms", input=rows, key="zone", result=RESULT, name="session"),
        lab.session("2 ms", input=rows, result={"n": lab.count()}, name="session_unkeyed"),
        lab.count_window(4, input=rows, result={"s": lab.sum("price")}, name="count_unkeyed"),
        lab.top(2, by="price", size="5 ms", input=rows, key="zone", name="top"),
        lab.top(3, by="amount", size="4 ms", input=rows, columns=["open", "zone"], name="top_rows"),
        lab.deduplicate(key="amount", input=rows, name="deduplicate"),
        lab.deduplicate(
            key="zone", within="4 ms", input=rows, where="amount > 0", name="deduplicate_within"
        ),
        lab.alert(
            "amount > 5", lasting="3 ms", input=rows, key="zone", columns=["price"], name="alert"
        ),
        lab.window(
            "5 ms", every="2 ms", input=rows, key=["zone", "open"], result=RESULT, name="two_keys"
        ),
        lab.session("3 ms", input=rows, key=["open", "zone"], result=RESULT, name="session_keys"),
        lab.count_window(2, input=rows, key=("zone", "open"), result=RESULT, name="count_keys"),
        lab.top(
            2, by="price", size="9 ms", input=rows, key=["zone", "open", "amount"], name="top_keys"
        ),
        lab.deduplicate(key=["zone", "amount"], input=rows, name="deduplicate_keys"),
        lab.deduplicate(key=["zone", "open"], within="4 ms", input=rows, name="keys_within"),
        lab.alert(
            "amount > 5", lasting="3 ms", input=rows, key=["zone", "open"], name="alert_keys"
        ),
        lab.alert("price * 2 > 50", lasting="1 ms", input=rows, name="alert_unkeyed"),
        lab.top(2, by="income", input=tumbling, name="top_of_windows"),
        lab.window(
            "10 ms",
            input=tumbling,
            where="n > 1",
            result={"most": lab.max("n"), "income": lab.sum("income")},
            name="window_of_windows",
        ),
        lab.deduplicate(key="n", input=counted, columns=["income", "zone"], name="distinct_counts"),
        lab.count_window(
            2, input=selected, key="zone", result={"s": lab.sum("ratio")}, name="counted_rows"
        ),
        lab.top(2, by="ratio", columns=["n", "zone"], input=ratios, name="top_of_ratios"),
        lab.window(
            "10 ms",
            input=ratios,
            where="ratio > 1 or -ratio >= 3 or not ratio",
            result=RATIO,
            name="window_of_ratios",
        ),
        lab.count_window(3, input=quotients, result=RATIO, name="count_quotients"),
        lab.select(
            {"same": "ratio == ratio", "other": "ratio != ratio", "less": "ratio <= 2.5"},
            input=quotients,
            where="ratio < 100 or price / amount != ratio or amount in (0, 2, 7)",
            name="compare_quotients",
        ),
        lab.select({"twice": "income * 2", "zone": "zone"}, input=counted, name="select_counts"),
        *_flushed(),
        *_mixed(tumbling, selected),
        *_joins(),
    ]
    return {workload.name: workload for workload in made}


def _flushed() -> list[Workload]:
    """Return windows that the end of the input closes."""
    counts: dict[str, Any] = {"result": {"n": lab.count()}, "at_end": "flush"}
    windows = lab.window("9 ms", every="2 ms", input=rows, key="zone", name="flushed", **counts)
    return [
        windows,
        lab.session("3 ms", input=rows, key="zone", name="flushed_session", **counts),
        lab.top(2, by="n", size="20 ms", input=windows, name="top_of_flushed"),
        lab.select({"n": "n"}, where="n > 1", input=windows, name="flushed_rows"),
    ]


def _mixed(tumbling: Workload, selected: Workload) -> list[Workload]:
    """Return chains of steps on rows and on windows of time."""
    once = lab.deduplicate(key="amount", within="6 ms", input=rows, name="once")
    first = lab.top(3, by="amount", size="4 ms", input=rows, key="zone", name="first")
    visits = lab.session(
        "3 ms", input=selected, key="zone", result={"n": lab.count()}, name="visits"
    )
    rates = lab.select(
        {"zone": "zone", "rate": "opened / n", "n": "n"},
        where="n > 0",
        input=tumbling,
        name="rates",
    )
    return [
        lab.window(
            "5 ms",
            every="2 ms",
            key="zone",
            input=selected,
            result={"s": lab.sum("ratio"), "n": lab.count(), "last": lab.max("seen")},
            name="window_of_rows",
        ),
        lab.window("4 ms", input=once, result={"n": lab.count()}, name="window_of_first_rows"),
        lab.top(2, by="ratio", size="5 ms", input=selected, name="top_of_rows"),
        visits,
        rates,
        lab.alert("rate > 0.3", lasting="5 ms", key="zone", input=rates, name="alert_of_windows"),
        lab.deduplicate(key="zone", within="9 ms", input=tumbling, name="first_windows"),
        lab.count_window(
            2, key="zone", input=first, result={"s": lab.sum("rank * amount")}, name="pairs_of_top"
        ),
        lab.top(1, by="rate", input=rates, name="top_of_rates"),
        lab.window(
            "20 ms",
            input=lab.alert("n > 1", lasting="1 ms", key="zone", input=rates, name="busy"),
            result={"alerts": lab.count()},
            name="alerts",
        ),
        lab.select({"zone": "zone", "rides": "n"}, input=visits, where="n > 1", name="long_visits"),
    ]


def _joins() -> list[Workload]:
    """Return joins of every kind, and what reads them."""
    left = {**rows(9, 1), "amount": ["tea", "cup", "pot"] * 3}
    right = {"at": left["ts"], "place": left["zone"], "open": left["open"]}
    right |= {"cost": left["zone"], "share": left["price"], "sort": left["amount"]}
    tables = [
        lab.arrays(left, ts="ts", time_format="ms"),
        lab.arrays(right, ts="at", time_format="ms"),
    ]
    select = {
        "price": "left.price",
        "word": "left.amount",
        "sort": "right.sort",
        "gap": "right.at - left.ts",
        "both": "left.open and not right.open",
        "ratio": "left.price / right.cost",
        "same": "right.sort == 'cup' or right.share <= 20 and right.place == 0",
    }
    bounds = {"within": ("3 ms", "5 ms")}
    every = {"how": "left", "every": "4 ms"}

    def joined(name: str, **more: Any) -> Workload:
        arguments = {"on": [("zone", "place")], "select": select, "name": name}
        return lab.join(*tables, **(arguments | more))

    keys = [("zone", "place"), ("amount", "sort")]
    inner = joined("inner_join", **bounds)
    outer = joined("left_join", **bounds, **every)
    chosen = lab.select(
        {"zone": "zone", "gap": "gap", "word": "word"}, input=outer, where="gap < 3", name="chosen"
    )
    result = {"n": lab.count(), "low": lab.min("gap"), "price": lab.max("price")}
    return [
        inner,
        outer,
        joined("asof_join", how="asof"),
        joined("join_keys", on=keys, within="6 ms"),
        joined("left_keys", on=keys, within=("0 ms", "4 ms"), how="left", every="1 ms"),
        joined("asof_keys", on=keys, how="asof", within="7 ms"),
        joined("left_flushed", **bounds, **every, at_end="flush"),
        lab.window("5 ms", every="2 ms", key="zone", input=inner, result=result, name="pairs"),
        lab.top(2, by="price", size="4 ms", columns=["zone"], input=outer, name="dearest"),
        chosen,
        lab.select(
            {"place": "zone", "loss": "-gap / 3", "price": "price"},
            where="both or not price",
            input=inner,
            name="select_pairs",
        ),
        lab.window(
            "6 ms",
            key="word",
            input=chosen,
            result={"n": lab.count()},
            at_end="flush",
            name="chosen_counts",
        ),
    ]


@lab.window("9 ms", every="3 ms", input=rows, key=["zone", "open"], name="bounded_fields")
class _BoundedFields:
    amounts = lab.BoundedSet(most=64)
    dearest = lab.LargestValues(float, most=2)

    def add(self, row):
        self.amounts.add(row.amount)
        self.dearest.add(row.price)

    def result(self):
        return {"n": len(self.amounts), "has_0": 0 in self.amounts, "least": self.dearest[-1]}


def _halves(row):
    if row.amount < 0:
        return
    for part in range(row.amount % 3):
        yield {"zone": row.zone, "part": part, "price": row.price / 2}


FUNCTIONS = {
    "bounded_fields": _BoundedFields,
    "flat_map": lab.flat_map(_halves, most=2, input=rows, where="open", name="flat_map"),
}
"""Workloads with functions of the user, which no query can express."""
DECLARED = _declared()
"""A workload for each form, each also an attribute of this module, where Spark's workers find it."""
globals().update(DECLARED | FUNCTIONS)


def random_input(workload: Workload, seed: int) -> Input:
    """Return an input with the columns that a workload reads."""
    rng = np.random.default_rng(seed)
    first = workload.declaration.steps()[0].step
    if isinstance(first, JoinStep):
        return _random_sides(workload, first, rng)
    streams = []
    for _ in range(int(rng.integers(1, 3))):
        count = int(rng.choice([0, 1, 5, 40, 120]))
        # Times with ties and with pauses.
        ts = np.cumsum(rng.choice([0, 0, 1, 1, 2, 9], count)) - int(rng.integers(0, 80))
        columns = {
            "zone": rng.integers(-1, 3, count),
            "amount": rng.integers(-6, 40, count),
            "price": rng.choice([0.0, 0.25, 1.0, 2.0, 64.0, -1.0], count),
            "open": rng.integers(0, 2, count).astype(np.bool_),
            "late_by": rng.choice([0, 0, 3, 8, 20], count),
        }
        random = rng.random(count) < 0.7
        columns["price"] = np.where(random, rng.random(count) * 100, np.abs(columns["price"]))
        names = workload.program.event.names or ()
        streams.append((0, ts, {name: columns[name] for name in names}))
    return input_of(["row"], *streams)


def _random_sides(workload: Workload, step: JoinStep, rng: np.random.Generator) -> Input:
    """Return the rows of two tables; an as-of join has one stream of each, the others one or two."""
    streams = []
    is_keyed = isinstance(workload.program, DGSProgram)
    for kind, side in enumerate(workload.program.kinds):
        for _ in range(1 if is_keyed else int(rng.integers(1, 3))):
            count = int(rng.choice([0, 40, 50, 60, 60]))
            ts = np.cumsum(rng.choice([0, 0, 1, 2, 5], count)) - int(rng.integers(30, 50))
            columns = {}
            for column in step.of_side(side):
                values = rng.integers(-1, 3, count)
                if column.dictionary is not None:
                    values = rng.integers(0, 3, count)
                elif column.dtype.kind == "f":
                    values = rng.choice([0.0, 2.5, 20.0, 64.0], count)
                columns[column.name] = values.astype(column.dtype)
            if is_keyed:
                keys = [columns[key.name].astype(np.int64) + 1 for key in step.keys]
                number = sum(part * 4**place for place, part in enumerate(keys))
                columns["tag"] = kind + 2 * number
            streams.append((kind, ts, columns))
    return input_of(workload.program.kinds, *streams, keys=4 ** len(step.keys) if is_keyed else 1)


def main(engine_name: str, variant: str, inputs: str, *names: str) -> None:
    """Try forms on inputs; a wrong answer ends the process."""
    activate(engine_name)
    engine = find_engine(engine_name)
    for name in names or DECLARED:
        made = workload(f"{__file__}:{name}")
        answered = 0
        for seed in range(int(inputs)):
            data = random_input(made, seed)
            with tempfile.TemporaryDirectory() as folder:
                task = task_of(made, data, Path(folder), variant)
                reason = engine.unsupported(task)
                assert reason is None, reason
                try:
                    _, answer = run_task(engine, task)
                    expected = made.oracle(task.dataset.load())
                    found = verify(made, task.dataset, answer, expected)
                    assert found.difference is None, found.difference
                except BaseException as error:
                    error.add_note(f"{name}, input {seed}")
                    raise
            answered += len(answer["ts"]) > 0
        print(name, answered, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
