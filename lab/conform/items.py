"""The conformance suite as pytest has it: items of an option, and a fixture's function."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Variant
from streamlab.lab.conform.suite import TIMEOUT_S, Conformance, conform, variants_of
from streamlab.lab.errors import LabError
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import names
from streamlab.workloads.registry import workload as find_workload


def collected(
    session: pytest.Session, engines: Sequence[str], workloads: Sequence[str]
) -> Iterator[pytest.Item]:
    """Yield an item for every variant of some engines on every workload, or on those named.

    Raises:
        UsageError: a name is not known.
    """
    for engine in engines:
        try:
            variants = variants_of(engine, ())
            for reference in workloads:
                find_workload(reference)
        except (EngineError, ModelError) as error:
            raise pytest.UsageError(str(error)) from error
        for variant in variants:
            for reference in workloads or names():
                yield ConformItem.from_parent(
                    session,
                    name=f"lab-engine[{engine}-{variant.name}-{reference}]",
                    engine=engine,
                    variant=variant,
                    workload=reference,
                )


class ConformItem(pytest.Item):
    """One variant of an engine on one workload, for `--lab-engine`."""

    def __init__(self, engine: str, variant: Variant, workload: str, **given: Any) -> None:
        super().__init__(**given)
        self._engine, self._variant, self._workload = engine, variant, workload

    def runtest(self) -> None:
        """Run the suite; skip what is not supported."""
        found = conform(self._engine, self._variant, self._workload)
        if found.unsupported is not None:
            pytest.skip(found.unsupported)
        _fail_if_wrong(self._engine, found)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where it is from, and its name."""
        return self.path, None, self.name


class LabConform:
    """What the fixture `lab_conform` is: a function that runs the conformance suite."""

    def __call__(
        self,
        engine: str,
        workload: str,
        *,
        variant: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> tuple[Conformance, ...]:
        """Run it on one workload; fail the test where the engine is wrong or has no answer.

        Args:
            engine: its name.
            workload: its name.
            variant: of the engine; None: all that support the workload, at least one.
            timeout_s: for all cases.

        Returns:
            What was seen of the variants that support the workload.
        """
        try:
            variants = variants_of(engine, () if variant is None else (variant,))
            found = [conform(engine, one, workload, timeout_s=timeout_s) for one in variants]
        except (EngineError, LabError, ModelError) as error:
            pytest.fail(str(error), pytrace=False)
        supported = [one for one in found if one.unsupported is None]
        if not supported:
            pytest.fail(f"{engine} on {workload}: {found[0].unsupported}", pytrace=False)
        for one in supported:
            _fail_if_wrong(engine, one)
        return tuple(supported)


def _fail_if_wrong(engine: str, found: Conformance) -> None:
    said = [
        f"{engine}/{found.variant} on {found.workload}, {seen.case}: {seen.state}: {seen.why}"
        for seen in found.failures
    ]
    if said:
        pytest.fail("\n".join(said), pytrace=False)
