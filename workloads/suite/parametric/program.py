"""Builds pipelines of synthetic operators (Scaling Ordered Stream Processing, 7.2, 7.3).

For each record, an operator

1. sums the words of the record, word k times 2k + 1, modulo 2^30;
2. if it has a state, adds 2k + 1 times this number to word k of the state, and takes the sum of the
   words as the new number. It reads and writes the whole state, and depends on all earlier records of
   the key;
3. multiplies the vector of this number and the record's id by a fixed matrix, `iterations` times. This
   is the cost of a record; compilers cannot remove it, because the output has the result;
4. drops the record, or forwards `copies` copies, by a hash of its id and the result. Copy n has the id
   id x copies + n. Word k of a copy is the result xor k.

The paper gives costs in microseconds. Here they are iterations, so a pipeline computes the same on
every machine.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from streamlab.workloads.model import Pipeline, Stage
from streamlab.workloads.model.pipeline.program import PARTITIONED, STATELESS
from streamlab.workloads.suite.parametric.settings import (
    EVENT,
    FIRST_FACTOR,
    FIRST_SHIFT,
    HASH_MASK,
    ID_MASK,
    KEY_SPACE,
    MASK,
    MATRIX,
    RECORD,
    SALT,
    SECOND_FACTOR,
    SECOND_SHIFT,
    Setting,
    output,
)

(M00, M01), (M10, M11) = MATRIX


def program(settings: tuple[Setting, ...]) -> Pipeline:
    """Return the pipeline of these operators."""
    input_words = [len(EVENT.names or ()) - 2, *(setting.tuple_words for setting in settings)]
    stages = [_stage(setting, words) for setting, words in zip(settings, input_words, strict=False)]
    return Pipeline(name="parametric", record=RECORD, event=EVENT, stages=tuple(stages))


def key_of(t: Any) -> Any:
    """Return the key of a record."""
    return t.key


def work(first: Any, second: Any, iterations: int) -> Any:
    """Return the sum of a vector after `iterations` products with the matrix."""
    a, b = first & MASK, second & MASK
    for _ in range(iterations):
        a, b = (M00 * a + M01 * b) & MASK, (M10 * a + M11 * b) & MASK
    return (a + b) & MASK


def hash_number(number: Any, salt: int) -> Any:
    """Return a hash below 2^32 of a number; no product exceeds 63 bits."""
    h = (number + salt) & ID_MASK
    h = (h * FIRST_FACTOR) & HASH_MASK
    h ^= h >> FIRST_SHIFT
    h = (h * SECOND_FACTOR) & HASH_MASK
    return h ^ (h >> SECOND_SHIFT)


def _stage(setting: Setting, words: int) -> Stage:
    """Return one operator, whose input has `words` words of payload."""
    combine, emit = _combine(words), _emit(setting.tuple_words)
    iterations, copies, keep_below = setting.iterations, setting.copies, setting.keep_below
    salt, state_words = setting.index * SALT, setting.state_words

    def forward(number: Any, t: Any, out: Any) -> None:
        """Do the work for a record, and forward its copies unless it is dropped."""
        result = work(number, t.id, iterations)
        if hash_number(t.id + result, salt) < keep_below:
            for n in range(copies):
                emit(t.id * copies + n, t.key, result, out)

    def update_state(s: Any, number: Any) -> Any:
        """Add multiples of a number to the words of the state, and return the sum of the words."""
        total = 0
        for k in range(state_words):
            word = (s.words[k] + (2 * k + 1) * number) & MASK
            s.words[k] = word
            total += word
        return total & MASK

    def apply(t: Any, out: Any) -> None:
        forward(combine(t), t, out)

    def apply_to_state(s: Any, t: Any, out: Any) -> None:
        forward(update_state(s, combine(t)), t, out)

    has_state, has_keys = setting.kind != STATELESS, setting.kind == PARTITIONED
    return Stage(
        name=setting.name,
        output=output(setting.tuple_words),
        apply=apply_to_state if has_state else apply,
        state=np.dtype([("words", np.int64, (state_words,))]) if has_state else None,
        key=key_of if has_keys else None,
        partitions=setting.partitions,
        bounds=_ranges(setting.partitions) if has_keys and setting.by_range else None,
        max_outputs=copies,
    )


def _ranges(partitions: int) -> tuple[int, ...]:
    """Return the bounds of partitions with equal ranges of keys."""
    return tuple(KEY_SPACE * part // partitions for part in range(1, partitions))


def _combine(words: int) -> Callable[[Any], Any]:
    """Return the function that sums the `words` words of a record."""
    terms = " + ".join(f"{2 * k + 1} * (t.x{k} & {MASK})" for k in range(words))
    return _compile_function(f"def combine(t):\n    return ({terms}) & {MASK}\n", "combine")


def _emit(words: int) -> Callable[..., None]:
    """Return the function that emits a record of `words` words."""
    payload = ", ".join(f"result ^ {k}" for k in range(words))
    source = f"def emit(number, key, result, out):\n    out.emit(number, key, {payload})\n"
    return _compile_function(source, "emit")


def _compile_function(source: str, name: str) -> Callable[..., Any]:
    """Compile a function from source, because programs can access fields only by name."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<parametric {name}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function
