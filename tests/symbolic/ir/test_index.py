"""Row-major arithmetic against NumPy's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from symbolic.ir.index import OUTSIDE, cell_name, flat_index, unflattened

SHAPES = [(), (1,), (5,), (2, 3), (3, 1, 4), (2, 2, 2, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_there_and_back_as_numpy_does(shape):
    """Every element's indices have NumPy's flat index, and come back from it."""
    for indices in itertools.product(*(range(extent) for extent in shape)):
        flat = flat_index(shape, indices)
        assert flat == (np.ravel_multi_index(indices, shape) if shape else 0)
        assert unflattened(shape, flat) == indices


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_outside_in_any_dimension(shape):
    """One index out of bounds is enough, also where the sum of all would be inside; lanes agree with ints."""
    every = list(itertools.product(*(range(-2, extent + 2) for extent in shape)))
    lanes = flat_index(shape, [np.array(column) for column in zip(*every, strict=True)])
    for indices, lane in zip(every, lanes.tolist(), strict=True):
        inside = all(0 <= i < extent for i, extent in zip(indices, shape, strict=True))
        assert (flat_index(shape, indices) != OUTSIDE) == inside
        assert lane == flat_index(shape, indices)


def test_names():
    """A cell has an index for each dimension."""
    assert [cell_name("y", shape, 0) for shape in SHAPES[:4]] == ["y", "y[0]", "y[0]", "y[0, 0]"]
    assert cell_name("y", (2, 3), 5) == "y[1, 2]"
