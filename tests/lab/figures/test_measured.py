"""The text of a figure on the machine of its measurement."""

import json

from streamlab.lab.figures.measurements import machine, troubles


def test_the_load_and_every_kind_of_warning_are_shown_with_a_figure(make_run, row):
    warned = {"warnings": json.dumps(["load average 3.10 on 2 cores"]), "loadavg_before": 3.1}
    run = make_run(
        [
            row(
                "event_window",
                "multicore/dgs",
                1,
                rate=1e6,
                loadavg_before=0.25,
                core_to_core_before_ns=38.4,
                core_to_core_after_ns=250.0,
            ),
            row("event_window", "multicore/dgs", 2, rate=1e6, **warned),
        ],
        repetitions=1,
    )
    (said,) = machine([run])
    assert said == (
        "Load average before a trial, including earlier trials: 0.2 to 3.1; cores 38 to 250 ns "
        "apart; load average 3.10 on "
        "2 cores (1 of 2 trials)."
    )


def test_a_run_without_a_load_has_no_text_about_loads(make_run, row):
    assert machine([make_run([row("event_window", "multicore/dgs", 1, rate=1e6)])]) == ()


def test_cells_without_a_number_for_the_same_reason_have_one_sentence(make_run, row):
    absent = {"rate": 0.0, "status": "unsupported", "reason": "flink has no environment"}
    run = make_run(
        [row("event_window", "flink/manual", n, **absent) for n in (1, 2, 3)]
        + [row("event_window", "multicore/dgs", 1, rate=1e6)]
        + [row("event_window", "multicore/dgs", 2, rate=0.0, status="crash", reason="a fault")]
    )
    many, alone = troubles([run])
    assert "/w1/b64 has no number: unsupported: flink has no environment; likewise 2" in many
    assert alone.endswith("/w2/b64 has no number: crash: a fault")
