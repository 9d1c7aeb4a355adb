"""Runs that stop and resume have the outputs of one run, each once."""

import gc
import random
import time
import weakref
from contextlib import nullcontext
from itertools import product

import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.recovery import CheckpointWriter
from tests.engines.multicore.native_runs import even_load
from tests.engines.multicore.recovery.small_runs import KILLED, NAMES, forked, input_of, run_in

EVENTS = 6_000


@pytest.mark.parametrize("name, workers", [*product(NAMES, [1, 2, 3])])
def test_a_run_with_checkpoints_has_the_answer_in_its_folder(name, workers, tmp_path):
    measured = run_in(tmp_path, name, EVENTS, workers=workers, batch=64)
    assert measured.events == input_of(name, EVENTS).events
    assert measured.counters["checkpoints"] > 0
    assert not measured.notices


class StopError(Exception):
    """Stops a run in a test."""


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
            run_in(tmp_path, "event_window", EVENTS)
        assert [one() for one in made] == [None]
    finally:
        gc.enable()


@pytest.mark.some(8)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("workers, later", [(2, 2), (1, 3), (3, 1)])
def test_a_run_resumes_with_any_number_of_workers(name, workers, later, tmp_path, monkeypatch):
    data = input_of(name, EVENTS)
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        with pytest.raises(StopError):
            run_in(tmp_path, name, EVENTS, workers=workers, batch=16, every=7)
    measured = run_in(tmp_path, name, EVENTS, workers=later, batch=16)
    assert 0 < measured.events < data.events
    before = data.events - measured.events
    assert measured.notices[-1].startswith("resumed from checkpoint 0 of ")
    assert f"at event {before} of {data.events}: " in measured.notices[-1]
    measured = run_in(tmp_path, name, EVENTS, workers=later)
    assert measured.events == 0


def test_a_refused_checkpoint_is_reported(tmp_path, monkeypatch):
    for _ in range(2):
        with monkeypatch.context() as patched:
            stop_after(patched, 1)
            with pytest.raises(StopError):
                run_in(tmp_path, "event_window", EVENTS, batch=16)
    newest = tmp_path / "checkpoint-00000001"
    newest.write_bytes(newest.read_bytes()[:100])
    measured = run_in(tmp_path, "event_window", EVENTS)
    assert "checkpoint-00000001 is refused: its checksum is wrong" in measured.notices[0]
    assert "resumed from checkpoint 0" in measured.notices[1]


def test_another_program_or_input_is_refused_before_the_run(tmp_path):
    run_in(tmp_path, "event_window", EVENTS)
    with pytest.raises(EngineError, match="of another input"):
        run_in(tmp_path, "event_window", EVENTS + 1)
    with pytest.raises(EngineError, match="of another program"):
        run_in(tmp_path, "page_view_join", EVENTS)
    run_in(tmp_path, "event_window", EVENTS)


def test_under_a_load_a_run_writes_checkpoints_and_cannot_go_on_from_one(tmp_path):
    load = even_load(input_of("event_window", EVENTS), 1_000)
    run_in(tmp_path, "event_window", EVENTS, load=load)
    with pytest.raises(EngineError, match="cannot resume, because its events are due from"):
        run_in(tmp_path, "event_window", EVENTS, load=load)


def until_killed(name, events, folder, workers):
    run_in(folder, name, events, workers=workers, measure=False)


def kill_and_restart(name, events, folder, kills, least=0):
    """Kill a run at random moments, `kills` times and until `least` kills left a checkpoint.

    Returns how many did.
    """
    rng = random.Random()
    run_in(folder / "compiled", name, events, measure=False)
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
        run_in(here, name, events)
        chain += 1
    run_in(folder / str(chain), name, events)
    return went_on


@pytest.mark.some(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_killed_at_random_moments_resumes(name, tmp_path):
    kill_and_restart(name, 30_000, tmp_path, kills=3)


@pytest.mark.full  # minutes
@pytest.mark.parametrize("name", NAMES)
def test_a_run_killed_at_two_hundred_random_moments_resumes(name, tmp_path):
    went_on = kill_and_restart(name, 300_000, tmp_path, kills=200, least=20)
    print(f"{name}: {went_on} kills left a checkpoint")


def test_errors_of_the_folder_come_before_the_run(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EngineError, match=r"checkpoint folder .*file cannot be opened"):
        run_in(tmp_path / "file", "event_window", EVENTS)
