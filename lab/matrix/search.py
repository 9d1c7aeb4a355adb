"""What a sustainable-rate search is asked to do; defaults from docs/method.md."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How to search.

    Attributes:
        start_eps: first rate; doubled until one fails, halved while even that fails.
        tolerance: the bracket [highest pass, lowest fail] is narrowed to this share of its lower
            end.
        votes: fresh processes per probe, of which a majority decides; a probe ends as soon as the
            majority is certain.
        confirmations: fresh processes in which the found rate must hold; when it does not, the rate
            is lowered by `tolerance` and tried again.
        levels: shares of the found rate at which latency is measured afterwards.
        level_repetitions: fresh processes per level.
        max_eps: rates above this are not tried; None: no limit but the input's length.
    """

    start_eps: float = 10_000.0
    tolerance: float = 0.02
    votes: int = 3
    confirmations: int = 5
    levels: tuple[float, ...] = (0.1, 0.5, 0.8, 0.9, 0.95)
    level_repetitions: int = 1
    max_eps: float | None = None
