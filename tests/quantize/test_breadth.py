"""Every ONNX op that the converter takes: int8 by default, and how near it stays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.convert.every_importer import CASES
from tests.convert.onnx_build import OnnxModel
from tests.sampling import sampled
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Model
from tinyrt.ir import DType, Graph
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Form, Quant
from tinyrt.ops.shared.unsupported import NOT_IN_INTEGERS
from tinyrt.quantize import quantize_graph

SAMPLES, OF_LOOPS = 32, 12
FLOOR = 27.0
"""dB between the answers of the float and the int8 model, on normally distributed inputs."""

LOWER = {
    # Where a function jumps, inputs that int8 rounds across the place are a whole jump off.
    **dict.fromkeys(
        ("Ceil", "Floor", "Round", "CastLike float16", "CastLike int32", "CastLike float64"), 20
    ),
    "places_of_the_largest": 12,
    "the last ArgMin of equals": 20,
    **dict.fromkeys(("Sign", "cast_of_a_comparison", "exclusive_or", "places_of_extrema"), 12),
    "mask_of_zeros_and_ones": 12,
    # Few outputs are large, and they are those of small divisors, of which int8 knows little.
    **dict.fromkeys(("Reciprocal", "division_of_activations", "division_of_a_constant"), 12),
    "Tan": 0,  # it has poles
    # Few products are large; LiteRT's arithmetic rounds at each factor.
    **dict.fromkeys(("ReduceProd", "ReduceProd_all"), 20),
}
REFUSED = {
    "pow_of_activations": "pow has no integer form: that of two tensors",
    "what_is_no_number": "computes infinity",  # of these inputs; guards alone would go
}

KINDS = ("RNN_", "GRU_", "LSTM_")
RECURRENT = [name for name in CASES if name.startswith(KINDS)]
"""Their loops become hundreds of the same few ops."""

OTHERS = sorted(CASES.keys() - {*RECURRENT, *REFUSED})

TAKEN = [*REFUSED, *OTHERS[:: sampled(8, 1)], *sampled(RECURRENT[-1:], RECURRENT)]


def samples_of(graph: Graph, count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    return [
        {v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.input_values}
        for _ in range(count)
    ]


def in_float(graph: Graph) -> set[str]:
    """Ops between borders that still compute with real numbers."""
    return {
        node.op
        for node in graph.bound()
        if node.op not in ("dequantize", "quantize")
        and any(v.dtype is DType.FLOAT32 for v in node.outputs)
    }


def least_db(graph: Graph, int8: Graph, data: list[dict[str, np.ndarray]]) -> float:
    """Signal to noise of the worst output, over all samples."""
    model = Model(int8)
    pairs = [(evaluate(graph, feeds), model.run(feeds)) for feeds in data]
    found = []
    for name in graph.outputs:
        wanted = np.concatenate([a[name].ravel() for a, _ in pairs]).astype(np.float64)
        noise = wanted - np.concatenate([b[name].ravel() for _, b in pairs])
        found.append(10 * np.log10((wanted**2).sum() / max((noise**2).sum(), 1e-12)))
    return min(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", TAKEN)
def test_it_becomes_int8_by_default(name, tmp_path):
    build, opset = CASES[name]
    model = OnnxModel(opset)
    graph = optimize(read_onnx(model.save(tmp_path, build(model))))
    data = samples_of(graph, OF_LOOPS if name in RECURRENT else SAMPLES)
    if name in REFUSED:
        with pytest.raises(TinyrtError, match=REFUSED[name]):
            quantize_graph(graph, data)
        return
    int8 = parse_tflite(write_tflite(quantize_graph(graph, data)))
    assert in_float(int8) <= {"cast"}
    assert least_db(graph, int8, data) >= LOWER.get(name, FLOOR)


def test_every_op_without_integers_has_a_reason():
    left = {
        name
        for name, spec in OPS.items()
        if Form.INT8 not in spec.forms and spec.quant is not Quant.BY_TABLE
    }
    assert left | {"pow", "floor_div", "floor_mod"} == set(NOT_IN_INTEGERS)
