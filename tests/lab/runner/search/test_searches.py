"""Searches of several cells take turns, and resume after an interruption."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import asdict

from streamlab.lab.errors import SearchError
from streamlab.lab.load.spec import LoadSpec
from streamlab.lab.matrix.cells import Cell
from streamlab.lab.matrix.load_table import SearchSettings
from streamlab.lab.matrix.matrix import WorkloadEntry
from streamlab.lab.runner.search.run import Searches, vote_of
from streamlab.lab.runner.search.state import (
    CRASH,
    FAIL,
    INVALID,
    PASS,
    STOP,
    TOO_SHORT,
    VERDICTS,
    Bracket,
    Probe,
    Vote,
)
from streamlab.results import schema
from tests.examples import examples
from tests.lab.runner.runs import stored_searches
from tests.lab.runner.search.engine import Synthetic
from tests.results.records import trial_row

STATUS = {PASS: schema.OK, FAIL: schema.UNSUSTAINED, INVALID: schema.INVALID}


def cell(name, **search):
    return Cell(
        id=f"event_window/{name}/correct/w1/sustainable",
        entry=WorkloadEntry(name="event_window"),
        engine=name,
        variant="correct",
        workers=1,
        batch=None,
        options={},
        repetitions=1,
        timeout_s=60.0,
        load=LoadSpec(warm_up_s=1.0, window_s=3.0),
        search=SearchSettings(**search),
    )


def row(trial, vote):
    """Return the columns of a trial that a search reads."""
    columns = {
        "cell": trial.cell.id,
        "purpose": trial.purpose,
        "probe": trial.probe,
        "vote": trial.vote,
        "load": json.dumps(asdict(trial.load)),
        "offered_eps": trial.rate_eps,
        "status": STATUS[vote.verdict],
        "sustained": {PASS: True, FAIL: False, INVALID: None}[vote.verdict],
        "sustained_reason": vote.reason,
        "reason": vote.reason,
    }
    return trial_row(columns)


CELLS = (cell("slow", levels=(0.5,)), cell("fast"), cell("middling", votes=1, confirmations=1))
ENGINES = {
    "slow": Synthetic(capacity_eps=3_000),
    "fast": Synthetic(capacity_eps=700_000),
    "middling": Synthetic(capacity_eps=50_000, generator_eps=30_000),
}


def run_all(rows=(), most=None, **more):
    """Drive all searches on; every verdict depends on the trial alone."""
    searches = Searches(CELLS, rows, **more)
    rows = list(rows)
    while (trial := searches.next()) is not None and len(rows) != most:
        engine = ENGINES[trial.cell.engine]
        rows.append(row(trial, engine.vote(trial.rate_eps, np.random.default_rng(0))))
        searches.record(rows[-1])
    return searches, rows


def test_trials_of_all_searches_take_turns():
    _, rows = run_all()
    engines = [row.cell.split("/")[1] for row in rows]
    rounds = [tuple(engines[at : at + 3]) for at in range(0, 12, 3)]
    assert all(sorted(turn) == ["fast", "middling", "slow"] for turn in rounds)
    assert len(set(rounds)) > 1, "what a trial leaves behind would fall on the same cell always"


def test_a_vote_after_invalid_ones_waits_longer_each_time():
    searches = Searches(CELLS[:1])
    pauses = []
    for verdict in (INVALID, INVALID, PASS, PASS):
        trial = searches.next()
        pauses.append(searches.pause_s(trial.cell))
        searches.record(row(trial, Vote(verdict=verdict)))
    assert pauses == [0, 5, 10, 0]


def test_every_search_ends_with_its_own_bracket():
    searches, _ = run_all()
    found = {id_.split("/")[1]: state.bracket for id_, state in searches.states.items()}
    assert found["slow"].r_pass_eps <= 3_000 < found["slow"].r_fail_eps
    assert found["fast"].r_pass_eps <= 700_000 < found["fast"].r_fail_eps
    assert found["middling"].r_pass_eps <= 30_000
    assert "generator" in found["middling"].reason


@given(st.integers(0, 200))
@settings(max_examples=examples(40), deadline=None)
def test_a_resumed_run_does_what_is_left_and_nothing_twice(stop_after):
    _, whole = run_all()
    _, part = run_all(most=stop_after)
    _, resumed = run_all(rows=part)
    assert resumed == whole


def test_the_next_trial_stays_the_same_until_its_row_is_recorded():
    searches = Searches(CELLS)
    assert searches.next() == searches.next()


def test_repetitions_count_the_trials_of_a_cell():
    searches, rows = run_all(most=7)
    next_ = searches.next()
    assert next_.repetition == 3
    assert [row.cell for row in rows].count(next_.cell.id) == 2


def test_a_row_that_the_search_did_not_ask_for_is_refused():
    _, rows = run_all(most=7)
    with pytest.raises(SearchError, match="expected probe 1, vote 1"):
        Searches(CELLS, rows[1:2] + rows[4:5] + rows[3:4])


def test_a_row_at_another_rate_is_refused():
    _, rows = run_all(most=3)
    changed = (cell("slow", start_eps=500.0), *CELLS[1:])
    with pytest.raises(SearchError, match="ran at 10,000 events/s, expected 500"):
        Searches(changed, rows)


def test_rows_and_cells_without_a_search_are_passed_over():
    catch_up = Cell(**{**{f: getattr(CELLS[0], f) for f in CELLS[0].__slots__}, "search": None})
    searches = Searches([catch_up], [trial_row({"cell": catch_up.id, "status": "ok"})])
    assert searches.next() is None
    assert searches.states == {}


def test_the_highest_feasible_rate_is_not_exceeded():
    searches = Searches(CELLS[:1], feasible_eps={CELLS[0].id: 5_000.0})
    assert searches.next().rate_eps == 5_000.0


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"status": "ok", "sustained": True}, PASS),
        ({"status": "ok", "sustained": None}, FAIL),
        ({"status": "unsustained", "sustained": False}, FAIL),
        ({"status": "unsteady", "sustained": False}, FAIL),
        ({"status": "timeout"}, FAIL),
        ({"status": "oom"}, FAIL),
        ({"status": "crash"}, CRASH),
        ({"status": "invalid", "offered_eps": 5.0}, INVALID),
        ({"status": "invalid"}, TOO_SHORT),
        ({"status": "wrong_output"}, STOP),
        ({"status": "unsupported"}, STOP),
    ],
)
def test_every_status_has_a_verdict(columns, verdict):
    assert vote_of(trial_row(columns)).verdict == verdict


def test_no_status_is_without_a_verdict():
    for status in schema.STATUSES.keys() - {schema.IMPORTED}:  # which no trial of the lab has
        assert vote_of(trial_row({"status": status})).verdict in VERDICTS


def test_the_record_on_disk_follows_every_trial(tmp_path):
    searches, rows = run_all(most=11, run_dir=tmp_path)
    records = stored_searches(tmp_path)
    assert set(records) == {cell.id for cell in CELLS}
    for cell_ in CELLS:
        record, state = records[cell_.id], searches.states[cell_.id]
        assert convert(record["probes"], tuple[Probe, ...]) == state.probes
        assert convert(record["bracket"], Bracket) == state.bracket
        assert convert(record["settings"], SearchSettings) == cell_.search
        assert record["over"] is False
    run_all(rows=rows, run_dir=tmp_path)
    records = stored_searches(tmp_path)
    assert all(record["over"] for record in records.values())
    assert records[CELLS[0].id]["criteria"]["most_drain_s"] == 5.0
    assert not list(tmp_path.glob("searches/*.partial"))
