"""Places labels beside the points they name so that none covers another."""

from collections.abc import Sequence


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as needed until neighbours are at least `gap` apart.

    Order is kept. Where there is not room for all between `low` and `high`, they are laid out
    evenly over that range, closer than `gap`.

    Returns:
        The new positions, in the order of `wanted`.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    if not order:
        return []
    if gap * (len(order) - 1) > high - low:
        step = (high - low) / (len(order) - 1)
        placed = [low + step * rank for rank in range(len(order))]
    else:
        placed = _relax([wanted[index] for index in order], gap, low, high)
    result = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        result[index] = placed[rank]
    return result


def _relax(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Merge neighbours that are too close into blocks centred on the mean of what they want."""
    blocks: list[list[float]] = []  # [sum over members of (wanted - gap * place in block), size]
    for position in wanted:
        blocks.append([position, 1])
        while len(blocks) > 1 and _start(blocks[-1], gap, low, high) < (
            _start(blocks[-2], gap, low, high) + gap * blocks[-2][1]
        ):
            total, size = blocks.pop()
            blocks[-1][0] += total - size * gap * blocks[-1][1]
            blocks[-1][1] += size
    return [
        _start(block, gap, low, high) + gap * place
        for block in blocks
        for place in range(int(block[1]))
    ]


def _start(block: Sequence[float], gap: float, low: float, high: float) -> float:
    """Return where a block begins: its members want `first + gap * place`, within the range."""
    total, size = block
    return min(max(total / size, low), high - gap * (size - 1))
