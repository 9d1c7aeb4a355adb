"""Trials of the figures of ordered pipelines and of STRETCH, with chosen numbers."""

from tests.lab.figures.claims import cells_of


def trials(row, figure_id, options, numbers, *, status="ok"):
    """A trial of every cell that the figure asks for; `numbers` takes a cell and gives columns."""
    made = []
    for cell in cells_of(figure_id, options):
        label = cell.id.split("/")[5]
        made.append(
            row(
                cell.entry.key,
                "multicore/ordered",
                cell.workers,
                batch=cell.batch,
                label=label,
                status=status,
                **numbers(cell, label),
            )
        )
        assert made[-1]["cell"] == cell.id
    return made


def pace(rate, ms, **counters):
    return {"rate": rate, "counters": {"processing_mean_ns": ms * 1e6, **counters}}


AS_PUBLISHED = {"ct": 1e6, "lp": 1e6, "et": 0.7e6, "qst": 0.6e6}
LATE = {"ct": 4.0, "lp": 3.0, "et": 300.0, "qst": 500.0}


def joins(row, make_run, per_core=4e9, growth=2.0, name="joins"):
    rates = [
        row("scale_join", variant, n, rate=1e5, outputs=70_485, label=form,
            comparisons=round(2 * per_core * (growth if n == 2 else 1)))
        for variant, form in (
            ("multicore/vsn", "operator10"),
            ("multicore/adhoc", "tuples"),
            ("multicore/1t", "tuples"),
        )
        for n in (1, 2)
        if n == 1 or not variant.endswith("1t")
    ]  # fmt: skip
    return make_run(rates, name)
