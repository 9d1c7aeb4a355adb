"""Assigns the rows of sales and clicks to physical streams, in units that stay together."""

import numpy as np

from streamlab.workloads.datasets.stream_assignment import rows_of
from streamlab.workloads.inputs.retail import purchases
from streamlab.workloads.inputs.retail.days import FIRST_DAY_PARAMETER, midnight_ms
from streamlab.workloads.model import Parameter, Params, StreamSpec


def parameters(unit: str) -> dict[str, Parameter]:
    """Return the parameters of both generators except rates; `unit` names the assigned units."""
    return {
        **purchases.PARAMETERS,
        "first_day": FIRST_DAY_PARAMETER,
        "streams": Parameter(
            default=1,
            help=f"physical streams; {unit} are assigned in turn",
            minimum=1,
            maximum=512,
        ),
    }


def keys(params: Params) -> int:
    """Return 1: tags carry no key."""
    return 1


def assign_streams(
    params: Params, events: int, *, kind: str, fields: np.dtype[np.void], unit: int
) -> tuple[StreamSpec, ...]:
    """Return the streams, with `events` rows in all, assigned in units of `unit` rows.

    Raises:
        ModelError: parameters contradict each other.
    """
    purchases.sizes(params)
    midnight_ms(str(params["first_day"]))
    count = int(params["streams"])
    return tuple(
        StreamSpec(
            name=f"{kind}-{index}",
            kinds=(kind,),
            fields=fields,
            events=_assigned_rows(events, unit, index, count),
        )
        for index in range(count)
    )


def _assigned_rows(events: int, unit: int, index: int, count: int) -> int:
    """Return how many of the first `events` rows stream `index` of `count` has."""
    units, rest = divmod(events, unit)
    return unit * rows_of(units, index, count) + rest * (units % count == index)
