"""Probes whether this machine is virtual or a container, so that others may share the hardware."""

from streamlab.lab.doctor.finding import Finding, ok, warn
from streamlab.lab.host.machine import Machine

# Product names of hypervisors, for those that hide the processor flag.
_VENDORS = ("QEMU", "VMware", "VirtualBox", "innotek", "Xen", "Amazon EC2", "Google", "KVM")


def virtualised(machine: Machine) -> Finding:
    """Report a hypervisor and a container, each with the evidence for it."""
    evidence = [*_hypervisor(machine), *_container(machine)]
    if evidence:
        return warn(
            "; ".join(evidence),
            "measure on bare metal for absolute numbers; here trust ratios within one run",
        )
    return ok("no: no hypervisor flag, product name or container mark")


def _hypervisor(machine: Machine) -> list[str]:
    evidence: list[str] = []
    for line in (machine.text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "flags" and "hypervisor" in value.split():
            evidence.append("hypervisor flag in /proc/cpuinfo")
            break
    if kind := machine.text("/sys/hypervisor/type"):
        evidence.append(f"/sys/hypervisor/type is {kind}")
    names = [machine.text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    product = " ".join(name for name in names if name)
    if any(vendor.lower() in product.lower() for vendor in _VENDORS) and "metal" not in product:
        evidence.append(f"DMI says {product}")
    if machine.which("systemd-detect-virt"):
        kind = machine.run(["systemd-detect-virt", "--vm"])
        if kind and kind != "none" and len(kind.split()) == 1:
            evidence.append(f"systemd-detect-virt says {kind}")
    return evidence


def _container(machine: Machine) -> list[str]:
    marks = [mark for mark in ("/.dockerenv", "/run/.containerenv") if machine.path(mark).exists()]
    if kind := machine.text("/run/systemd/container"):
        return [f"container ({kind})"]
    return [f"container ({marks[0]})"] if marks else []
