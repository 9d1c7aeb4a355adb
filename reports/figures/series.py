"""Names the lines of a figure as briefly as possible without ambiguity."""

from collections.abc import Iterable, Mapping

from streamlab.reports.summary import Cell

Series = tuple[str, str, int | None, str]


def short_names(cells: Iterable[Cell]) -> Mapping[Series, str]:
    """Return a name per series: its tag, and engine, variant or batch if they distinguish it."""
    series = list(dict.fromkeys(cell.series for cell in cells))
    engines = {engine for engine, _, _, _ in series}
    names: dict[Series, str] = {}
    for engine, variant, batch, tag in series:
        variants = {v for e, v, _, _ in series if e == engine}
        batches = {b for e, v, b, _ in series if (e, v) == (engine, variant)}
        parts = [engine] if len(engines) > 1 or len(variants) == 1 else []
        if len(variants) > 1:
            parts.append(variant)
        if len(batches) > 1 and batch is not None:
            parts.append(f"batch {batch:,}")
        if tag:
            parts.append(f"({tag})")
        names[engine, variant, batch, tag] = " ".join(parts)
    return names


def place_names(cells: Iterable[Cell]) -> Mapping[str, str]:
    """Return a name per cell id: the engine, and only the parts that distinguish the cells."""
    distinct = list({cell.name: cell for cell in cells}.values())
    names = short_names(distinct)
    varied = len({cell.workers for cell in distinct}) > 1
    loads = {cell.load.label for cell in distinct if cell.load}
    by_id: dict[str, str] = {}
    for cell in distinct:
        parts = [names[cell.series]]
        if varied:
            parts.append(f"w{cell.workers}")
        if len(loads) > 1 and cell.load:
            parts.append(cell.load.label)
        by_id[cell.name] = " ".join(parts)
    return by_id
