import numpy as np
import pytest

from streamlab.workloads.model.arrays import copy


def test_an_array_is_copied_to_one_of_its_length_and_to_no_other():
    values, others = np.arange(3), np.zeros(3)
    copy(values, others)
    assert others.tolist() == [0, 1, 2]
    for one in (values, np.ones(1)):
        with pytest.raises(ValueError, match="another length"):
            copy(one, np.zeros(4))
