"""Shared-nothing instances give the answer of the others, whatever moves between them."""

import itertools
import threading
import time

import numpy as np
import pytest

from streamlab.engines.multicore.oplus.options import OplusOptions
from streamlab.engines.multicore.oplus.run import OplusRun
from streamlab.engines.multicore.run.settings import RunSettings
from streamlab.workloads.model import (
    Alphabet,
    Input,
    InputType,
    ListColumn,
    Operator,
    Query,
    Stream,
    Window,
)
from streamlab.workloads.model.operators.reference import answer as reference_answer

WORDS = InputType(name="text", lists=(("words", np.dtype(np.int32)),))
OUTPUT = np.dtype([("ts", np.int64), ("word", np.int64), ("count", np.int64)])
RING_BLOCKS = 8


def keys(t, out):
    for word in t.words:
        out.add(word)


def update(w, t, out):
    w[0].count += 1


def expire(w, out):
    out.emit(w[0].key, w[0].count)


def forget(w):
    w[0].count = 0


def by_key(key):
    return key


def counting(window: Window, slide=None) -> Query:
    operator = Operator(
        name="counting",
        inputs=(WORDS,),
        window=window,
        output=OUTPUT,
        state=np.dtype([("count", np.int64)]),
        keys=keys,
        update=update,
        expire=expire,
        slide=slide,
        buckets=8,
        bucket=by_key,
    )
    return Query(name="counting", operators=(operator,))


def texts(*streams: tuple[list[int], list[list[int]]], until_ts: int | None = None) -> Input:
    made = tuple(
        Stream(
            name=f"text-{index}",
            kinds=(0,),
            ts=np.array(ts, dtype=np.int64),
            payload={"words": ListColumn.of(words, np.int32)},
        )
        for index, (ts, words) in enumerate(streams)
    )
    return Input(alphabet=Alphabet(kinds=("text",)), streams=made, until_ts=until_ts)


def rows(columns) -> list[tuple[int, ...]]:
    return sorted(zip(*(columns[name].tolist() for name in OUTPUT.names or ()), strict=True))


def run(query: Query, data: Input, *, instances: int, batch: int = 3) -> list[tuple[int, ...]]:
    native = OplusRun(
        query,
        data,
        RunSettings(workers=instances, batch=batch, ring_blocks=RING_BLOCKS),
        OplusOptions(shared_nothing=True),
    )
    try:
        measured = native.run()
        assert measured.events == data.events
        return rows(native.answer())
    finally:
        native.close()


def test_a_window_closes_though_its_instance_has_no_part_in_the_last_tuple():
    query = counting(Window(advance=10, size=10))
    data = texts(([0, 5, 20], [[0], [1], [0]]))
    assert rows(reference_answer(query, data)) == [(10, 0, 1), (10, 1, 1)]
    assert run(query, data, instances=2) == [(10, 0, 1), (10, 1, 1)]


def test_a_cut_input_closes_windows_up_to_the_cut():
    query = counting(Window(advance=10, size=10))
    data = texts(([0, 5], [[0], [1]]), until_ts=21)
    assert run(query, data, instances=2) == rows(reference_answer(query, data))
    assert run(query, data, instances=2) == [(10, 0, 1), (10, 1, 1)]


def random_texts(rng: np.random.Generator, tuples: int, streams: int, span: int) -> Input:
    parts = []
    for _ in range(streams):
        ts = np.sort(rng.integers(-span, span, tuples)).tolist()
        # Words are rare, so that instances differ in what they have seen last.
        words = [
            rng.integers(0, 40, rng.integers(0, 3)).tolist() if rng.random() < 0.6 else []
            for _ in range(tuples)
        ]
        parts.append((ts, words))
    return texts(*parts)


@pytest.mark.some(2)
@pytest.mark.parametrize("instances", [5, 1, 2])
@pytest.mark.parametrize(("advance", "size"), [(7, 7), (10, 40)])
def test_random_inputs_give_the_reference_answer(instances, advance, size):
    rng = np.random.default_rng(instances * 100 + size)
    query = counting(Window(advance=advance, size=size))
    for streams in (1, 3):
        data = random_texts(rng, 300, streams, 200)
        expected = rows(reference_answer(query, data))
        for batch in (1, 64):
            assert run(query, data, instances=instances, batch=batch) == expected


@pytest.mark.parametrize("single", [False, True])
def test_state_moves_while_tuples_wait(single):
    rng = np.random.default_rng(int(single))
    window = Window(advance=25, size=100, type="single" if single else "multi")
    query = counting(window, slide=forget if single else None)
    switches = 0
    for round_ in itertools.count():
        if round_ >= 6 and switches > 0:  # whether a call comes in time is the scheduler's to say
            break
        data = random_texts(rng, 4000, 2, 5000)
        expected = rows(reference_answer(query, data))
        native = OplusRun(
            query,
            data,
            RunSettings(workers=2, batch=8, ring_blocks=RING_BLOCKS),
            OplusOptions(shared_nothing=True, max_instances=4),
        )
        moves = [(int(n), rng.integers(0, n, 8)) for n in rng.integers(1, 5, 40)]
        done = []

        def change(native=native, moves=moves, done=done):
            for instances, mapping in moves:
                if native.reconfigure(instances, mapping) is None:
                    return
                done.append(instances)
                time.sleep(0)

        changer = threading.Thread(target=change)
        changer.start()
        native.run()
        changer.join()
        assert rows(native.answer()) == expected
        native.close()
        switches += len(done)
