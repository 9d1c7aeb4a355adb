"""Runs all probes of the doctor; a probe that raises becomes a finding."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from streamlab.lab.doctor import cpu, energy, memory, places, programs, virtual
from streamlab.lab.doctor.finding import Finding, warn
from streamlab.lab.host.machine import Machine

Probe = Callable[[Machine], Finding]

PROBES: tuple[tuple[str, Probe], ...] = (
    ("cores", cpu.cores),
    ("core to core", cpu.core_to_core),
    ("smt", cpu.smt),
    ("governor", cpu.governor),
    ("turbo", cpu.turbo),
    ("clock", cpu.clock),
    ("load", cpu.load),
    ("virtualised", virtual.virtualised),
    ("memory", memory.memory),
    ("powercap", energy.powercap),
    ("pyRAPL", energy.pyrapl),
    ("perf power", energy.perf),
    ("energy", energy.chosen),
    ("java", programs.java),
    ("compiler", programs.compiler),
    ("container engine", programs.container_engine),
    ("graphviz", programs.graphviz),
    ("chromium", programs.chromium),
    ("environments", places.environments),
    ("places", places.places),
    ("confinement", places.confinement),
)


def examine(
    machine: Machine | None = None, probes: tuple[tuple[str, Probe], ...] = PROBES
) -> list[Finding]:
    """Return one finding per probe, in the order of `probes`.

    A probe that raises becomes a `warn` with its error, because the doctor must work on unusual
    machines.
    """
    machine = machine or Machine()

    def run(name: str, probe: Probe) -> Finding:
        try:
            finding = probe(machine)
        except Exception as error:
            finding = warn(f"the probe failed: {error!r}", "report this line as a bug of the lab")
        return replace(finding, name=name)

    # Probes mostly wait for child processes, so threads shorten the wait.
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda probe: run(*probe), probes))
