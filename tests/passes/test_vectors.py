"""Constants that hold one element per channel, and those that only look like it."""

from itertools import product

import numpy as np
import pytest

from tinyrt.convert.passes.common import channel_vector

SHAPES = [shape for rank in range(4) for shape in product((1, 2, 3), repeat=rank)]


def keeps(held, shape):
    """Whether a constant of shape ``held`` broadcasts to ``shape`` and does not enlarge it."""
    try:
        return np.broadcast_shapes(held, shape) == shape
    except ValueError:
        return False


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) < 3])
def test_only_what_differs_along_the_channels_alone_is_a_vector(shape):
    for held in SHAPES:
        data = np.arange(np.prod(held, dtype=int), dtype=np.float32).reshape(held)
        found = channel_vector(data, shape)
        if keeps(held, shape) and data.size == (held[-1] if held else 1):
            assert found.shape == (shape[-1] if shape else 1,)
            np.testing.assert_array_equal(*np.broadcast_arrays(found, data, np.empty(shape))[:2])
        else:
            assert found is None
