"""Reads energy counters through pyRAPL, and works around its faults.

pyRAPL 0.2.3.1 reads packages and DRAM. Its faults:

- The import logs two warnings, which leaves a handler on the root logger, and imports pandas if installed.
- It never closes the files that it opens.
- It raises undocumented PermissionError and OSError, and its own errors without a message.
- Its differences of readings are wrong after a wrap-around, and missing values are -1.

So this module uses only pyRAPL's sensor, which returns the raw counters.
It reads a counter's range from the folder of the counter's file.
If that fails, intervals in which the counter went backwards are lost.
"""

import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from streamlab.lab.measure.energy.counter_files import PLACE, REMEDY, counter_range, describe_error
from streamlab.lab.measure.energy.provider import BARE_METAL, Domain, Reading, Unusable
from streamlab.workloads.optional_packages import missing_package

# Optional packages for pyRAPL's output formats, not needed here; importing pandas alone takes a second.
UNWANTED = ("pandas", "pymongo")
# Order of a sensor's values: for each socket its package, then its DRAM.
DEVICES = ("package", "dram")
# Guards the root logger and the warning filters, because the doctor uses two threads.
_LOGGING_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class PyRapl:
    """The counters that pyRAPL reads; imports it when opened."""

    name: ClassVar[str] = "pyrapl"

    def open(self) -> "PyRaplCounters | Unusable":
        """Import pyRAPL and open its files."""
        with _shielded_import():
            try:
                import pyRAPL
            except ImportError as error:
                problem = missing_package("pyRAPL")
                if problem is None:
                    return Unusable(reason=f"its import failed: {describe_error(error)}")
                return Unusable(reason=problem.reason, remedy=problem.remedy)
            except Exception as error:
                return Unusable(reason=f"its import failed: {describe_error(error)}")
            try:
                sensor = pyRAPL.Sensor()
                counters = PyRaplCounters(sensor)
                (first,) = counters.read()
            except PermissionError as error:
                return Unusable(reason=f"{error.filename}: {describe_error(error)}", remedy=REMEDY)
            except Exception as error:
                # pyRAPL's error for a machine without counters has no message.
                reason = describe_error(error)
                if ":" not in reason:
                    reason = f"{reason} (found no counter in {PLACE})"
                return Unusable(reason=reason, remedy=BARE_METAL)
        if not first.counters_uj:
            counters.close()
            reasons = "; ".join(dict.fromkeys(first.failed.values())) or "it returns no value"
            return Unusable(reason=reasons, remedy=BARE_METAL)
        return counters


class PyRaplCounters:
    """An open sensor of pyRAPL."""

    def __init__(self, sensor: Any, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._sensor = sensor
        self._clock = clock
        self._names = {
            index: f"{DEVICES[index % 2]}-{index // 2}"
            for index, value in enumerate(sensor.energy())
            if value >= 0
        }
        ranges = {index: counter_range(Path(file.name)) for index, file in _files(sensor)}
        self.domains = tuple(
            Domain(name=name, range_uj=ranges.get(index)) for index, name in self._names.items()
        )
        self.remarks: tuple[str, ...] = ()

    def read(self) -> tuple[Reading, ...]:
        """Read all values; -1 and errors become failed domains."""
        begin_ns = self._clock()
        counters: dict[str, int] = {}
        failures: dict[str, str] = {}
        try:
            values = self._sensor.energy()
        except Exception as error:
            values = []
            failures = dict.fromkeys(self._names.values(), f"pyRAPL: {describe_error(error)}")
        end_ns = self._clock()
        for index, name in self._names.items():
            if index < len(values) and values[index] >= 0:
                counters[name] = int(values[index])
            else:
                failures.setdefault(name, f"pyRAPL: no value for {name}")
        return (Reading(time_ns=(begin_ns + end_ns) // 2, counters_uj=counters, failed=failures),)

    def close(self) -> tuple[Reading, ...]:
        """Close the files that pyRAPL leaves open."""
        for _, file in _files(self._sensor):
            with suppress(Exception):
                file.close()
        return ()


def _files(sensor: Any) -> Iterator[tuple[int, Any]]:
    """Yield the index of each value and its open file, if the sensor exposes them."""
    with suppress(AttributeError, TypeError):
        for device, api in sensor._device_api.items():
            # The socket ids are sorted, and the files were opened in that order.
            for socket, file in zip(api._socket_ids, api._sys_files, strict=False):
                yield socket * 2 + int(device), file


@contextmanager
def _shielded_import() -> Iterator[None]:
    """Keep pyRAPL from changing the root logger and from importing unneeded packages.

    Log messages of other threads are lost meanwhile (some milliseconds, once).
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    with _LOGGING_LOCK, warnings.catch_warnings():
        # Python warns about invalid escapes in pyRAPL's source, and about files it does not close.
        warnings.simplefilter("ignore")
        disabled_level = root.manager.disable
        # logging.warning adds a handler to the root logger only if it has none.
        root.addHandler(handler)
        logging.disable(logging.CRITICAL)
        # None in sys.modules makes an import fail.
        hidden = dict.fromkeys(name for name in UNWANTED if name not in sys.modules)
        sys.modules.update(hidden)  # type: ignore[arg-type]
        try:
            yield
        finally:
            for name in hidden:
                del sys.modules[name]
            logging.disable(disabled_level)
            root.removeHandler(handler)
