"""Answers of a model to raw samples are its outputs that are no state."""

from dataclasses import replace

import numpy as np

from tests.graphs import Builder
from tinyrt.ops.add import AddAttrs
from tinyrt.search.answers import answered


def test_the_first_output_that_is_no_state_is_the_answer():
    b = Builder((1, 3), (1, 3))
    total, y = b.op("add", b.inputs, AddAttrs()), b.op("abs", ("x",))
    graph = replace(b.graph(total, y), states=(("x1", total),))
    x = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(answered(graph, None, x), np.abs(x))
