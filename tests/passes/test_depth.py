"""A model of many equal layers is rewritten everywhere at once, also where layers share constants.

Each turn reads the whole graph: turns that grow with its depth make the time grow with its square.
"""

import numpy as np
import pytest

from tests.passes.nets import TO_NCHW, TO_NHWC, Net
from tinyrt.convert.passes import FLOAT_PIPELINE
from tinyrt.ir import Stage, rewrite
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.mul import MulAttrs


class Layers(Net):
    """A net whose layers all read the same constants."""

    def __init__(self) -> None:
        super().__init__((1, 6, 5, 4))
        self.kernel, self.vector = self.random(4, 3, 3, 4), self.random(4)
        self.zero = self.constant(np.zeros(1, np.float32))

    def normalised(self, x):
        x = self.op("conv2d", (x, self.kernel, self.vector), Conv2dAttrs(padding="SAME"))
        x = self.op("batch_norm", (x, *[self.vector] * 4), BatchNormAttrs(1e-3))
        return self.op("relu", (x,))

    def shifted(self, x):
        x = self.op("add", (x, self.vector), AddAttrs())
        return self.op("conv2d", (x, self.kernel), Conv2dAttrs(padding="SAME"))

    def turned(self, x):
        x = self.transpose(self.op("add", (x, self.vector), AddAttrs()), TO_NCHW)
        return self.transpose(self.op("tanh", (x,)), TO_NHWC)

    def computed(self, x):
        x = self.zero if x == "x" else x
        return self.op(
            "mul", (self.op("add", (x, self.vector), AddAttrs()), self.vector), MulAttrs()
        )


def turns(layer, depth):
    """How often the graph changes."""
    net, x, count = Layers(), "x", 0
    for _ in range(depth):
        x = layer(net, x)

    def counted(graph):
        nonlocal count
        count += 1
        return verify(graph, Stage.FLOAT)

    rewrite(net.graph(net.op("add", (x, "x"), AddAttrs())), FLOAT_PIPELINE, counted)
    return count


@pytest.mark.parametrize(
    "layer", [Layers.normalised, Layers.shifted, Layers.turned, Layers.computed]
)
def test_deep_models_take_as_many_turns_as_shallow_ones(layer):
    assert turns(layer, 40) <= turns(layer, 10) + 2
