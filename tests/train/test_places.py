"""Models that answer with places: what is trained is what they choose from."""

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.quantize.test_places import conv, samples, segmentation
from tinyrt.errors import UnsupportedError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.train import Tensor
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.qat import QatModel


def classifier():
    """The small CNN, whose softmax is chosen from."""
    graph = small_cnn()
    values = {**graph.values, "y": Value("y", DType.INT64, (1,))}
    choice = Node("arg_max", "y", graph.outputs, ("y",), ArgAttrs(-1, DType.INT64))
    nodes = (*graph.nodes, choice)
    return verify(type(graph)("net", graph.inputs, ("y",), values, nodes))


@pytest.mark.parametrize("make", [classifier, segmentation])
def test_deployed_places_are_those_of_what_was_trained(make):
    graph, x = make(), samples()
    model = QatModel(graph, x)
    logits = model(Tensor(x)).data
    deployed = model.deployed()
    places = Model(deployed)(x)
    assert deployed.value(deployed.outputs[0]).dtype is DType.INT64
    assert deployed.nodes[-1].op == "arg_max"
    # Softmax in int8 may give two classes the same probability, though never less to the larger.
    chosen = np.take_along_axis(logits, places.reshape(*logits.shape[:-1], 1), -1)[..., 0]
    scale = deployed.value(model.logits).q.scale
    assert (logits.max(axis=-1) - chosen).max() <= (0 if make is segmentation else scale)
    floats = GraphModel(graph)
    np.testing.assert_array_equal(
        floats(Tensor(x)).data.argmax(axis=-1), Model(floats.trained())(x).reshape(places.shape)
    )


def test_what_has_no_gradient_is_named():
    b = Builder((1, 8, 8, 3))
    y = conv(b, np.random.default_rng(0))
    graph = b.graph(b.op("cast", (b.op("cast", (y,), CastAttrs(DType.INT32)),), CastAttrs()))
    for make in (GraphModel, lambda g: QatModel(g, samples())):
        with pytest.raises(UnsupportedError, match="cast has no gradient"):
            make(graph)
