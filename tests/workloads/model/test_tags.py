"""A tag that its stream cannot carry is refused with the row, by the reference and by engines."""

import numpy as np
import pytest

from streamlab.workloads.datasets.errors import DatasetError
from streamlab.workloads.datasets.stream_file import write_stream
from streamlab.workloads.model import Alphabet, Input, ModelError, Stream

KINDS = Alphabet(kinds=("view", "update"), keys=3)
RULE = r"; a tag is the number of its kind \(view, update\) \+ 2 x its key$"
TYPES = {"ts": np.dtype(np.int64), "tag": np.dtype(np.int32)}


def stream(tags, kinds=(0, 1)):
    return Stream(
        name="s", kinds=kinds, ts=np.arange(len(tags)), tag=np.array(tags, dtype=np.int32)
    )


@pytest.mark.parametrize("rows", [1, 1 << 20, (1 << 20) + 5])
@pytest.mark.parametrize("tag", [-1, 6, 1_000_000_000])
def test_a_tag_outside_the_alphabet_is_refused(rows, tag):
    tags = np.arange(rows, dtype=np.int32) % 6
    tags[-1] = tag
    says = rf"^stream s: row {rows - 1} has tag {tag}, but with 3 keys tags are 0 to 5"
    with pytest.raises(ModelError, match=says + RULE):
        Input(alphabet=KINDS, streams=(stream([0]), stream(tags)))


def test_a_tag_of_a_kind_that_its_stream_does_not_carry_is_refused():
    says = "^stream s: row 2 has tag 5, which is kind update of key 2, but the stream carries only"
    with pytest.raises(ModelError, match=says + " view" + RULE):
        Input(alphabet=KINDS, streams=(stream([0, 4, 5, 1], kinds=(0,)),))


def test_kinds_that_the_alphabet_does_not_have_are_refused():
    with pytest.raises(ModelError, match=r"stream s has kinds \(2,\); the alphabet has 2, from 0"):
        Input(alphabet=KINDS, streams=(Stream(name="s", kinds=(2,), ts=np.arange(3)),))


def test_every_tag_of_the_alphabet_is_taken():
    taken = Input(alphabet=KINDS, streams=(stream(range(6)), stream([1, 3, 5], kinds=(1,))))
    assert taken.events == 9


def test_a_dataset_is_not_written_with_a_tag_outside_its_alphabet(tmp_path):
    blocks = [
        {"ts": np.arange(4), "tag": np.array([0, 1, 2, 3], dtype=np.int32)},
        {"ts": np.arange(4, 6), "tag": np.array([5, 6], dtype=np.int32)},
    ]
    with pytest.raises(DatasetError, match="^stream s: row 5 has tag 6, but with 3 keys" + ".*"):
        write_stream(tmp_path, "s", (0, 1), TYPES, blocks, KINDS)
