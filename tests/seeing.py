"""Small models that see frames of a camera, with boxes and without."""

from dataclasses import replace
from functools import cache

import numpy as np

from tests.graphs import Builder
from tinyrt.dsp import Boxes, Camera, Vision
from tinyrt.ir import Graph
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

CLASSES = 3
ANCHORS = tuple((4 * y + 2, 4 * x + 2, 6, 7) for y in range(3) for x in range(4))
BOXES = Boxes(12, 16, ANCHORS, CLASSES, threshold=10, iou=0.2, candidates=16, most=4, ignored=(0,))
GREY = Vision(
    Camera(15, 22, 6, 8, "rgb565", 1, (1, 3, 13, 17), "area"), scale=0.02, mean=120.5, boxes=BOXES
)
COLOURS = Vision(
    Camera(5, 6, 6, 8, "yuyv", 3, None, "bilinear"),
    scale=(0.02, 0.015, 0.017),
    mean=(120.0, 99.0, 130.25),
)


CODED = replace(
    GREY, boxes=replace(BOXES, threshold=10, center_scale=0.01, size_scale=0.005, zero_point=3)
)


def float_net(channels: int = 1, *, coded: bool = False) -> Graph:
    """An image of 6 x 8 -> scores of three classes, of each of 3 x 4 places; and encodings."""
    rng = np.random.default_rng(channels)
    b = Builder((1, 6, 8, channels), name="eyes")
    outputs = []
    for count in (CLASSES, 4)[: 1 + coded]:
        weights = rng.normal(size=(count, 3, 3, channels)), rng.normal(size=count)
        names = ["x", *(b.constant(w.astype(np.float32)) for w in weights)]
        outputs.append(b.op("conv2d", names, Conv2dAttrs(stride=(2, 2), padding="SAME")))
    return b.graph(*outputs)


@cache
def int8_net(channels: int = 1, *, coded: bool = False) -> Graph:
    """The same, quantised."""
    rng = np.random.default_rng(9)
    x = rng.uniform(-2.5, 2.7, (40, 6, 8, channels)).astype(np.float32)
    return quantize_graph(float_net(channels, coded=coded), x, QuantConfig())


def frames_of(vision: Vision, count: int, seed: int = 0) -> np.ndarray:
    """Random frames uint8 (count, height, line_bytes), smooth ones among them."""
    camera, rng = vision.camera, np.random.default_rng(seed)
    x = rng.integers(0, 256, (count, camera.height, camera.line_bytes))
    x[1::3] = rng.integers(0, 256, x[1::3, :, :1].shape)
    return x.astype(np.uint8)
