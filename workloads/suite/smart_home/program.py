"""Predicts loads by the slice of a day (DEBS 2014, query 1; DGS paper, appendix A.2).

The program is keyed by plug. Loads of a plug commute. The end of a slice affects all plugs, or the
plugs of one house. It needs the averages of these plugs together, because households and houses are
sums of plugs, and it begins the next slice at each plug.

    prediction for slice i + 2 = (average of slice i + median of the averages of slice i + 2 of
    earlier days) / 2

The average of a household or house is the sum of the averages of its plugs with a load in the
slice. Days without such a plug are not in the median. If no day is left, the prediction is the
average. All values are whole milliwatts, rounded to the nearest, halves up.
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
"""Time, level, id of the plug, household or house, number since 1970 of the predicted slice, average
of the slice that ended, and prediction."""


def depends(a: Tag, b: Tag) -> bool:
    """Return False: loads of a plug do not depend on each other."""
    return False


def init(plug: Any) -> None:
    """Start without any load."""


def update(plug: Any, event: Any, out: Any) -> None:
    """Add a load."""
    plug.sum_mw += event.load_mw
    plug.loads += 1


def program(slice_s: int, days: int, plugs_per_household: int, plugs_per_house: int) -> DGSProgram:
    """Return the program whose medians use up to `days` earlier days."""
    slices_a_day = SECONDS_A_DAY // slice_s
    slots = slices_a_day * days
    sizes = (1, plugs_per_household, plugs_per_house)

    def close(plug: Any, number: Any) -> None:
        """Store the average of the plug's slice `number`, and begin the next slice."""
        if plug.loads > 0:
            plug.mark[number % slots] = 2 * number + 1  # odd, so never the initial 0
            plug.average_mw[number % slots] = (2 * plug.sum_mw + plug.loads) // (2 * plug.loads)
            plug.sum_mw = 0
            plug.loads = 0

    def average(work: Any, plugs: Any, begin: Any, end: Any, number: Any) -> Any:
        """Store the sum of the plugs' averages in `work`; return whether any had a load."""
        work.sum_mw = 0
        any_load = False
        for i in range(begin, end):
            plug = plugs[i]
            if plug.mark[number % slots] == 2 * number + 1:
                any_load = True
                work.sum_mw += plug.average_mw[number % slots]
        return any_load

    def predict(work: Any, plugs: Any, begin: Any, end: Any, number: Any) -> Any:
        """Return twice the median of earlier days; without earlier days, twice the sum in `work`."""
        now_mw = work.sum_mw
        count = 0
        for day in range(1, days + 1):
            if average(work, plugs, begin, end, number - day * slices_a_day):
                place = count
                while place > 0 and work.past_mw[place - 1] > work.sum_mw:
                    work.past_mw[place] = work.past_mw[place - 1]
                    place -= 1
                work.past_mw[place] = work.sum_mw
                count += 1
        if count == 0:
            return 2 * now_mw
        return work.past_mw[count // 2] + work.past_mw[(count - 1) // 2]

    def end_slice(work: Any, plugs: Any, event: Any, out: Any) -> None:
        """Close the slice, and emit a prediction for each plug, household and house that had a load."""
        number = event.ts // slice_s
        for level in range(3):
            work.begin[level] = 0
        for i in range(len(plugs)):
            close(plugs[i], number)
            for level in range(3):
                group = plugs.key(i) // sizes[level]
                if i + 1 == len(plugs) or plugs.key(i + 1) // sizes[level] != group:
                    begin = work.begin[level]
                    work.begin[level] = i + 1
                    if average(work, plugs, begin, i + 1, number):
                        load_mw = work.sum_mw
                        twice_mw = predict(work, plugs, begin, i + 1, number + 2)
                        predicted_mw = (2 * load_mw + twice_mw + 2) // 4
                        out.emit(event.ts, level, group, number + 2, load_mw, predicted_mw)

    def house_of(key: int) -> int:
        return key // plugs_per_house

    # Working space of one prediction: a sum, sorted sums of earlier days, and the first plug of each level.
    work = np.dtype(
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
                        ("mark", np.int64, (slots,)),  # the slice of each average
                        ("average_mw", np.int32, (slots,)),
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
                state=work,
                update=end_slice,
                max_outputs=0,
                outputs_per_member=3,
            ),
            Across(
                name="homes",
                kinds=("slice_end",),
                state=work,
                update=end_slice,
                max_outputs=0,
                outputs_per_member=3,
            ),
        ),
    )
