"""pyRAPL behind the interface, with its faults contained.

pyRAPL 0.2.3.1 reads packages and DRAM through paths that it carries in itself. What it does that
is kept inside this file: importing it logs two warnings and so leaves a handler on the root logger,
and imports pandas where there is one; it opens files that it never closes; it raises
PermissionError and OSError where it documents none, and its own errors without a message; its
differences of two readings are wrong after a wrap-around, and missing values are -1.

So only its sensor is used: it gives the raw counters. The range of a counter, which pyRAPL does not
know, is read beside the file that it has opened; where that fails, an interval in which the counter
went backwards is dropped.
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
from typing import Any

from streamlab.lab.measure.energy.counter_files import why
from streamlab.lab.measure.energy.powercap import WHERE, range_beside
from streamlab.lab.measure.energy.provider import BARE_METAL, Domain, Reading, Unusable

# Optional packages of pyRAPL's output formats, which are not used: pandas alone takes a second.
UNWANTED = ("pandas", "pymongo")
# The places of a sensor's values: for every socket its package, then its DRAM.
DEVICES = ("package", "dram")
# Held while the root logger and the warning filters are changed: the doctor asks from two threads.
_CONTAINING = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class PyRapl:
    """The counters that pyRAPL reads; imports it when opened."""

    @property
    def name(self) -> str:
        """Return `pyrapl`."""
        return "pyrapl"

    def open(self) -> "PyRaplCounters | Unusable":
        """Import pyRAPL and let it open its files."""
        with _contained():
            try:
                import pyRAPL
            except ImportError as error:
                return Unusable(reason=why(error), remedy="make setup")
            except Exception as error:
                return Unusable(reason=f"its import failed: {why(error)}")
            try:
                sensor = pyRAPL.Sensor()
                counters = PyRaplCounters(sensor)
                (first,) = counters.read()
            except PermissionError as error:
                return Unusable(reason=f"{error.filename}: {why(error)}", remedy=WHERE.opens)
            except Exception as error:
                # Its error for a machine without counters carries no message.
                said = why(error)
                reason = f"{said} (found no counter in {WHERE.name})" if ":" not in said else said
                return Unusable(reason=reason, remedy=BARE_METAL)
        if not first.counters_uj:
            counters.close()
            reasons = "; ".join(dict.fromkeys(first.failed.values())) or "it gives no value"
            return Unusable(reason=reasons, remedy=BARE_METAL)
        return counters


class PyRaplCounters:
    """An open sensor of pyRAPL."""

    def __init__(self, sensor: Any, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._sensor = sensor
        self._clock = clock
        self._places: dict[int, str] = {}
        ranges = _ranges(sensor)
        domains: list[Domain] = []
        for place, value in enumerate(sensor.energy()):
            if value >= 0:
                name = f"{DEVICES[place % 2]}-{place // 2}"
                self._places[place] = name
                domains.append(Domain(name=name, range_uj=ranges.get(place)))
        self.domains = tuple(domains)
        self.remarks: tuple[str, ...] = ()

    def read(self) -> tuple[Reading, ...]:
        """Read all values; -1 and every error become a domain that failed."""
        begin_ns = self._clock()
        counters: dict[str, int] = {}
        failed: dict[str, str] = {}
        try:
            values = self._sensor.energy()
        except Exception as error:
            values = []
            failed = dict.fromkeys(self._places.values(), f"pyRAPL: {why(error)}")
        end_ns = self._clock()
        for place, name in self._places.items():
            if place < len(values) and values[place] >= 0:
                counters[name] = int(values[place])
            else:
                failed.setdefault(name, f"pyRAPL: no value for {name}")
        return (Reading(time_ns=(begin_ns + end_ns) // 2, counters_uj=counters, failed=failed),)

    def close(self) -> tuple[Reading, ...]:
        """Close the files that pyRAPL leaves open."""
        for _, file in _files(self._sensor):
            with suppress(Exception):
                file.close()
        return ()


def _files(sensor: Any) -> Iterator[tuple[int, Any]]:
    """Yield the place of each value and the open file that it comes from, where they are seen."""
    with suppress(AttributeError, TypeError):
        for device, api in sensor._device_api.items():
            # The ids of the sockets are sorted, and the files are opened in that order.
            for socket, file in zip(api._socket_ids, api._sys_files, strict=False):
                yield socket * 2 + int(device), file


def _ranges(sensor: Any) -> dict[int, int]:
    found = {place: range_beside(Path(file.name)) for place, file in _files(sensor)}
    return {place: range_uj for place, range_uj in found.items() if range_uj is not None}


@contextmanager
def _contained() -> Iterator[None]:
    """Keep pyRAPL from touching the root logger, and from importing what is not needed.

    Another thread that logs in this moment (some milliseconds, once) is not heard.
    """
    with _CONTAINING, _quiet_logger(), _without(UNWANTED), warnings.catch_warnings():
        # Invalid escapes in its source, and files that it opened and forgot.
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _quiet_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, disabled = list(root.handlers), root.level, root.manager.disable
    # logging.warning gives the root logger a handler of its own only where it has none.
    root.addHandler(logging.NullHandler())
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(disabled)
        root.setLevel(level)
        for handler in list(root.handlers):
            if handler not in handlers:
                root.removeHandler(handler)


@contextmanager
def _without(packages: tuple[str, ...]) -> Iterator[None]:
    """Make importing these packages fail, unless they are there already."""
    hidden = [name for name in packages if name not in sys.modules]
    # None in sys.modules makes an import fail.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name, packages) is None:
                del sys.modules[name]
