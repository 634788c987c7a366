"""Whole files that mutants are made from: small models of every op and dtype, and what users have.

Where ``TINYRT_ZOO`` names a folder with ``models/``, its small files are seeds, too.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, scaled
from tests.convert.tflite_files import FILES
from tests.graphs import small_cnn
from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.stateful import keeping
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import TinyrtError
from tinyrt.ir import DType, Graph
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.shared.spec import Form, Quant
from tinyrt.quantize import quantize_graph

MAX_BYTES = 80_000
"""Larger files of the zoo are left out: each change of one takes longer than reading it."""

BUILDERS: dict[str, Callable] = {
    "float": build_f32,
    "int8": build_s8,
    "int16x8": build_s16,
    "int4": partial(build_s8, weights=DType.INT4),
}


@cache
def seeds(kind: str, everything: bool = True) -> list[bytes]:
    """Contents of files of a kind.

    Args:
        kind: ``tflite``, ``onnx``, ``npz`` or ``cli``.
        everything: whether ONNX's own node tests and the zoo are among them.

    """
    found = list({"tflite": _tflite, "onnx": _onnx, "npz": _npz, "cli": _commands}[kind]())
    if everything and kind in ("tflite", "onnx"):
        found += [*(_node_tests() if kind == "onnx" else ()), *_zoo(f".{kind}")]
    return found


def _tflite() -> Iterator[bytes]:
    yield from FILES.values()
    for op in CASES:
        for name in BUILDERS:
            yield from _single_op(op, name)
    yield from map(write_tflite, networks())
    yield build(scaled(2), scaled(3), signatures={"double": 0, "triple": 1}, metadata={"m": b"x"})
    yield counter()


def _single_op(op: str, name: str) -> Iterator[bytes]:
    """The op in that form, if it has it."""
    spec, form = OPS[op], Form.INT16X8 if name == "int16x8" else Form.INT8
    if (name == "int4" and not spec.int4_weights) or (name == "float" and spec.ref_f32 is None):
        return
    if name != "float" and form not in spec.forms:
        return
    rng = rng_of(op, 3)
    graph = BUILDERS[name](CASES[op](rng), rng).graph
    try:
        yield write_tflite(keeping(graph) if OPS[op].name in STATEFUL else graph)
    except TinyrtError:  # no file can hold an op of ours in that form
        return


STATEFUL = ops_where(lambda spec: spec.quant is Quant.STATEFUL)


def networks() -> list[Graph]:
    """A residual network, in float and in int8."""
    net = small_cnn()
    samples = np.random.default_rng(0).standard_normal((16, *net.input_values[0].shape[1:]))
    calibration = samples.astype(np.float32)
    return [net, quantize_graph(net, calibration)]


def counter() -> bytes:
    """y = k + x, k = y: a variable that an op of the file keeps, and one that begins it."""
    table = "VarHandleOptions"
    kept = {"SharedName": "k", "Container": ""}
    ops = [
        Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}),
        Op("VAR_HANDLE", [], ["h"], table, texts=kept),
        Op("READ_VARIABLE", ["h"], ["k"]),
        Op("ADD", ["x", "k"], ["y"], "AddOptions"),
        Op("ASSIGN_VARIABLE", ["h", "y"], []),
    ]
    tensors = [Tensor("x", (1, 3)), Tensor("h", (), "RESOURCE"), Tensor("k", (1, 3)),
               Tensor("y", (1, 3))]  # fmt: skip
    zero = Tensor("zero", (1, 3), data=np.zeros((1, 3), np.float32))
    first = [
        Op("VAR_HANDLE", [], ["h"], table, texts=kept),
        Op("ASSIGN_VARIABLE", ["h", "zero"], []),
    ]
    return build(
        Subgraph(tensors, ops, ["x"], ["y"]),
        Subgraph([Tensor("h", (), "RESOURCE"), zero], first, [], []),
    )


def _onnx() -> Iterator[bytes]:
    # onnxruntime comes with these, and not with what most tests need.
    from tests.convert.onnx_build import OnnxModel
    from tests.convert.onnx_cases import CASES as WINDOWS
    from tests.convert.test_onnx_forms import CASES as FORMS

    cases = [*FORMS.values(), *((make, opsets[-1]) for make, opsets in WINDOWS.values())]
    for make, opset in cases:
        model = OnnxModel(opset)
        yield model.model(make(model)).SerializeToString()
    yield _quantized_onnx()


def _node_tests() -> Iterator[bytes]:
    """Models of ONNX's own tests of single nodes, all inputs open or all but the first known."""
    from tests.onnx_backend import bound, node_cases, out_of_scope

    for case in node_cases():
        known = not out_of_scope(case)
        data = (bound(case, 1)[0] if known else case.model).SerializeToString()
        if len(data) < MAX_NODE_BYTES:
            yield data


MAX_NODE_BYTES = 4000


def _quantized_onnx() -> bytes:
    """A convolution and a product between roundings, their weights in integers."""
    from tests.convert.onnx_build import OnnxModel

    m = OnnxModel(13)
    grid, plain = (m.const(0.1), m.const(3, np.int8)), (m.const(0.1), m.const(0, np.int8))
    weights, columns = (m.const(m.rng.integers(-9, 9, s), np.int8) for s in ((4, 3, 3, 3), (6, 5)))
    w = m.op("DequantizeLinear", weights, m.weights(4, low=0.1), m.const([0] * 4, np.int8), axis=0)
    x = m.op("DequantizeLinear", m.op("QuantizeLinear", m.input(1, 3, 8, 8), *grid), *grid)
    y = m.op("QuantizeLinear", m.op("Relu", m.op("Conv", x, w, m.weights(4))), *grid)
    y = m.op("QLinearMatMul", y, *grid, columns, *plain, *grid)
    return m.model(m.op("DequantizeLinear", y, *grid)).SerializeToString()


def _npz() -> Iterator[bytes]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4)).astype(np.float32)
    arrays = (
        {"x": x, "y": np.arange(3)},
        {"x": (x * 10).astype(np.int8)},
        {"x": x.astype(np.float64), "z": x},
        {"x": np.asfortranarray(x)},
        {"x": np.array(["a", "b"])},
    )
    for save in (np.savez, np.savez_compressed):
        for entry in arrays:
            file = io.BytesIO()
            save(file, **entry)
            yield file.getvalue()


def _commands() -> Iterator[bytes]:
    from tests.fuzz.commands import seeds as command_lines

    yield from command_lines()


def _zoo(suffix: str) -> Iterator[bytes]:
    folder = os.environ.get("TINYRT_ZOO")
    if folder:
        paths = sorted(Path(folder, "models").rglob(f"*{suffix}"))
        yield from (p.read_bytes() for p in paths if p.stat().st_size <= MAX_BYTES)
