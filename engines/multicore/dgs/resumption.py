"""Runs a DGS program on consecutive parts of its input. Between two parts, the state of each key is one record."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamlab.engines.multicore.dgs.kernels import Kernels
from streamlab.engines.multicore.dgs.options import DgsOptions
from streamlab.engines.multicore.dgs.run import DgsRun
from streamlab.engines.multicore.dgs.snapshots import JoinedStates
from streamlab.engines.multicore.dgs.trees import initial_state_of
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import Columns, DGSProgram, Input
from streamlab.workloads.model.dgs.optimizer import choose_plan
from streamlab.workloads.model.dgs.stream_profile import profile
from streamlab.workloads.model.streams.stream import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The states of some keys.

    Attributes:
        keys: states of the keys, as records of the first state type.
        groups: states of groups of keys, see `JoinedStates`.
    """

    keys: npt.NDArray[np.void]
    groups: Mapping[tuple[str, int], bytes]


def resume(
    program: DGSProgram,
    data: Input,
    states: States | None,
    *,
    keys: IntArray,
    kernels: Kernels,
    settings: RunSettings,
) -> tuple[Columns, States]:
    """Process a part of an input and return its outputs and the new states.

    Args:
        program: the program.
        data: the part of the input.
        states: the states of `keys`; None for the initial states.
        keys: the only keys that have events.
        kernels: compiled functions of the program.
        settings: settings of the run.
    """
    dtype, before = program.states[0].dtype, None
    if states is not None:
        records = np.tile(np.frombuffer(initial_state_of(program), dtype=dtype), data.alphabet.keys)
        records[keys] = states.keys
        before = JoinedStates(states=records.tobytes(), groups=states.groups)
    # On one worker every key is a leaf, so its state stays one record.
    plan = choose_plan(program, data.alphabet, profile(data), workers=1)
    run = DgsRun(program, data, settings, DgsOptions(), plan=plan, states=before, kernels=kernels)
    with closing(run):
        run.run()
        after = run.final_states()
        records = np.frombuffer(after.states, dtype=dtype)
        return run.answer(), States(keys=records[keys], groups=after.groups)
