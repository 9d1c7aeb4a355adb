"""Energy: measured values, and a reason in place of an empty column."""

from tests.reports.conftest import section

MEASURED = {
    "energy_source": "powercap",
    "energy_gross_j": 144.0,
    "energy_j_per_1000": 0.12,
    "energy_net_j_per_1000": 0.0712,
    "power_w": 23.4,
    "idle_w": 9.1,
}


def test_joules_and_watts_are_the_stored_ones(shown, offered):
    page, _ = shown([offered(**MEASURED)])
    part = section(page, "energy")
    for text, exact in (("120 mJ", "0.12 J"), ("71.2 mJ", "0.0712 J"), ("23.4 W", "23.4 W")):
        assert f'title="{exact}">{text}</span>' in part
    assert "powercap" in part
    assert "offered 20.0 k/s, poisson" in part


def test_at_the_sustainable_rate_the_confirming_trials_count(shown, a_search):
    rows, meta = a_search()
    for row in rows:
        row |= MEASURED | {"energy_j_per_1000": 0.5}
        if row["purpose"] == "confirm":
            row["energy_j_per_1000"] = 0.333
    page, _ = shown(rows, meta=meta)
    part = section(page, "energy")
    assert "sustainable rate, 30.0 k/s" in part
    assert "333 mJ" in part
    assert "500 mJ" not in part


def test_unreadable_energy_is_one_sentence_without_a_table(shown, offered, trial):
    why = {"energy_source": "none", "energy_reason": "no counter in <sysfs>"}
    page, text = shown([offered(**why), trial(**why)])
    part = section(page, "energy")
    assert "<table" not in part
    assert text.count("no counter in <sysfs>") == 1
    assert "&lt;sysfs&gt;" in part
    assert "0 J" not in part


def test_energy_of_a_cell_that_was_not_verified_is_not_shown(shown, offered):
    page, _ = shown([offered(status="invalid", reason="lag", **MEASURED)])
    assert "120 mJ" not in page


def test_a_mark_goes_with_energy_too(shown, offered):
    page, _ = shown([offered(status="unsustained", reason="slow", **MEASURED)])
    assert section(page, "energy").count("▲") >= 3  # the row, the legend, the figure


def test_without_a_word_about_energy_there_is_no_section(shown, trial):
    page, _ = shown([trial()])
    assert not section(page, "energy")
    assert 'href="#energy"' not in page
