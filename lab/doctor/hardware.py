"""Probes the processor (cores, quota, SMT, governor, turbo, clock source, load), the memory, and virtual machines."""

import math

from streamlab.lab.doctor.finding import Finding, ok, warn
from streamlab.lab.host import processor
from streamlab.lab.host.machine import Machine
from streamlab.lab.host.processor import CPU
from streamlab.workloads import control_group

FAR_NS = 100.0
"""Cores with a longer transfer time are far apart: a cache line takes 20 to 50 ns within a cluster of cores, and 70 to
150 ns between clusters."""
REQUIRED_BYTES = 4 << 30
"""Enough for Spark's driver, its Python workers and a dataset of 40 M events, at 16 bytes each."""
_GIB = float(1 << 30)
_VENDORS = ("QEMU", "VMware", "VirtualBox", "innotek", "Xen", "Amazon EC2", "Google", "KVM")
"""Product names of hypervisors; some hypervisors hide the processor flag."""


def model(machine: Machine) -> str:
    """Return the processor's name from the kernel, or `unknown processor`."""
    return processor.cpu_field(machine, "model name", "Model") or "unknown processor"


def cores(machine: Machine) -> Finding:
    """Report how many cores this process may use, and what limits them."""
    usable = machine.affinity()
    count = processor.count_cores(machine) or usable
    quota = control_group.cpu_quota(machine.text)
    seen = f"{usable} of {count} usable, {model(machine)}"
    if quota is not None and quota < usable:
        return warn(
            f"{seen}; a control group limits them to the time of {quota:g} cores",
            "raise the quota (podman/docker: --cpus; systemd: CPUQuota=) or use --cpuset-cpus",
        )
    if usable < 2:
        return warn(seen, "use a machine or container with 2 cores or more")
    return ok(seen)


def core_to_core(machine: Machine) -> Finding:
    """Report the transfer time of a cache line between cores, which is the price of shared data."""
    distance_ns = machine.core_to_core()
    if distance_ns is None:
        return ok("one usable core: nothing to measure")
    if math.isinf(distance_ns):
        return warn(
            "not measured: the cores did not both run for 20 ms",
            "stop other programs on this machine, or on its host",
        )
    seen = f"{distance_ns:.0f} ns for a cache line"
    if distance_ns > FAR_NS:
        return warn(
            f"{seen}: the cores are in different clusters or sockets",
            "use the cores of one cluster (lscpu -e; taskset -c); if a hypervisor moves them, set "
            "cores_within_ns in [run] to delay trials",
        )
    return ok(seen)


def smt(machine: Machine) -> Finding:
    """Report whether hardware threads share cores, so that workers are slower than on separate cores."""
    if processor.is_smt_switched_on(machine):
        return warn(
            "on: neighbouring threads share a core's units",
            f"echo off | sudo tee {CPU}/smt/control",
        )
    control = machine.text(f"{CPU}/smt/control")
    if processor.has_sibling_threads(machine):
        return warn(
            "on, by the topology: neighbouring threads share a core's units",
            "use one thread of each core, e.g. taskset -c 0,2,4,6 lab run ...",
        )
    return ok(f"off ({control})" if control else "off (no sibling threads in the topology)")


def governor(machine: Machine) -> Finding:
    """Report whether the clock frequency is fixed or follows the load."""
    seen = processor.read_governors(machine)
    if not seen:
        return warn(
            "not visible: the hypervisor or the firmware sets the frequency",
            "measure on bare metal, or trust only ratios within one run",
        )
    if seen == ("performance",):
        return ok("performance")
    return warn(
        f"{', '.join(seen)}: the frequency follows the load",
        f"echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor",
    )


def turbo(machine: Machine) -> Finding:
    """Report whether the frequency may exceed the nominal frequency, depending on heat."""
    switch = processor.read_turbo(machine)
    if switch is not None and switch.on:
        remedy = f"echo {switch.off_text} | sudo tee {switch.path}"
        return warn("on: speed varies with heat", remedy)
    if switch is not None:
        return ok("off")
    return warn(
        "not visible: neither intel_pstate/no_turbo nor cpufreq/boost exists",
        "switch it off in the firmware, or trust only ratios within one run",
    )


def clock(machine: Machine) -> Finding:
    """Report the kernel's clock source; slow sources need a system call per timestamp."""
    base = "/sys/devices/system/clocksource/clocksource0"
    seen = machine.text(f"{base}/current_clocksource")
    if seen is None:
        return warn("not visible", "mount /sys")
    if seen in ("tsc", "arch_sys_counter"):
        return ok(seen)
    if "tsc" in (machine.text(f"{base}/available_clocksource") or "").split():
        return warn(seen, f"echo tsc | sudo tee {base}/current_clocksource")
    if seen in ("kvm-clock", "hyperv_clocksource_tsc_page"):
        return ok(f"{seen} (read without a system call, as tsc is)")
    return warn(f"{seen}: slow to read", "boot with tsc=reliable if the processor's tsc is stable")


def load(machine: Machine) -> Finding:
    """Report the load average of the last minute, which shows other programs."""
    average = processor.read_load_average(machine)
    if average is None:
        return warn("not visible", "close other programs before measuring")
    usable = machine.affinity()
    seen = f"{average:.2f} over the last minute, on {usable} cores"
    # An idle desktop stays below a quarter of a core.
    if average > 0.25 * usable:
        return warn(seen, "find the programs with `top`, stop them, and wait a minute")
    return ok(seen)


def memory(machine: Machine) -> Finding:
    """Report total and available memory, within the control group's limit."""
    fields = processor.read_memory_sizes(machine)
    if "MemTotal" not in fields:
        return warn("not visible: no /proc/meminfo", "mount /proc")
    total = fields["MemTotal"]
    available = fields.get("MemAvailable", fields.get("MemFree", total))
    seen = f"{total / _GIB:.1f} GiB, {available / _GIB:.1f} GiB available"
    limit = control_group.memory_bytes(machine.text)
    if limit is not None and limit < total:
        seen += f", limited to {limit / _GIB:.1f} GiB by a control group"
        left_bytes = control_group.memory_left_bytes(machine.text)
        available = min(available, limit if left_bytes is None else left_bytes)
    if available < REQUIRED_BYTES:
        return warn(
            seen,
            f"free {REQUIRED_BYTES / _GIB:.0f} GiB, or run fewer events (`events` in the matrix)",
        )
    return ok(seen)


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
    if "hypervisor" in (processor.cpu_field(machine, "flags") or "").split():
        evidence.append("hypervisor flag in /proc/cpuinfo")
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
