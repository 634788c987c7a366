"""prelu in int16: other runtimes have no such op, so it is written out."""

import numpy as np
import pytest

from tests.graphs import Builder
from tests.ops.peers import answers_of_litert
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter import Model
from tinyrt.ir import Graph
from tinyrt.metrics import sqnr_db
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph

PARTS = ["relu", "minimum", "mul", "add"]


def net(slopes: np.ndarray) -> Graph:
    rng = np.random.default_rng(0)
    b = Builder((1, 6, 6, 3))
    w = [b.constant(rng.normal(size=s).astype(np.float32)) for s in ((4, 3, 3, 3), (2, 3, 3, 4))]
    y = b.op("conv2d", ("x", w[0]), Conv2dAttrs())
    y = b.op("prelu", (y, b.constant(slopes.astype(np.float32))))
    return b.graph(b.op("conv2d", (y, w[1]), Conv2dAttrs()))


def quantised(graph: Graph, scheme: Scheme = Scheme.INT16X8, **options: object) -> Graph:
    x = np.random.default_rng(1).standard_normal((32, 6, 6, 3)).astype(np.float32)
    return quantize_graph(graph, x, QuantConfig(scheme=scheme, **options))


@pytest.mark.parametrize("slopes", [np.array([0.25, -0.5, 1.5, 0.0]), np.array([0.1])])
def test_it_is_written_out_where_activations_are_int16(slopes):
    graph = net(slopes)
    wide = quantised(graph)
    assert [n.op for n in wide.nodes] == ["conv2d", *PARTS, "conv2d"]
    x = np.random.default_rng(2).standard_normal((1, 6, 6, 3)).astype(np.float32)
    found, wanted = Model(wide)(x), Model(graph)(x)
    assert sqnr_db(wanted, found) > 40
    stored = np.round(x / wide.input_values[0].q.scales[0]).clip(-32768, 32767).astype(np.int16)
    (litert,) = answers_of_litert(wide, {"x": stored})
    np.testing.assert_array_equal(Model(wide)(stored), litert)


def test_it_stays_where_it_has_a_form_or_a_scheme_of_its_own():
    graph = net(np.array([0.25, -0.5, 1.5, 0.0]))
    assert "prelu" in [n.op for n in quantised(graph, Scheme.INT8).nodes]
    assert "prelu" in [n.op for n in quantised(graph, Scheme.WEIGHTS_INT8).nodes]
    assert "prelu" in [n.op for n in quantised(graph, keep_float=("prelu",)).nodes]
    wished = (("prelu", Scheme.INT16X8),)
    with pytest.raises(UnsupportedError, match="prelu has no int16x8 form"):
        quantised(graph, Scheme.INT8, scheme_for=wished)
