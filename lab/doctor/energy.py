"""Probes the energy counters of this machine, through the providers that measurements use."""

from streamlab.lab.doctor.finding import Finding, ok, warn
from streamlab.lab.host.machine import Machine
from streamlab.lab.measure.energy.choose import NONE, choose, probe
from streamlab.lab.measure.energy.counter_files import PLACE, Powercap
from streamlab.lab.measure.energy.perf import Perf
from streamlab.lab.measure.energy.provider import BARE_METAL, Provider
from streamlab.lab.measure.energy.pyrapl import PyRapl


def powercap(machine: Machine) -> Finding:
    """Report the powercap (RAPL) zones: absent, denied, not changing, or counting."""
    return _probe(_powercap(machine), machine)


def pyrapl(machine: Machine) -> Finding:
    """Report whether pyRAPL can use a counter; pyRAPL ignores `machine.root`."""
    return _probe(PyRapl(), machine)


def perf(machine: Machine) -> Finding:
    """Report whether perf's power events exist and may be counted."""
    return _probe(_perf(machine), machine)


def provider(machine: Machine) -> Finding:
    """Report the provider that a run would use."""
    providers = (PyRapl(), _powercap(machine), _perf(machine))
    choice = choose(providers=providers, pause=machine.pause)
    if choice.name != NONE:
        (report,) = [report for report in choice.reports if report.name == choice.name]
        return ok(f"{choice.name}: {', '.join(report.counting)}")
    remedies = [report.remedy for report in choice.reports if report.remedy not in ("", BARE_METAL)]
    names = ", ".join(report.name for report in choice.reports)
    seen = f"no usable provider ({names}): the columns stay empty, with the reasons"
    return warn(seen, remedies[0] if remedies else BARE_METAL)


def _powercap(machine: Machine) -> Provider:
    return Powercap(root=machine.path(PLACE), read=machine.read)


def _perf(machine: Machine) -> Provider:
    # The doctor allows each program one second.
    return Perf(root=machine.root, which=machine.which, start_timeout_s=1.0)


def _probe(candidate: Provider, machine: Machine) -> Finding:
    report = probe(candidate, pause=machine.pause)
    if report.reason is not None:
        return warn(report.reason, report.remedy or BARE_METAL)
    static = f" (not changing: {', '.join(report.static)})" if report.static else ""
    return ok(f"counting: {', '.join(report.counting)}{static}")
