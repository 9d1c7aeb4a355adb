"""Declares parameters that several generators and queries have."""

from streamlab.workloads.model import Parameter


def skew_parameter(over: str, default: float = 0.0) -> Parameter:
    """Return the parameter for the exponent of a Zipf distribution of `over`."""
    return Parameter(
        default=default, help=f"Zipf exponent of {over}; 0 is uniform", minimum=0.0, maximum=10.0
    )


def streams_parameter(
    units: str, default: int = 1, *, each: str = "", most: int = 512
) -> Parameter:
    """Return the parameter for the number of physical streams that share the `units`; `each` qualifies the streams."""
    return Parameter(
        default=default,
        help=f"physical streams{each}; {units} are assigned in turn",
        minimum=1,
        maximum=most,
    )


SHARES = Parameter(
    default=1000,
    help="round-robin shares that store the tuples; does not change the answer",
    minimum=1,
    maximum=100_000,
)
"""The query parameter `shares` of joins that compare all pairs."""
