"""A program decides at which synchronizing events checkpoints are written."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.recovery import identity
from streamlab.workloads.datasets.total_order import total_order
from streamlab.workloads.model import ProgramError
from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.model.dgs.stream_profile import profile
from tests.across import PLUGS
from tests.engines.multicore.native_runs import ScriptDecider, make_run
from tests.engines.multicore.recovery.small_runs import input_of, is_right, program_of

EVENTS = 3_000


class StopError(Exception):
    """Stops a run when it writes another checkpoint."""


def run_in(folder, name, checkpoint, workers=2):
    """Run with a predicate until the end; return what was measured."""
    program = replace(program_of(name), checkpoint=checkpoint)
    where = {"checkpoint_every": 1, "checkpoint_ms": 0, "checkpoint_folder": str(folder)}
    run = make_run("dgs", program, input_of(name, EVENTS), workers=workers, gather=False, **where)
    with closing(run):
        measured, answer = run.run(), run.answer()
    assert is_right(name, EVENTS, answer)
    return measured


def stored(folder, name, checkpoint):
    """Return the newest checkpoint of a folder."""
    program = replace(program_of(name), checkpoint=checkpoint)
    ours = identity(program, input_of(name, EVENTS))
    dtype = np.dtype([(field, program.output[field]) for field in program.output.names])
    with closing(CheckpointFolder(folder, ours, dtype.itemsize)) as opened:
        return opened.checkpoint


def stop_at_second(monkeypatch):
    write, left = CheckpointFolder.write, [1]

    def stopping(self, *given):
        if left[0] == 0:
            raise StopError
        left[0] -= 1
        write(self, *given)

    monkeypatch.setattr(CheckpointFolder, "write", stopping)


def never(state, event):
    return False


def raising(state, event):
    if event.ts >= 0:
        raise ValueError
    return True


@pytest.mark.parametrize("name", ["event_window", "page_view_join"])
def test_a_program_that_wants_no_checkpoint_has_only_the_last(name, tmp_path):
    measured = run_in(tmp_path, name, never)
    assert measured.counters["checkpoints"] == 0
    assert stored(tmp_path, name, never).joined is None


def second_of(name, kind):
    """Return all events in order, and the number of events before the second of a kind, the first cut."""
    program = program_of(name)
    events = total_order(input_of(name, EVENTS), program.event)
    return events, int(np.flatnonzero(events.kind == program.kinds.index(kind))[1])


def check_one_checkpoint(name, wanted, before, tmp_path, monkeypatch):
    """Check that the only checkpoint before the end has the events `before`, and a run resumes there."""
    with monkeypatch.context() as patched:
        stop_at_second(patched)
        with pytest.raises(StopError):
            run_in(tmp_path, name, wanted)
    assert stored(tmp_path, name, wanted).events == before
    measured = run_in(tmp_path, name, wanted, workers=1)
    assert measured.events == input_of(name, EVENTS).events - before
    assert f"at event {before} of " in measured.notices[-1]


def test_a_predicate_reads_the_state_joined_over_all_workers(tmp_path, monkeypatch):
    events, second = second_of("event_window", "barrier")
    begin = int(np.flatnonzero(events.kind == 1)[0])
    total, ts = int(events.payload["value"][begin + 1 : second].sum()), int(events.ts[second])

    def wanted(state, event):
        return state.sum == total and event.ts == ts and event.kind == 1

    check_one_checkpoint("event_window", wanted, second, tmp_path, monkeypatch)


def test_a_predicate_reads_the_state_of_the_key_of_its_event(tmp_path, monkeypatch):
    events, second = second_of("keyed_counter", "read_reset")
    key, ts = int(events.key[second]), int(events.ts[second])
    count = int(((events.key == key) & (events.kind == 0))[:second].sum())
    first = int(np.flatnonzero(events.kind == 1)[0])
    assert events.key[first] != key, "the count starts at the beginning"

    def wanted(state, event):
        return event.key == key and event.ts == ts and state.count == count

    check_one_checkpoint("keyed_counter", wanted, second, tmp_path, monkeypatch)


def test_changes_of_the_plan_are_checkpoints_even_if_the_predicate_is_false(tmp_path):
    program = replace(program_of("event_window"), checkpoint=never)
    data = input_of("event_window", EVENTS)
    streams = profile(data)
    plans = [choose_plan(program, data.alphabet, streams, workers=workers) for workers in (2, 1)]
    script = ScriptDecider([(cut, plans[1 - cut % 2]) for cut in range(3)])
    where = {"checkpoint_every": 1, "checkpoint_ms": 0, "checkpoint_folder": str(tmp_path)}
    how = {"workers": 2, "plan": plans[0], "decider": script, "gather": False, "batch": 16}
    with closing(make_run("dgs", program, data, **how, **where)) as run:
        counters, answer = run.run().counters, run.answer()
    assert is_right("event_window", EVENTS, answer)
    assert counters["checkpoints"] == counters["plan_changes"] > 0


def test_a_predicate_that_raises_ends_the_run_with_an_error(tmp_path):
    with pytest.raises(EngineError, match=r"event_window: function checkpoint raised at event 1 "):
        run_in(tmp_path, "event_window", raising)


def test_a_program_with_events_across_keys_has_no_predicate():
    with pytest.raises(ProgramError, match="checkpoint reads the state of one key"):
        replace(PLUGS, checkpoint=never)
