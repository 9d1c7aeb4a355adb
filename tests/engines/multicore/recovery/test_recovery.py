"""Runs that are stopped and go on: their outputs are those of one run, each once."""

import gc
import random
import time
import weakref
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.adapter import MulticoreEngine
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.recovery import CheckpointWriter
from streamlab.engines.small_load import small_load
from tests.engines.multicore.recovery.small_runs import (
    KILLED,
    NAMES,
    forked,
    input_of,
    is_right,
    refused,
    run,
)

EVENTS = 6_000


@pytest.mark.parametrize("name, workers", [*product(NAMES, [1, 2, 3])])
def test_a_run_with_checkpoints_has_the_answer_in_its_folder(name, workers, tmp_path):
    measured, answer = run(name, EVENTS, tmp_path, workers=workers, batch=64)
    assert is_right(name, EVENTS, answer)
    assert measured.events == input_of(name, EVENTS).events
    assert measured.counters["checkpoints"] > 0
    assert not measured.notices


class StopError(Exception):
    """What stops a run in a test."""


def stop_after(monkeypatch, checkpoints):
    """Have a run fail when it has written so many."""
    write, left = CheckpointFolder.write, [checkpoints]

    def stopping(self, *given, **named):
        if left[0] == 0:
            raise StopError
        left[0] -= 1
        write(self, *given, **named)

    monkeypatch.setattr(CheckpointFolder, "write", stopping)


@pytest.mark.parametrize("stops", [False, True])
def test_a_closed_run_lets_go_of_its_memory_at_once(stops, tmp_path, monkeypatch):
    begin, made = CheckpointWriter.__init__, []

    def noting(self, *given):
        begin(self, *given)
        made.append(weakref.ref(self))

    monkeypatch.setattr(CheckpointWriter, "__init__", noting)
    if stops:
        stop_after(monkeypatch, 1)
    gc.disable()
    try:
        with pytest.raises(StopError) if stops else nullcontext():
            run("event_window", EVENTS, tmp_path)
        assert [one() for one in made] == [None]
    finally:
        gc.enable()


@pytest.mark.some(8)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("workers, later", [(2, 2), (1, 3), (3, 1)])
def test_a_run_goes_on_with_any_number_of_workers(name, workers, later, tmp_path, monkeypatch):
    data = input_of(name, EVENTS)
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        with pytest.raises(StopError):
            run(name, EVENTS, tmp_path, workers=workers, batch=16, every=7)
    measured, answer = run(name, EVENTS, tmp_path, workers=later, batch=16)
    assert is_right(name, EVENTS, answer)
    assert 0 < measured.events < data.events
    before = data.events - measured.events
    assert measured.notices[-1].startswith("resumed from checkpoint 0 of ")
    assert f"at event {before} of {data.events}: " in measured.notices[-1]
    measured, answer = run(name, EVENTS, tmp_path, workers=later)
    assert is_right(name, EVENTS, answer)
    assert measured.events == 0


def test_a_checkpoint_that_is_refused_is_told(tmp_path, monkeypatch):
    for _ in range(2):
        with monkeypatch.context() as patched:
            stop_after(patched, 1)
            with pytest.raises(StopError):
                run("event_window", EVENTS, tmp_path, batch=16)
    newest = tmp_path / "checkpoint-00000001"
    newest.write_bytes(newest.read_bytes()[:100])
    measured, answer = run("event_window", EVENTS, tmp_path)
    assert is_right("event_window", EVENTS, answer)
    assert "checkpoint-00000001 is refused: its checksum is wrong" in measured.notices[0]
    assert "resumed from checkpoint 0" in measured.notices[1]


def test_another_program_or_input_is_refused_before_the_run(tmp_path):
    run("event_window", EVENTS, tmp_path)
    assert "of another input" in refused("event_window", EVENTS + 1, tmp_path)
    assert "of another program" in refused("page_view_join", EVENTS, tmp_path)
    _, answer = run("event_window", EVENTS, tmp_path)
    assert is_right("event_window", EVENTS, answer)


def test_under_a_load_a_run_writes_checkpoints_and_cannot_go_on_from_one(tmp_path):
    data = input_of("event_window", EVENTS)
    due_ns = np.arange(data.events, dtype=np.int64) * 1_000
    load = small_load([stream.ts for stream in data.streams], due_ns)
    _, answer = run("event_window", EVENTS, tmp_path, load=load)
    assert is_right("event_window", EVENTS, answer)
    assert "cannot resume from one: its events are due from the start" in refused(
        "event_window", EVENTS, tmp_path, load=load
    )


@pytest.mark.parametrize(
    "options, why",
    [
        ({"checkpoint_every": -1}, "cannot be negative"),
        ({"checkpoint_folder": "/tmp/x"}, "needs checkpoint_every"),
        ({"checkpoint_every": 1, "checkpoint_folder": "x"}, "absolute path"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, why):
    assert why in MulticoreEngine().wrong_options("dgs", options)


def until_killed(name, events, folder, workers):
    run(name, events, folder, workers=workers, batch=1, measure=False)


def kill_and_restart(name, events, folder, kills, least=0):
    """Kill a run at random moments, `kills` times and until `least` kills left a checkpoint.

    Returns how many did.
    """
    rng = random.Random()
    run(name, events, folder / "compiled", batch=1, measure=False)
    start = time.monotonic()
    forked(until_killed, name, events, folder / "whole", 2).join()
    whole_s = time.monotonic() - start
    met = chain = went_on = 0
    while met < kills or went_on < least:
        here = folder / str(chain)
        process = forked(until_killed, name, events, here, rng.choice([1, 2, 3]))
        process.join(rng.uniform(0, whole_s))
        process.kill()
        process.join()
        assert process.exitcode in (0, KILLED)
        if process.exitcode == KILLED:
            met += 1
            went_on += any(here.glob("checkpoint-*"))
            continue
        _, answer = run(name, events, here)
        assert is_right(name, events, answer)
        chain += 1
    _, answer = run(name, events, folder / str(chain))
    assert is_right(name, events, answer)
    return went_on


@pytest.mark.some(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_killed_at_random_moments_goes_on(name, tmp_path):
    kill_and_restart(name, 30_000, tmp_path, kills=3)


@pytest.mark.full  # minutes
@pytest.mark.parametrize("name", NAMES)
def test_a_run_killed_at_two_hundred_random_moments_goes_on(name, tmp_path):
    went_on = kill_and_restart(name, 300_000, tmp_path, kills=200, least=20)
    print(f"{name}: {went_on} kills left a checkpoint")


def test_errors_of_the_folder_come_before_the_run(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EngineError, match=r"checkpoint folder .*file cannot be opened"):
        run("event_window", EVENTS, tmp_path / "file")
