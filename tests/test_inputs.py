"""Data as users have them, and as the converted model takes them."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.api.inputs import layout_as


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
