"""Figures of ``tinyrt debug``, against a float model that is run op by op here."""

import numpy as np
import pytest

from tests.cli.calls import call_json
from tests.cli.figures.compare import assert_fields, sqnr_db
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.data import load_inputs
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ops.shared.evaluate import reference_kernel

SEEN = ("x", "conv2d_0", "conv2d_1", "add_2", "conv2d_3", "mean_4", "fully_connected_6")


def grid(value):
    return value.q.scales[0], value.q.zero_point


def rounded(x, value):
    """Real values on an int8 grid."""
    scale, zero_point = grid(value)
    stored = np.clip(np.rint(x / np.float64(scale)) + zero_point, -128, 127)
    return ((stored - zero_point) * scale).astype(np.float32)


def real(value):
    """Stored weights or biases as real values."""
    scales = np.array(value.q.scales)
    if len(scales) > 1:
        shape = [1] * value.data.ndim
        shape[value.q.axis] = -1
        scales = scales.reshape(shape)
    return (value.data * scales).astype(np.float32)


def float_run(graph, x, layer=None, int8=None):
    """Every activation of the float model; one layer as the int8 model has it."""
    parts = []
    for sample in x:
        tensors = {n: v.data for n, v in graph.values.items() if v.is_constant}
        tensors["x"] = rounded(sample[None], int8.value("x")) if layer == "x" else sample[None]
        for node in graph.bound():
            inputs = [tensors[name] for name in node.node.inputs]
            name = node.output.name
            if name == layer:
                stored = [int8.value(n) for n in int8.producer(name).inputs]
                kept = {i: real(v) for i, v in enumerate(stored) if v.is_constant and v.q}
                inputs = [kept.get(i, array) for i, array in enumerate(inputs)]
            y = reference_kernel(node)(*inputs)
            tensors[name] = rounded(y, int8.value(name)) if name == layer else y
        parts.append(tensors)
    return {name: np.concatenate([p[name] for p in parts]) for name in (*SEEN, "softmax_7")}


def int8_run(path, x):
    """Every activation of the int8 model, in real values."""
    interpreter = Interpreter(path, experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    (port,) = interpreter.get_input_details()
    parts = []
    for stored in Model(interpreter.graph).stored_inputs({"x": x})["x"]:
        interpreter.set_tensor(port["index"], stored[None])
        interpreter.invoke()
        tensors = {}
        for detail in interpreter.get_tensor_details():
            name = detail["name"]
            if name in SEEN or name == "softmax_7":
                scale, zero_point = detail["quantization"]
                raw = interpreter.get_tensor(detail["index"]).astype(np.float64)
                tensors[name] = (raw - zero_point) * scale
        parts.append(tensors)
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def cosine(a, b):
    a, b = (x.ravel().astype(np.float64) for x in (a, b))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def spread(weights):
    peaks = np.abs(weights.reshape(len(weights), -1)).max(axis=1)
    return float(peaks.max() / peaks[peaks > 0].min())


def constant(x):
    return np.ptp(x.reshape(-1, x.shape[-1]), axis=0) == 0


def near(value):
    """Sums in another order may turn one of a tensor's roundings over."""
    return lambda found: found == pytest.approx(value, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("data", ["test", "wide"])
def test_debug(data, made):
    """On samples that fit the ranges, and on those that are cut off."""
    found = call_json("debug", made.net, made.int8, "-d", getattr(made, data))
    x = load_inputs(getattr(made, data))["x"]
    graph, int8 = read_tflite(made.net), read_tflite(made.int8)
    exact, actual = float_run(graph, x), int8_run(made.int8, x)
    layers = {}
    for index, name in enumerate([*SEEN, "softmax_7"]):
        alone = float_run(graph, x, name, int8)
        value, node = int8.value(name), int8.producer(name)
        scale, zero_point = grid(value)
        low, high = ((end - zero_point) * scale for end in (-128.5, 127.5))
        weighted = node is not None and node.op in ("conv2d", "fully_connected")
        layers[name] = {
            "name": name,
            "index": index,
            "op": "input" if node is None else node.op,
            "impact_db": near(sqnr_db(exact["fully_connected_6"], alone["fully_connected_6"])),
            "own_db": near(sqnr_db(exact[name], alone[name])),
            "own_cosine": near(cosine(exact[name], alone[name])),
            "own_max_error": near(float(np.abs(exact[name] - alone[name]).max())),
            "accumulated_db": near(sqnr_db(exact[name], actual[name])),
            "cosine": near(cosine(exact[name], actual[name])),
            "max_error": near(float(np.abs(exact[name] - actual[name]).max())),
            "range_use": near(min(1.0, np.ptp(actual[name]) / (255 * scale))),
            "saturation": float(((exact[name] < low) | (exact[name] > high)).mean()),
            "dead_channels": int((constant(actual[name]) & ~constant(exact[name])).sum()),
            "weight_spread": near(spread(real(int8.value(node.inputs[1])))) if weighted else None,
            "cause": lambda text: bool(text),
            "cure": lambda text: text is None or text.startswith(("--", "more")),
            "part_of": None,
        }

    order = [layer["name"] for layer in found["layers"]]
    impacts = [layer["impact_db"] for layer in found["layers"]]
    assert impacts == sorted(impacts)
    expected = {
        "samples": len(x),
        "sqnr_db": near(sqnr_db(exact["fully_connected_6"], actual["fully_connected_6"])),
        "equalized": False,
        "layers": [layers.pop(name) for name in order],
    }
    assert not layers
    assert_fields(found, expected)
