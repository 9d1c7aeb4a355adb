"""Interprets queries of operators O+ one tuple at a time, in plain Python.

This defines their meaning. An operator has one instance, or several instances that read the same tuples
and own the keys of different buckets. Records pass to the next operator as tuples in order of time. An
operator's watermark follows its tuples and the watermark of the operator before. After the
first operator has processed a tuple of time W, all operators have a watermark of at least W. This is
valid, because all later outputs of an operator are timed after W (Observation 1 of STRETCH).
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from streamlab.workloads.model.errors import ProgramError
from streamlab.workloads.model.operators.instance import Forward, Instance, Owns, Row, instance
from streamlab.workloads.model.operators.key_buckets import bucket_of
from streamlab.workloads.model.operators.program import Operator, Query
from streamlab.workloads.model.pipeline.reference import fit_output
from streamlab.workloads.model.streams.records import tuple_type

Owner = Callable[[int], int]
"""f_mu: returns the instance that owns a bucket."""


class QueryRun:
    """Runs a query: call `process` with all tuples in total order, then `finish` once."""

    def __init__(
        self,
        query: Query,
        emit: Forward,
        *,
        instances: int = 1,
        owner: Owner | None = None,
        direct: bool = True,
    ) -> None:
        """Start all operators without state.

        Args:
            query: The query.
            emit: Takes each output record of the last operator, `ts` first.
            instances: Number of instances of each operator; their outputs are merged by time.
            owner: Maps a bucket to its instance; by default bucket modulo instances.
            direct: See `instance`.
        """
        chosen = owner or (lambda bucket: bucket % instances)
        stage = None
        for operator in reversed(query.operators):
            forward = emit if stage is None else _chain(operator, stage)
            rows: list[Row] = []
            instances_of_operator = [
                instance(
                    operator,
                    rows.append,
                    None if instances == 1 else _owns(operator, chosen, index),
                    direct=direct,
                )
                for index in range(instances)
            ]
            stage = _Stage(operator.name, instances_of_operator, rows, forward, stage)
        assert stage is not None, "queries check that they have an operator"
        self._first = stage

    def process(self, t: Any) -> None:
        """Process a tuple that is not earlier than the last tuple.

        Raises:
            ProgramError: The program breaks its contract.
        """
        self._first.process(t)

    def finish(self, until_ts: int | None) -> None:
        """End the input; if `until_ts` is set, advance the watermark to the last instant before it."""
        if until_ts is not None:
            self._first.advance(until_ts - 1)


def _owns(operator: Operator, owner: Owner, index: int) -> Owns:
    return lambda key: owner(bucket_of(operator, key)) == index


class _Stage:
    """Runs the instances of one operator of a query, and passes on their outputs and watermark."""

    def __init__(
        self,
        name: str,
        instances: Sequence[Instance],
        rows: list[Row],
        forward: Forward,
        following: "_Stage | None",
    ) -> None:
        self._name = name
        self._instances = instances
        self._rows = rows  # the outputs of all instances, to be passed on
        self._forward = forward
        self._following = following
        self._watermark: int | None = None

    def process(self, t: Any) -> None:
        """Process a tuple in all instances."""
        if self._watermark is not None and t.ts < self._watermark:
            raise ProgramError(
                f"operator {self._name}: a tuple of time {t.ts} after {self._watermark}; tuples "
                "must come in order"
            )
        self._watermark = t.ts
        for runner in self._instances:
            runner.process(t)
        self._pass_on(t.ts)

    def advance(self, watermark: int) -> None:
        """Raise the watermark if it is lower than `watermark`."""
        if self._watermark is None or watermark > self._watermark:
            self._watermark = watermark
            for runner in self._instances:
                runner.advance(watermark)
        self._pass_on(watermark)

    def _pass_on(self, watermark: int) -> None:
        if self._rows:
            rows = list(self._rows)
            self._rows.clear()
            for row in rows if len(self._instances) == 1 else sorted(rows, key=itemgetter(0)):
                self._forward(row)
        if self._following is not None:
            self._following.advance(watermark)


def _chain(operator: Operator, following: _Stage) -> Forward:
    """Return a function that passes each record of `operator` to the next operator as a tuple."""
    names = (operator.output.names or ())[1:]
    make = tuple_type(names)._make
    types = [operator.output[name].type for name in names]

    def forward(row: Row) -> None:
        # Values take the width of their field before the next operator reads them.
        fields = [fit_output(operator.name, *pair) for pair in zip(types, row[1:], strict=True)]
        following.process(make((row[0], 0, *fields)))

    return forward
