"""Probes of the processor: cores, quota, SMT, governor, turbo, clock source, load."""

from lab.doctor import control_group
from lab.doctor.finding import Finding, ok, warn
from lab.doctor.machine import Machine

CPU = "/sys/devices/system/cpu"


def model(machine: Machine) -> str:
    """Return the processor's name as the kernel gives it, or `unknown processor`."""
    for line in (machine.text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    return "unknown processor"


def cores(machine: Machine) -> Finding:
    """Report how many cores this process may use, and what holds it to fewer than there are."""
    usable = machine.affinity()
    present = len(machine.glob(f"{CPU}/cpu[0-9]*")) or usable
    quota = control_group.cores(machine)
    seen = f"{usable} of {present} usable, {model(machine)}"
    if quota is not None and quota < usable:
        return warn(
            "cores",
            f"{seen}; a control group limits them to {quota:g} cores' time",
            "raise the quota (podman/docker: --cpus; systemd: CPUQuota=) or use --cpuset-cpus",
        )
    if usable < 2:
        return warn("cores", seen, "use a machine or container with 2 cores or more")
    return ok("cores", seen)


def smt(machine: Machine) -> Finding:
    """Report whether two hardware threads share a core: worker counts then mean less."""
    if machine.text(f"{CPU}/smt/active") == "1":
        return warn(
            "smt",
            "on: neighbouring threads share a core's units",
            f"echo off | sudo tee {CPU}/smt/control",
        )
    control = machine.text(f"{CPU}/smt/control")
    siblings = {
        machine.text(path) for path in machine.glob(f"{CPU}/cpu*/topology/thread_siblings_list")
    }
    if any(group and ("," in group or "-" in group) for group in siblings):
        return warn(
            "smt",
            "on, as the topology says: neighbouring threads share a core's units",
            "use one thread of each core, e.g. taskset -c 0,2,4,6 lab run ...",
        )
    return ok("smt", f"off ({control})" if control else "off (no sibling threads in the topology)")


def governor(machine: Machine) -> Finding:
    """Report whether the clock frequency is held up or follows the load."""
    paths = machine.glob(f"{CPU}/cpu*/cpufreq/scaling_governor")
    seen = sorted({text for path in paths if (text := machine.text(path))})
    if not seen:
        return warn(
            "governor",
            "not visible: the hypervisor or the firmware sets the frequency",
            "measure on bare metal, or trust only ratios within one run",
        )
    if seen == ["performance"]:
        return ok("governor", "performance")
    return warn(
        "governor",
        f"{', '.join(seen)}: the frequency follows the load",
        f"echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor",
    )


def turbo(machine: Machine) -> Finding:
    """Report whether the frequency may exceed the nominal one, as heat and neighbours allow."""
    intel = f"{CPU}/intel_pstate/no_turbo"
    generic = f"{CPU}/cpufreq/boost"  # AMD and acpi-cpufreq
    # The two files mean opposite things: 1 in no_turbo is off, 1 in boost is on.
    for path, on, off in ((intel, "0", "1"), (generic, "1", "0")):
        state = machine.text(path)
        if state == on:
            return warn("turbo", "on: speed varies with heat", f"echo {off} | sudo tee {path}")
        if state == off:
            return ok("turbo", "off")
    return warn(
        "turbo",
        "not visible: neither intel_pstate/no_turbo nor cpufreq/boost is there",
        "switch it off in the firmware, or trust only ratios within one run",
    )


def clock(machine: Machine) -> Finding:
    """Report the kernel's clock source; a slow one costs a system call for each time stamp."""
    base = "/sys/devices/system/clocksource/clocksource0"
    seen = machine.text(f"{base}/current_clocksource")
    if seen is None:
        return warn("clock", "not visible", "none needed outside Linux; on Linux mount /sys")
    if seen in ("tsc", "arch_sys_counter"):
        return ok("clock", seen)
    if "tsc" in (machine.text(f"{base}/available_clocksource") or "").split():
        return warn("clock", seen, f"echo tsc | sudo tee {base}/current_clocksource")
    if seen in ("kvm-clock", "hyperv_clocksource_tsc_page"):
        return ok("clock", f"{seen} (read without a system call, as tsc is)")
    return warn(
        "clock", f"{seen}: slow to read", "boot with tsc=reliable, if the processor's tsc is stable"
    )


def load(machine: Machine) -> Finding:
    """Report what else runs: the load average of the last minute."""
    words = (machine.text("/proc/loadavg") or "").split()
    try:
        average = float(words[0])
    except (IndexError, ValueError):
        return warn("load", "not visible", "close other programs before measuring")
    usable = machine.affinity()
    seen = f"{average:.2f} over the last minute, on {usable} cores"
    # A quarter of a core is what an idle desktop shows; beyond that something else is at work.
    if average > 0.25 * usable:
        return warn("load", seen, "find what runs with `top` and stop it, then wait a minute")
    return ok("load", seen)
