"""Builds aggregates and joins by key from the operator O+.

Source: STRETCH, section 2 and Theorem 2. The aggregate A and the join J give each tuple one key (f_SK); A+
and J+ give it a set of keys (f_MK). J+ over all pairs is `streamlab.workloads.model.join`. `program` defines
O+ and its functions f_U, f_O and f_S.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from streamlab.workloads.model.operators.program import (
    EmitFn,
    InputType,
    KeysFn,
    MatchFn,
    Operator,
    Window,
    join,
    join_step,
)

KeyFn = Callable[[Any], int]
"""`key(t)`, the paper's f_SK: the one key of a tuple."""

WhereFn = Callable[[Any], bool]
"""`where(t)`: whether a tuple counts."""

ReduceFn = Callable[[Any, Any], None]
"""`reduce(w, t)`, f_R: add tuple `t` to the window instance `w`, in place."""

ResultFn = Callable[[Any, Any], None]
"""`result(w, out)`, f_A: forward the result of the window instance `w` when it expires."""


def aggregate_plus(
    *,
    name: str,
    source: InputType,
    window: Window,
    keys: KeysFn,
    reduce: ReduceFn,
    result: ResultFn,
    state: np.dtype[np.void],
    output: np.dtype[np.void],
    max_outputs: int = 1,
) -> Operator:
    """Return the A+ that reduces tuples as they arrive and forwards results at expiry.

    With a `single` window, a key's state is not reduced as the window advances, because there is no
    f_S. It covers all tuples since the key first appeared, and is forwarded after every advance.
    `keys` is f_MK; see `Operator` for the other parameters.
    """

    def update(w: Any, t: Any, out: Any) -> None:
        reduce(w[0], t)

    def expire(w: Any, out: Any) -> None:
        result(w[0], out)

    return Operator(
        name=name,
        inputs=(source,),
        window=window,
        output=output,
        state=state,
        keys=keys,
        update=update,
        expire=expire,
        max_outputs=max_outputs,
    )


def aggregate(
    *,
    name: str,
    source: InputType,
    window: Window,
    key: KeyFn,
    reduce: ReduceFn,
    result: ResultFn,
    state: np.dtype[np.void],
    output: np.dtype[np.void],
    max_outputs: int = 1,
    where: WhereFn | None = None,
) -> Operator:
    """Return the A: an A+ in which each tuple has the single key `key(t)`; see `aggregate_plus`.

    With `where`, only tuples that satisfy it count.
    """

    def every(t: Any, out: Any) -> None:
        out.add(key(t))

    def some(t: Any, out: Any) -> None:
        if where(t):  # type: ignore[misc]  # used only if there is a `where`
            out.add(key(t))

    keys = every if where is None else some

    return aggregate_plus(
        name=name,
        source=source,
        window=window,
        keys=keys,
        reduce=reduce,
        result=result,
        state=state,
        output=output,
        max_outputs=max_outputs,
    )


def equi_join(
    *,
    name: str,
    left: InputType,
    right: InputType,
    size: int,
    key: KeyFn,
    match: MatchFn,
    emit: EmitFn,
    output: np.dtype[np.void],
    advance: int = 1,
    shares: int = 1000,
) -> Operator:
    """Return the J: it joins matching tuples of equal key that are at most `size` apart in time.

    It has a state for each key: f_U compares a tuple only with stored tuples of its key, so one instance
    does all work of a frequent key. Engines that run joins without f_U treat it as the J+ of
    `streamlab.workloads.model.join` with a predicate that compares keys first. Then it is parallel by
    shares of tuples, but compares the keys of all pairs.

    `size` and `advance` are WS and WA, and `key` is f_SK of both inputs. `match` is called for pairs of
    equal key. `shares` (see `join`) is also the number of buckets of keys.
    """

    def keys(t: Any, out: Any) -> None:
        out.add(key(t))

    meet = join_step(size, match, emit)

    def update(w: Any, t: Any, out: Any) -> None:
        meet(w[1 - t.input], t, out)
        w[t.input].tuples.append(t)

    def agree(first: Any, second: Any) -> bool:
        return key(first) == key(second) and match(first, second)

    by_shares = join(
        name=name,
        left=left,
        right=right,
        size=size,
        output=output,
        match=agree,
        emit=emit,
        advance=advance,
        shares=shares,
    )
    assert by_shares.join is not None, "join sets it"
    keyed = replace(by_shares.join, keyed=True)
    return replace(by_shares, state=np.dtype([]), keys=keys, update=update, bucket=None, join=keyed)
