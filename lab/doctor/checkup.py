"""Runs all probes of the doctor; a probe that raises becomes a finding."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from streamlab.lab.doctor import energy, hardware, places, programs
from streamlab.lab.doctor.finding import Finding, warn
from streamlab.lab.host.machine import Machine

Probe = Callable[[Machine], Finding]

PROBES: tuple[tuple[str, Probe], ...] = (
    ("cores", hardware.cores),
    ("core to core", hardware.core_to_core),
    ("smt", hardware.smt),
    ("governor", hardware.governor),
    ("turbo", hardware.turbo),
    ("clock", hardware.clock),
    ("load", hardware.load),
    ("virtualised", hardware.virtualised),
    ("memory", hardware.memory),
    ("powercap", energy.powercap),
    ("pyRAPL", energy.pyrapl),
    ("perf power", energy.perf),
    ("energy", energy.provider),
    ("java", programs.java),
    ("compiler", programs.compiler),
    ("container engine", programs.container_engine),
    ("chromium", programs.chromium),
    ("extras", places.extras),
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
