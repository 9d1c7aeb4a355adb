"""Made-up trials of the figures of STRETCH."""


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
