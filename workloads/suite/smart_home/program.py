"""Prediction of loads by the slice of a day (DEBS 2014, query 1; DGS paper, appendix A.2).

Keyed by plug. Loads of a plug commute. The end of a slice concerns the plugs of a house, or all:
it needs their averages together, for households and houses are sums of plugs, and it tells every
plug that the next slice begins.

    prediction for slice i + 2 = (average of slice i + median of the averages of slice i + 2 of
    earlier days) / 2

Of a household or a house the average is the sum of the averages of its plugs that had a load in the
slice. A day in which none had one is not in the median; without any such day the prediction is the
average. All of it is in whole milliwatts, rounded to the nearest, halves up.
"""

from typing import Any

import numpy as np

from streamlab.workloads.inputs.homes import FIELDS, KINDS, SECONDS_A_DAY
from streamlab.workloads.model import Across, DGSProgram, StateType, Tag

PLUG, HOUSEHOLD, HOUSE = range(3)
LEVELS = ("plug", "household", "house")

OUTPUT = np.dtype(
    [
        ("ts", np.int64),
        ("level", np.int8),
        ("id", np.int32),
        ("slice", np.int64),
        ("load_mw", np.int64),
        ("predicted_mw", np.int64),
    ]
)
"""Time, level and number of whom it is about, the predicted slice since 1970, the average of the
slice that ended, and the prediction."""


def depends(a: Tag, b: Tag) -> bool:
    """Loads of a plug do not depend on each other."""
    return False


def init(plug: Any) -> None:
    """Start without any load."""


def update(plug: Any, event: Any, out: Any) -> None:
    """Add a load."""
    plug.sum_mw += event.load_mw
    plug.loads += 1


def program(slice_s: int, days: int, plugs_per_household: int, plugs_per_house: int) -> DGSProgram:
    """Return the program which remembers so many days."""
    slices_a_day = SECONDS_A_DAY // slice_s
    kept = slices_a_day * days
    sizes = (1, plugs_per_household, plugs_per_house)

    def close(plug: Any, number: Any) -> None:
        if plug.loads > 0:
            plug.mark[number % kept] = 2 * number + 1  # never 0, which is nothing
            plug.average_mw[number % kept] = (2 * plug.sum_mw + plug.loads) // (2 * plug.loads)
            plug.sum_mw = 0
            plug.loads = 0

    def average(own: Any, plugs: Any, begin: Any, end: Any, number: Any) -> Any:
        """Return whether any of some plugs had a load in a slice, and put the sum in `own`."""
        own.sum_mw = 0
        any_load = False
        for i in range(begin, end):
            plug = plugs[i]
            if plug.mark[number % kept] == 2 * number + 1:
                any_load = True
                own.sum_mw += plug.average_mw[number % kept]
        return any_load

    def predict(own: Any, plugs: Any, begin: Any, end: Any, number: Any) -> Any:
        """Return twice the median of earlier days for some plugs, or twice what `own` has."""
        now_mw = own.sum_mw
        count = 0
        for day in range(1, days + 1):
            if average(own, plugs, begin, end, number - day * slices_a_day):
                place = count
                while place > 0 and own.past_mw[place - 1] > own.sum_mw:
                    own.past_mw[place] = own.past_mw[place - 1]
                    place -= 1
                own.past_mw[place] = own.sum_mw
                count += 1
        if count == 0:
            return 2 * now_mw
        return own.past_mw[count // 2] + own.past_mw[(count - 1) // 2]

    def end_slice(own: Any, plugs: Any, event: Any, out: Any) -> None:
        number = event.ts // slice_s
        for level in range(3):
            own.begin[level] = 0
        for i in range(len(plugs)):
            close(plugs[i], number)
            for level in range(3):
                of = plugs.key(i) // sizes[level]
                if i + 1 == len(plugs) or plugs.key(i + 1) // sizes[level] != of:
                    begin = own.begin[level]
                    own.begin[level] = i + 1
                    if average(own, plugs, begin, i + 1, number):
                        load_mw = own.sum_mw
                        twice_mw = predict(own, plugs, begin, i + 1, number + 2)
                        predicted_mw = (2 * load_mw + twice_mw + 2) // 4
                        out.emit(event.ts, level, of, number + 2, load_mw, predicted_mw)

    def house_of(key: int) -> int:
        return key // plugs_per_house

    # Of one prediction: a sum, those of earlier days in order, and where each level's plugs begin.
    own = np.dtype(
        [("sum_mw", np.int64), ("past_mw", np.int64, (days,)), ("begin", np.int64, (3,))]
    )
    return DGSProgram(
        name="smart_home",
        kinds=KINDS,
        event=FIELDS,
        output=OUTPUT,
        depends=depends,
        states=(
            StateType(
                name="plug",
                dtype=np.dtype(
                    [
                        ("sum_mw", np.int64),
                        ("loads", np.int64),
                        ("mark", np.int64, (kept,)),  # which slice an average is of
                        ("average_mw", np.int32, (kept,)),
                    ]
                ),
                update=update,
            ),
        ),
        init=init,
        keyed=True,
        max_outputs_per_event=0,
        across=(
            Across(
                name="house",
                kinds=("house_end",),
                group=house_of,
                state=own,
                update=end_slice,
                max_outputs=0,
                outputs_per_member=3,
            ),
            Across(
                name="homes",
                kinds=("slice_end",),
                state=own,
                update=end_slice,
                max_outputs=0,
                outputs_per_member=3,
            ),
        ),
    )
