"""Data as users have them, and as the converted model takes them."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.api.inputs import layout_as, source_of
from tinyrt.budget import MEMORY_PER_BYTE, limited


@pytest.mark.parametrize(
    ("model", "data", "turned"),
    [
        ((1, 6, 5, 3), (7, 3, 6, 5), (7, 6, 5, 3)),
        ((1, 32, 8), (7, 8, 32), (7, 32, 8)),
        ((1, 6, 5, 3), (7, 6, 5, 3), (7, 6, 5, 3)),
        ((1, 4, 4, 4), (7, 4, 4, 4), (7, 4, 4, 4)),
        ((1, 6, 5, 3), (7, 9, 6, 5), (7, 9, 6, 5)),
        ((1, 8), (8, 1), (8, 1)),
    ],
)
def test_channels_move_last_where_only_that_fits(model, data, turned):
    net = Builder(model)
    graph = net.graph(net.op("relu", ("x",)))
    given = np.arange(np.prod(data), dtype=np.float32).reshape(data)
    found = layout_as(graph, {"x": given})["x"]
    assert found.shape == turned
    np.testing.assert_array_equal(
        found, given if turned == data else np.moveaxis(given, 1, -1), strict=True
    )


def test_each_array_adds_to_the_limit_on_memory_unless_that_was_given():
    net = Builder((1, 8), (1, 4))
    graph = net.graph(net.op("relu", ("x",)), net.op("relu", ("x1",)))
    arrays = {"x": np.zeros((5, 8), np.float32), "x1": np.zeros((5, 4), np.float32)}
    for given, more in ((None, MEMORY_PER_BYTE * 4 * 5 * (8 + 4)), (1_000, 0)):
        with limited(memory=given) as budget:
            before = budget.memory
            source_of(graph, arrays)
            assert budget.memory == before + more
