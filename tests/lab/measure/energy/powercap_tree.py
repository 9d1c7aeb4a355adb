"""A powercap tree of ordinary files, laid out as the kernel does.

Zones lie flat (`intel-rapl:0:0`), and once more nested below their control type, as links.
"""

from pathlib import Path

RANGE_UJ = 262_143_328_850


class PowercapTree:
    """Zones by id: `tree.zone("0:1", "dram", 5)` is `intel-rapl:0:1`."""

    def __init__(self, root: Path, family: str = "intel-rapl") -> None:
        self.root = root
        self.family = family
        (root / family).mkdir(parents=True, exist_ok=True)

    def zone(self, zone_id: str, name: str, energy_uj: int, range_uj: int | None = RANGE_UJ):
        directory = self.root / f"{self.family}:{zone_id}"
        directory.mkdir()
        (directory / "name").write_text(name + "\n")
        (directory / "energy_uj").write_text(f"{energy_uj}\n")
        if range_uj is not None:
            (directory / "max_energy_range_uj").write_text(f"{range_uj}\n")
        # intel-rapl:0:1 is also intel-rapl/intel-rapl:0/intel-rapl:0:1.
        parent = zone_id.rpartition(":")[0]
        above = self.root / (f"{self.family}:{parent}" if parent else self.family)
        (above / directory.name).symlink_to(directory)
        return self

    def path(self, zone_id: str) -> Path:
        return self.root / f"{self.family}:{zone_id}" / "energy_uj"

    def set(self, zone_id: str, energy_uj: int) -> None:
        self.path(zone_id).write_text(f"{energy_uj}\n")


def socket_tree(root: Path) -> PowercapTree:
    """One socket with everything that Intel has, and the platform."""
    tree = PowercapTree(root)
    tree.zone("0", "package-0", 1_000_000).zone("0:0", "core", 500_000)
    tree.zone("0:1", "uncore", 100_000).zone("0:2", "dram", 200_000, 65_532_610_987)
    return tree.zone("1", "psys", 3_000_000)


def sockets() -> list[int]:
    """Return this machine's sockets."""
    found = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/physical_package_id")
    return sorted({int(path.read_text()) for path in found})
