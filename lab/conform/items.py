"""Offers the conformance suite to pytest: items for `--lab-engine`, and the fixture `lab_conform`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from streamlab.engines.errors import EngineError
from streamlab.engines.protocol import Variant
from streamlab.lab.conform.suite import TIMEOUT_S, Conformance, conform, find_variants
from streamlab.lab.errors import LabError
from streamlab.workloads.model import ModelError
from streamlab.workloads.registry import names
from streamlab.workloads.registry import workload as find_workload


def collect_items(
    session: pytest.Session, engines: Sequence[str], workloads: Sequence[str]
) -> Iterator[pytest.Item]:
    """Yield one item per pair of variant and workload; without workloads, all workloads.

    Raises:
        UsageError: a name is unknown.
    """
    for engine in engines:
        try:
            variants = find_variants(engine, ())
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
    """A test of one variant on one workload, for `--lab-engine`."""

    def __init__(self, engine: str, variant: Variant, workload: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._engine, self._variant, self._workload = engine, variant, workload

    def runtest(self) -> None:
        """Run the suite; skip an unsupported workload."""
        result = conform(self._engine, self._variant, self._workload)
        if result.unsupported is not None:
            pytest.skip(result.unsupported)
        _fail_if_wrong(self._engine, result)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return path, line and name of the item."""
        return self.path, None, self.name


class LabConform:
    """The fixture `lab_conform`: a function that runs the conformance suite."""

    def __call__(
        self,
        engine: str,
        workload: str,
        *,
        variant: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> tuple[Conformance, ...]:
        """Run the suite on one workload; fail the test if an answer is wrong or missing.

        Without a variant, all variants run, and at least one must support the workload. Returns the
        results of the variants that support it.
        """
        try:
            variants = find_variants(engine, () if variant is None else (variant,))
            results = [conform(engine, each, workload, timeout_s=timeout_s) for each in variants]
        except (EngineError, LabError, ModelError) as error:
            pytest.fail(str(error), pytrace=False)
        supported_results = [result for result in results if result.unsupported is None]
        if not supported_results:
            pytest.fail(f"{engine} on {workload}: {results[0].unsupported}", pytrace=False)
        for result in supported_results:
            _fail_if_wrong(engine, result)
        return tuple(supported_results)


def _fail_if_wrong(engine: str, result: Conformance) -> None:
    failures = [
        f"{engine}/{result.variant} on {result.workload}, {outcome.case}: {outcome.state}: "
        f"{outcome.why}"
        for outcome in result.failures
    ]
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)
