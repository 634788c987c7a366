"""Sums of many floats lose few bits in C, as in NumPy."""

import numpy as np
import pytest

from tests.ops.quantised import graph_of
from tests.sampling import sampled
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Value
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reduce import ReduceAttrs


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 1000, 65_536])
@pytest.mark.parametrize("op", sampled(["mean"], ["mean", "sum", "reduce_max"]))
def test_long_reductions_are_close_to_exact(op, count):
    x = np.random.default_rng(count).normal(1, 0.001, (2, count, 3)).astype(np.float32)
    exact = {"mean": np.mean, "sum": np.sum, "reduce_max": np.max}[op]
    ports = (Value("a", DType.FLOAT32, x.shape), Value("y", DType.FLOAT32, (2, 3)))
    attrs = MeanAttrs((1,)) if op == "mean" else ReduceAttrs((1,))
    graph = graph_of(op, attrs, [ports[0]], [ports[1]])
    (found,) = Model(graph, backend="native").run_raw({"a": x}).values()
    np.testing.assert_allclose(found, exact(x.astype(np.float64), axis=1), rtol=1e-6)
