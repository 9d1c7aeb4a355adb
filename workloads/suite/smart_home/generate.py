"""Generates loads like `power_readings`, in streams of whole houses, and the ends of slices.

House h is in stream h modulo the number of streams. All households have the same number of plugs,
and all houses the same number of households. A slice ends at its last second, after the loads of
that second. An incomplete last slice has no end.
"""

import numpy as np
import numpy.typing as npt

from streamlab.workloads.datasets.cadence import rows_of
from streamlab.workloads.inputs.homes import (
    END_KINDS,
    FIELDS,
    KINDS,
    LAYOUT,
    LOAD,
    check_slice,
    plugs_per_house,
)
from streamlab.workloads.inputs.power_readings import generate as power
from streamlab.workloads.model import Columns, ModelError, Parameter, Params, StreamSpec

PARAMETERS = (
    {"houses": Parameter(default=40, help="number of houses", minimum=1, maximum=100_000)}
    | LAYOUT
    | {
        "ends": Parameter(
            default="all",
            help="plugs that the end of a slice affects: all, or house (the plugs of one house)",
        )
    }
    | {name: power.PARAMETERS[name] for name in ("device_types", "streams", "gaps", "gap_s")}
    | {
        "period_s": Parameter(
            default=60, help="mean time between two loads of a plug", minimum=1, maximum=3600
        )
    }
)


def keys(params: Params) -> int:
    """Return the number of plugs."""
    return int(params["houses"]) * plugs_per_house(params)


def streams(params: Params, events: int) -> tuple[StreamSpec, ...]:
    """Return the streams of loads and the stream of ends; all plugs have the same number of loads.

    Raises:
        ModelError: more streams than houses, a slice that does not divide a day, or an unknown
            value of `ends`.
    """
    houses, count = int(params["houses"]), int(params["streams"])
    slice_s, ends = int(params["slice_s"]), str(params["ends"])
    check_slice(slice_s)
    if ends not in END_KINDS:
        raise ModelError(f"smart_home: ends is {ends!r}; give {' or '.join(END_KINDS)}")
    if count > houses:
        raise ModelError(
            f"smart_home: {count} streams for {houses} houses; give at most one stream a house"
        )
    turns = -(-events // keys(params))
    slices = turns * int(params["period_s"]) // slice_s
    kind = KINDS[END_KINDS[ends]]
    return (
        *(
            StreamSpec(
                name=f"load-{index}",
                kinds=(KINDS[LOAD],),
                fields=FIELDS,
                events=turns * rows_of(houses, index, count) * plugs_per_house(params),
            )
            for index in range(count)
        ),
        StreamSpec(
            name=kind,
            kinds=(kind,),
            fields=np.dtype([]),
            events=slices * (houses if ends == "house" else 1),
        ),
    )


def generate(
    params: Params, seed: int, specs: tuple[StreamSpec, ...], index: int, begin: int, end: int
) -> Columns:
    """Return rows [begin, end) of one stream."""
    if specs[index].kinds != (KINDS[LOAD],):
        return _ends(params, begin, end)
    count, per_house = int(params["streams"]), plugs_per_house(params)

    def plug_of(number: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        house, plug = np.divmod(number, per_house)
        return (house * count + index) * per_house + plug

    plugs = rows_of(int(params["houses"]), index, count) * per_house
    drawn = power.loads(params, seed, index, begin, end, plugs=plugs, plug_of=plug_of)
    columns: Columns = {"ts": drawn.ts, "load_mw": (drawn.watts * 1000).astype(np.int32)}
    if keys(params) == 1:
        return columns
    return columns | {"tag": (LOAD + len(KINDS) * drawn.plug).astype(np.int32)}


def _ends(params: Params, begin: int, end: int) -> Columns:
    slice_s, ends = int(params["slice_s"]), str(params["ends"])
    ends_per_slice = int(params["houses"]) if ends == "house" else 1
    number, house = np.divmod(np.arange(begin, end, dtype=np.int64), ends_per_slice)
    columns: Columns = {"ts": (number + 1) * slice_s - 1}
    if keys(params) == 1:
        return columns
    return columns | {"tag": (END_KINDS[ends] + len(KINDS) * house).astype(np.int32)}
