"""Probe of whether trials can be confined: what they write, and which answers they can read."""

from lab.doctor.finding import Finding, ok, warn
from lab.host.machine import Machine
from lab.isolate.process import why_unconfined


def confinement(machine: Machine) -> Finding:
    """Report whether a trial in a process can be kept from other files; see docs/trust.md."""
    why = why_unconfined()
    if why is None:
        return ok("confinement", "trials write to their own folders only and see no answers")
    return warn(
        "confinement",
        f"trials can read expected answers and keep files: {why}",
        'isolate = "container" in [run] confines them; or allow user namespaces '
        "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
    )
