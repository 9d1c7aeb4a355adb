"""After Ctrl-C during the last checkpoint, the folder is released only when its writer has finished."""

import signal
import threading

import pytest

from streamlab.engines.multicore.dgs.recovery.folder import CheckpointFolder
from streamlab.engines.multicore.dgs.recovery.recovery import CheckpointWriter
from streamlab.workloads.registry import workload
from tests.engines.multicore.dgs_programs import generated
from tests.engines.multicore.native_runs import make_run


def test_an_interrupted_end_waits_for_the_checkpoint_that_is_being_written(tmp_path, monkeypatch):
    ending, left = threading.Event(), threading.Event()
    early = []
    end, write = CheckpointWriter.end, CheckpointFolder.write

    def ended(writer, *, complete):
        ending.set()
        end(writer, complete=complete)

    def written(folder, *args, **kwargs):
        ending.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        early.append(left.wait(0.5))
        write(folder, *args, **kwargs)

    monkeypatch.setattr(CheckpointWriter, "end", ended)
    monkeypatch.setattr(CheckpointFolder, "write", written)
    data = generated("event_window", 2_000, values_per_barrier=100)
    how = {"workers": 2, "checkpoint_every": 1, "checkpoint_folder": str(tmp_path)}
    run = make_run("dgs", workload("event_window").program, data, **how)
    # Python's own handler, whatever a test before has left.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run.run()
        left.set()
    finally:
        signal.signal(signal.SIGINT, before)
        run.close()
    assert early == [False]
