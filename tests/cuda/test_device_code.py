"""The generated device code, run on the host thread by thread, bit for bit."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.c.conformance import INT4_OPS, graph_of
from tests.c.programs import one_graph
from tests.cuda.devices import DEVICES, ops_on
from tests.cuda.requirements import needs_cxx
from tests.interpreter.test_conformance import weighted
from tests.ops.build import build_s8, build_s16
from tests.ops.cases import CASES
from tests.ops.corners import integer_corners
from tests.sampling import sampled
from tinyrt.backends.cuda.host import SANITIZE, HostDevice
from tinyrt.backends.cuda.layout import LATENCY, THROUGHPUT, Shape
from tinyrt.backends.cuda.program import generate
from tinyrt.backends.cuda.widen import widen_inputs
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.interpreter import load
from tinyrt.ir import DType
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Form

pytestmark = needs_cxx
MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
AT_ONCE = ("dscnn_kws", "autoencoder_ad")
"""Those that are also run for one sample at a time."""
BY_OPS = Shape(threads=64, fused=False)
CHECKED = (*SANITIZE, "-O0")
ON_INT8, ON_INT16 = ops_on(Form.INT8), ops_on(Form.INT16X8)
HALF = {*ON_INT8} - {*ON_INT8[1::2]}.intersection(ON_INT16)
"""Every other op, and what has no other width: sampled on int8; the others are on int16."""
OTHERS = [op for op in ON_INT16 if op not in HALF or op == "softmax"]
BUILDS = {
    "int8": (sampled(sorted(HALF), ON_INT8), build_s8, range(sampled(1, 3))),
    "int16": (sampled(OTHERS, ON_INT16), build_s16, range(sampled(1, 3))),
    "int4": (INT4_OPS, partial(build_s8, weights=DType.INT4), range(sampled(2, 8))),
}


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", BUILDS)
def test_every_op_equals_its_reference(kind, device):
    ops, build, seeds = BUILDS[kind]
    graph, feeds = graph_of({op: CASES[op] for op in ops}, seeds, build)
    states = tuple(name for name in graph.values if name.endswith(("/out1", "/out2")))
    graph = replace(graph, outputs=(*graph.outputs, *states))
    found = DEVICES[device](graph, BY_OPS, feeds, 1, CHECKED)
    for name, expected in evaluate(graph, feeds).items():
        raw = found[name].view(expected.dtype).reshape(expected.shape)
        np.testing.assert_array_equal(raw, expected, err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kind", "every"),
    [("int8 to int16", sampled(4, 1)), (": legacy", sampled(4, 1)), ("e, factor 0.5", 1)],
)
def test_what_random_cases_lack_equals_its_reference(device, kind, every):
    """A softmax that widens, layers that are rounded as on uint8, products turned in all ways."""
    made = [n for n in integer_corners().items() if kind in n[0]][::every]
    graph, feeds = one_graph(dict(made))
    found = DEVICES[device](graph, BY_OPS, feeds, 1, CHECKED)
    for name, expected in evaluate(graph, feeds).items():
        raw = found[name].view(expected.dtype).reshape(expected.shape)
        np.testing.assert_array_equal(raw, expected, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *(pytest.param(name, THROUGHPUT, id=name) for name in sampled(MODELS[3:], MODELS)),
        *(
            pytest.param(name, LATENCY, id=f"{name}, latency")
            for name in sampled(AT_ONCE[:1], AT_ONCE)
        ),
    ],
)
def test_zoo_models_answer_golden_and_random_inputs(zoo, name, shape, device):
    """In any order of the threads: those that depend on each other would show."""
    path = zoo / "models" / f"{name}_int8.tflite"
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    graph = read_tflite(path)
    rng = np.random.default_rng(9)
    random = rng.integers(-128, 128, (3, *golden["inputs"].shape[2:])).astype(np.int8)
    x = np.concatenate([golden["inputs"][:2, 0], random])
    expected = np.concatenate([golden["outputs"][:2, 0], load(path)(random)])
    (given,), (answer,) = graph.inputs, graph.outputs
    for order in (None, rng.permutation(generate(graph, shape).threads)):
        found = DEVICES[device](graph, shape, {given: x}, len(x), order=order)[answer]
        np.testing.assert_array_equal(found.view(np.int8), expected.reshape(len(x), -1))


def test_a_model_too_large_for_shared_memory_runs_op_by_op(zoo):
    path = zoo / "models" / "resnet8_int8.tflite"
    golden = np.load(zoo / "golden" / "resnet8_int8.npz")
    program = generate(read_tflite(path), shared_limit=48 * 1024)
    assert not program.fused
    x = golden["inputs"][:3, 0]
    found = HostDevice(program).run({program.inputs[0].name: x}, 3)[program.outputs[0].name]
    np.testing.assert_array_equal(found.view(np.int8), golden["outputs"][:3, 0])


def test_blocks_share_samples_in_any_number(zoo):
    """Blocks that hold 16 samples at once, the last of them not all."""
    path = zoo / "models" / "autoencoder_ad_int8.tflite"
    program = generate(read_tflite(path))
    assert program.samples == 16
    x = np.random.default_rng(3).integers(-128, 128, (37, 640)).astype(np.int8)
    expected = load(path)(x)
    for blocks in (1, 2, 5):
        found = HostDevice(program).run({program.inputs[0].name: x}, 37, blocks)
        np.testing.assert_array_equal(found[program.outputs[0].name].view(np.int8), expected)


WIDENED = [
    (1, (10, 4), (2, 2), (1, 1)),
    (1, (3, 4), (1, 1), (2, 2)),
    (1, (2, 8), (1, 3), (1, 1)),
    (2, (3, 3), (2, 1), (1, 1)),
    (3, (3, 3), (1, 1), (1, 1)),
    (7, (1, 2), (1, 1), (1, 2)),
]
"""Channels, kernel, stride and dilation."""
PADDINGS = ("SAME", "VALID")


@pytest.mark.parametrize(
    ("layer", "padding"),
    sampled(
        [(layer, PADDINGS[i % 2]) for i, layer in enumerate(WIDENED)][::2],
        [(layer, padding) for layer in WIDENED for padding in PADDINGS],
    ),
)
def test_images_are_widened_on_their_way_in(layer, padding):
    channels, kernel, stride, dilation = layer
    rng = np.random.default_rng(channels)
    attrs = Conv2dAttrs(stride, padding, dilation)
    shapes = ((1, 23, 21, channels), (18, *kernel, channels))
    graph, feeds = weighted("conv2d", attrs, shapes, rng)
    (given,) = graph.input_values
    wide = widen_inputs(graph)[0]
    assert wide.input_values[0].shape[3] % 4 == 0
    if channels == 1:
        (node,) = (n for n in wide.bound() if n.op == "conv2d")
        unfolded = node.attrs_as(Conv2dAttrs)
        assert (node.input(1).shape[2], unfolded.stride[1], unfolded.dilation[1]) == (1, 1, 1)
    found = HostDevice(generate(graph), flags=SANITIZE).run({given.name: feeds[given.name]}, 1)
    (name,) = graph.outputs
    expected = evaluate(graph, feeds)[name]
    np.testing.assert_array_equal(found[name].view(np.int8).reshape(expected.shape), expected)
