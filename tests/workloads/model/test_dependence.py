"""Parts of an alphabet that never depend on each other."""

from dataclasses import replace

import numpy as np

from streamlab.workloads.model import Alphabet
from streamlab.workloads.model.dgs.dependence import MAX_TAGS, independent_parts
from streamlab.workloads.suite.event_window.program import PROGRAM as WINDOWS
from streamlab.workloads.suite.keyed_counter.program import PROGRAM as COUNTER


def never(a, b):
    return False


def same_parity(a, b):
    return a.kind == b.kind == 0 and a.key % 2 == b.key % 2


def test_barriers_join_all_kinds_to_one_part():
    assert independent_parts(WINDOWS, Alphabet(kinds=WINDOWS.kinds)).tolist() == [0, 0]


def test_keys_of_a_keyed_program_are_parts_of_their_own():
    parts = independent_parts(COUNTER, Alphabet(kinds=COUNTER.kinds, keys=3))
    assert parts.tolist() == [0, 0, 1, 1, 2, 2]


def test_kinds_that_depend_on_nothing_are_parts_within_their_key():
    apart = replace(COUNTER, depends=never)
    parts = independent_parts(apart, Alphabet(kinds=COUNTER.kinds, keys=2))
    assert parts.tolist() == [0, 1, 2, 3]


def test_keys_of_an_unkeyed_program_are_parts_where_its_relation_says_so():
    alphabet = Alphabet(kinds=WINDOWS.kinds, keys=4)
    parts = independent_parts(replace(WINDOWS, depends=same_parity), alphabet)
    assert parts.tolist() == [0, 1, 2, 3, 0, 4, 2, 5]


def test_an_unkeyed_program_with_too_many_tags_is_one_part():
    alphabet = Alphabet(kinds=WINDOWS.kinds, keys=MAX_TAGS)
    assert not np.any(independent_parts(replace(WINDOWS, depends=never), alphabet))
