"""Kernels one by one on emulated cores: exact instructions per output or multiply-accumulate.

    python -m benchmarks.kernels [--cores m4 ...] [--layers softmax ...] [--floats] [-o DIR]

Each layer is an op of random weights on random data, large enough for its loops to count.
All layers of a core are one image and one boot, those on floats two. Prints a Markdown table and
writes it to ``kernels.md``, and the figures to ``kernels.json``, in the folder of ``-o``
(``build/benchmarks`` by default). Where CMSIS-NN has a function for a layer, a share says how many
of its instructions these are: ``python -m benchmarks.cmsis_nn`` has counted them. With ``--floats``
layers are of floats, on cores with a unit for these.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mcu import emulated_cores
from benchmarks.recurrent import LSTM, lstm_operands, lstm_shapes
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.profile import profile_ops
from tinyrt.export import export_graph, find_core
from tinyrt.files import write_atomic
from tinyrt.ir import DType, Graph, Node, QParams, Shape, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs, Quant
from tinyrt.ops.shared.window import Pair
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

CORES = ("m0", "m3", "m4", "m55")
FLOAT_CORES = ("m4", "m7", "m33", "m55")
"""Cores with a unit for floats."""
FLOATS_AT_ONCE = 12
"""Layers on floats whose inputs and outputs fit into the memory of all boards."""
CMSIS_NN = Path(__file__).with_name("cmsis_nn.json")
"""Core -> layer -> instructions of CMSIS-NN's function for it, where there is one."""
IMAGE = (1, 16, 16, 32)
INPUT_SCALE, WEIGHT_SCALE, ZERO_POINT = 0.05, 0.01, 3
OTHER_WIDE = QParams((INPUT_SCALE / 512,), 0)
"""Of a second input of 16 bits."""
DTYPES = {Form.INT8: DType.INT8, Form.INT16X8: DType.INT16, Form.FLOAT: DType.FLOAT32}
KINDS = {Form.INT8: "", Form.INT16X8: " wide", Form.FLOAT: " float"}
"""What the names of inputs say of their form."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One op with int8 activations, or others.

    Attributes:
        op: its name.
        attrs: its attributes.
        shapes: of its inputs; those of ops with weights are x and w.
        scale: the output's, against an input's of 0.05.
        zero_point: the output's.
        form: of the activations.
        x_scale: the first input's, of int16 256 times as large.

    """

    op: str
    attrs: Any
    shapes: tuple[Shape, ...]
    scale: float = 0.05
    zero_point: int = ZERO_POINT
    form: Form = Form.INT8
    x_scale: float = INPUT_SCALE

    @property
    def dtype(self) -> DType:
        """Of the activations."""
        return DTYPES[self.form]


def int16(layer: Layer) -> Layer:
    """The layer with int16 activations."""
    return replace(layer, form=Form.INT16X8, zero_point=0, scale=layer.scale / 64)


def _curve(op: str) -> Layer:
    """A function of int16 values from -8 to 8, in steps of a power of two: others have no twin."""
    return replace(int16(Layer(op, NoAttrs(), (IMAGE,))), x_scale=2.0**-4)


def _conv(w: Shape, scale: float = 0.2, **attrs: Any) -> Layer:
    return Layer("conv2d", Conv2dAttrs(**attrs), (IMAGE, w), scale)


def _dense(rows: int, c_in: int, c_out: int) -> Layer:
    return Layer("fully_connected", FullyConnectedAttrs(), ((rows, c_in), (c_out, c_in)), 0.2)


def _depthwise(w: Shape, scale: float = 0.2, x: Shape = IMAGE, **attrs: Any) -> Layer:
    return Layer("depthwise_conv2d", DepthwiseConv2dAttrs(**attrs), (x, w), scale)


def _transposed(w: Shape, size: Pair, stride: Pair) -> Layer:
    x = (1, size[0] // stride[0], size[1] // stride[1], w[3])
    return Layer("transpose_conv", TransposeConvAttrs(size, stride), (x, w), 0.2)


def _lstm(steps: int, c_in: int, units: int) -> Layer:
    return Layer(LSTM, LstmAttrs(), lstm_shapes(steps, c_in, units))


def _matrices(a: Shape, b: Shape, **attrs: bool) -> Layer:
    return Layer("batch_matmul", BatchMatmulAttrs(**attrs), (a, b), 4.0)


LAYERS: dict[str, Layer] = {
    "softmax, 10 classes": Layer("softmax", SoftmaxAttrs(), ((1, 10),)),
    "softmax, 64 rows of 64": Layer("softmax", SoftmaxAttrs(), ((64, 64),)),
    "logistic": Layer("logistic", NoAttrs(), (IMAGE,)),
    "add": Layer("add", AddAttrs(), (IMAGE, IMAGE)),
    "add, a value to each channel": Layer("add", AddAttrs(), (IMAGE, (32,))),
    "mul": Layer("mul", MulAttrs(), (IMAGE, IMAGE)),
    "mul, a factor to each channel": Layer("mul", MulAttrs(), (IMAGE, (32,))),
    "maximum": Layer("maximum", NoAttrs(), (IMAGE, IMAGE)),
    "minimum": Layer("minimum", NoAttrs(), (IMAGE, IMAGE)),
    "relu6": Layer("relu6", NoAttrs(), (IMAGE,)),
    "mean over the image": Layer("mean", MeanAttrs((1, 2)), (IMAGE,)),
    "mean over channels": Layer("mean", MeanAttrs((3,)), (IMAGE,)),
    "arg_max, 256 rows of 32": Layer("arg_max", ArgAttrs(3), (IMAGE,)),
    "arg_max, 1024 rows of 5": Layer("arg_max", ArgAttrs(3), ((1, 32, 32, 5),)),
    "arg_max down the columns": Layer("arg_max", ArgAttrs(1), (IMAGE,)),
    "average pool 2 x 2": Layer("average_pool2d", Pool2dAttrs((2, 2), (2, 2)), (IMAGE,)),
    "average pool 3 x 3, stride 1": Layer("average_pool2d", Pool2dAttrs((3, 3)), (IMAGE,)),
    "average pool of the image": Layer("average_pool2d", Pool2dAttrs((16, 16), (16, 16)), (IMAGE,)),
    "max pool 2 x 2": Layer("max_pool2d", Pool2dAttrs((2, 2), (2, 2)), (IMAGE,)),
    "max pool 3 x 3, stride 1": Layer("max_pool2d", Pool2dAttrs((3, 3)), (IMAGE,)),
    "conv 3 x 3": _conv((32, 3, 3, 32)),
    "conv 1 x 1": _conv((32, 1, 1, 32)),
    "conv 1 x 7": _conv((32, 1, 7, 32)),
    "conv 3 x 3, stride 2": _conv((32, 3, 3, 32), stride=(2, 2)),
    "conv 3 x 3, dilation 2": _conv((32, 3, 3, 32), dilation=(2, 2)),
    "conv 3 x 3, 4 groups": _conv((32, 3, 3, 8)),
    "conv 1 x 1, 4 groups": _conv((32, 1, 1, 8)),
    "conv 3 x 3, fine scale": _conv((32, 3, 3, 32), scale=0.0004),
    "depthwise 3 x 3": _depthwise((1, 3, 3, 32)),
    "depthwise 5 x 5": _depthwise((1, 5, 5, 32)),
    "depthwise 3 x 3, stride 2": _depthwise((1, 3, 3, 32), stride=(2, 2)),
    "depthwise 7 x 1": _depthwise((1, 7, 1, 32)),
    "depthwise 1 x 7": _depthwise((1, 1, 7, 32)),
    "depthwise 3 x 3, 3 x 3 pixels": _depthwise((1, 3, 3, 256), x=(1, 3, 3, 256)),
    "depthwise 3 x 3, 6 x 6 pixels": _depthwise((1, 3, 3, 128), x=(1, 6, 6, 128)),
    "depthwise 5 x 5, 6 x 6 pixels": _depthwise((1, 5, 5, 128), x=(1, 6, 6, 128)),
    "depthwise 3 x 3, dilation 2": _depthwise((1, 3, 3, 32), dilation=(2, 2)),
    "depthwise 3 x 3, 2 filters to a channel": _depthwise((1, 3, 3, 64)),
    "depthwise 3 x 3, fine scale": _depthwise((1, 3, 3, 32), scale=0.0004),
    "dense, 1 row": _dense(1, 512, 64),
    "dense, 8 rows": _dense(8, 128, 64),
    "matrix product": _matrices((1, 4, 32, 64), (1, 4, 48, 64), adj_y=True),
    "pad": Layer("pad", PadAttrs(((0, 0), (1, 1), (1, 1), (0, 0))), (IMAGE,)),
    "transpose": Layer("transpose", TransposeAttrs((0, 3, 1, 2)), (IMAGE,)),
    "conv 3 x 3, int16": int16(_conv((32, 3, 3, 32))),
    "conv 1 x 1, int16": int16(_conv((32, 1, 1, 32))),
    "depthwise 3 x 3, int16": int16(_depthwise((1, 3, 3, 32))),
    "dense, 1 row, int16": int16(_dense(1, 512, 64)),
    "add, int16": int16(Layer("add", AddAttrs(), (IMAGE, IMAGE))),
    "mul, int16": int16(Layer("mul", MulAttrs(), (IMAGE, IMAGE), 3.2)),
    "logistic, int16": _curve("logistic"),
    "tanh, int16": _curve("tanh"),
    "softmax, 64 rows of 64, int16": int16(Layer("softmax", SoftmaxAttrs(), ((64, 64),))),
    "average pool 2 x 2, int16": int16(
        Layer("average_pool2d", Pool2dAttrs((2, 2), (2, 2)), (IMAGE,), INPUT_SCALE / 4)
    ),
    "max pool 2 x 2, int16": int16(
        Layer("max_pool2d", Pool2dAttrs((2, 2), (2, 2)), (IMAGE,), INPUT_SCALE / 4)
    ),
    "LSTM, 10 steps, 40 to 64": _lstm(10, 40, 64),
    "LSTM, 10 steps, 40 to 64, int16": int16(_lstm(10, 40, 64)),
    "LSTM, 10 steps, 13 to 18, int16": int16(_lstm(10, 13, 18)),
}

FLOAT_LAYERS: dict[str, Layer] = {
    f"{name}, float": replace(layer, form=Form.FLOAT)
    for name, layer in {
        "conv 3 x 3": _conv((32, 3, 3, 32)),
        "conv 3 x 3, relu6": _conv((32, 3, 3, 32), activation="RELU6"),
        "conv 3 x 3, 30 filters, relu": _conv((30, 3, 3, 32), activation="RELU"),
        "conv 3 x 3, 4 groups": _conv((32, 3, 3, 8)),
        "conv 1 x 1": _conv((32, 1, 1, 32)),
        "depthwise 3 x 3": _depthwise((1, 3, 3, 32)),
        "depthwise 3 x 3, relu6": _depthwise((1, 3, 3, 32), activation="RELU6"),
        "depthwise 3 x 3, stride 2": _depthwise((1, 3, 3, 32), stride=(2, 2)),
        "depthwise 5 x 5, 30 channels": _depthwise((1, 5, 5, 30), x=(1, 8, 8, 30)),
        "depthwise 3 x 3, 8 filters to a channel": _depthwise((1, 3, 3, 32), x=(1, 16, 16, 4)),
        "depthwise 10 x 8, 8 filters to one channel": _depthwise((1, 10, 8, 8), x=(1, 49, 40, 1)),
        "depthwise 3 x 3, 2 filters to a channel": _depthwise((1, 3, 3, 32), x=(1, 16, 16, 16)),
        "depthwise 3 x 3, 3 filters to a channel": _depthwise((1, 3, 3, 48), x=(1, 16, 16, 16)),
        "depthwise 3 x 3, 4 channels": _depthwise((1, 3, 3, 4), x=(1, 16, 16, 4)),
        "depthwise 3 x 3, 3 channels": _depthwise((1, 3, 3, 3), x=(1, 16, 16, 3)),
        "depthwise 3 x 3, 2 channels": _depthwise((1, 3, 3, 2), x=(1, 16, 16, 2)),
        "depthwise 5 x 1, 3 channels of a column": _depthwise((1, 5, 1, 3), x=(1, 128, 1, 3)),
        "transposed conv 2 x 2, stride 2": _transposed((16, 2, 2, 16), (32, 32), (2, 2)),
        "transposed conv 3 x 3": _transposed((16, 3, 3, 16), (16, 16), (1, 1)),
        "transposed conv 3 x 3, stride 2": _transposed((16, 3, 3, 16), (32, 32), (2, 2)),
        "dense, 1 row": _dense(1, 512, 64),
        "dense, 8 rows": _dense(8, 128, 64),
        "matrix product": _matrices((1, 4, 32, 64), (1, 4, 48, 64), adj_y=True),
        "matrix product, columns side by side": _matrices((1, 4, 32, 64), (1, 4, 64, 48)),
        "row times matrix": _matrices((1, 4, 1, 64), (1, 4, 64, 48)),
    }.items()
}
"""Layers on floats, for cores with a unit for these."""


def graph_of(layers: Mapping[str, Layer]) -> tuple[Graph, dict[str, np.ndarray]]:
    """All layers beside one another on the same inputs, and data for these."""
    rng = np.random.default_rng(0)
    values: dict[str, Value] = {}
    nodes, outputs = list[Node](), list[str]()
    for name, layer in layers.items():
        if layer.op == LSTM:
            operands, made = lstm_operands(name, layer.shapes, layer.dtype, rng)
        else:
            operands = _operands(name, layer, rng)
            made = [_output(name, layer, operands)]
        values |= {v.name: v for v in (*operands, *made)}
        own = tuple(v.name for v in made)
        nodes.append(Node(layer.op, name, tuple(v.name for v in operands), own, layer.attrs))
        outputs += own
    inputs = tuple(n for n, v in values.items() if not v.is_constant and n not in outputs)
    graph = verify(Graph("kernels", inputs, tuple(outputs), values, tuple(nodes)))
    return graph, {n: _data(graph.value(n), rng) for n in inputs}


def _output(name: str, layer: Layer, operands: list[Value]) -> Value:
    (kind,) = OPS[layer.op].infer(layer.attrs, [v.type for v in operands])
    return Value(name, kind.dtype, kind.shape, _output_scale(layer))


def _output_scale(layer: Layer) -> QParams | None:
    if layer.form is Form.FLOAT or OPS[layer.op].quant is Quant.INPUTS_ONLY:
        return None
    fixed = OPS[layer.op].forms[layer.form].fixed_output
    scale, zero_point = fixed or (layer.scale, layer.zero_point)
    return QParams((scale,), zero_point)


def _data(value: Value, rng: np.random.Generator) -> np.ndarray:
    if value.dtype is DType.FLOAT32:
        return rng.normal(size=value.shape).astype(np.float32)
    reach = np.iinfo(value.dtype.numpy)
    return rng.integers(reach.min, reach.max, value.shape, value.dtype.numpy, endpoint=True)


def _operands(name: str, layer: Layer, rng: np.random.Generator) -> list[Value]:
    """Inputs that layers with the same shapes share; then weights, or a second input."""
    first, *others = layer.shapes
    if layer.form is Form.FLOAT:
        return _float_operands(name, layer, rng)
    wide = layer.form is Form.INT16X8
    own = QParams((layer.x_scale / 256,), 0) if wide else QParams((layer.x_scale,), ZERO_POINT)
    steps = "" if layer.x_scale == INPUT_SCALE else f" in steps of {own.scale}"
    found = [Value(f"x {list(first)}{KINDS[layer.form]}{steps}", layer.dtype, first, own)]
    for shape in others:
        if OPS[layer.op].quant is Quant.WEIGHTED:
            axis = OPS[layer.op].weight_axis
            one = layer.op == "fully_connected"
            scales = rng.uniform(0.5, 1.0, 1 if one else shape[axis]) * WEIGHT_SCALE
            q = QParams(tuple(float(np.float32(s)) for s in scales), 0, None if one else axis)
            w = rng.integers(-127, 128, shape).astype(np.int8)
            found.append(Value.constant(f"{name}/w", w, q))
        else:
            alike = OPS[layer.op].quant is Quant.SAME_AS_INPUT
            q = own if alike else OTHER_WIDE if wide else QParams((INPUT_SCALE / 2,), -ZERO_POINT)
            kind = f"{'like' if alike else 'other'} {list(shape)}{KINDS[layer.form]}"
            found.append(Value(kind, layer.dtype, shape, q))
    return found


def _float_operands(name: str, layer: Layer, rng: np.random.Generator) -> list[Value]:
    """As ``_operands`` for floats: weights are random, other inputs are shared."""
    first, *others = layer.shapes
    found = [Value(f"x {list(first)} float", layer.dtype, first)]
    for shape in others:
        if OPS[layer.op].quant is Quant.WEIGHTED:
            w = rng.normal(size=shape).astype(np.float32)
            found.append(Value.constant(f"{name}/w", w))
        else:
            found.append(Value(f"other {list(shape)} float", layer.dtype, shape))
    return found


def measure(core: str, layers: Mapping[str, Layer]) -> list[dict[str, object]]:
    """Instructions of every layer, in all and per output and multiply-accumulate."""
    floats = any(layer.form is Form.FLOAT for layer in layers.values())
    at_once = FLOATS_AT_ONCE if floats else len(layers)
    names = list(layers)
    parts = (names[i : i + at_once] for i in range(0, len(names), at_once))
    return [row for part in parts for row in _measure(core, {n: layers[n] for n in part})]


def _measure(core: str, layers: Mapping[str, Layer]) -> list[dict[str, object]]:
    """As ``measure`` in one image."""
    graph, feeds = graph_of(layers)
    with tempfile.TemporaryDirectory() as folder:
        project = export_graph(graph, Path(folder) / "project", core=core)
        data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
        board = find_board(find_core(core))
        costs = profile_ops(project, graph, data, Path(folder), board=board)
    return [
        {
            "core": core,
            "layer": cost.name,
            "instructions": cost.instructions,
            "per": "MAC" if cost.macs else "input" if _reads_more(graph, cost.name) else "output",
            "each": cost.instructions / (cost.macs or _elements(graph, cost.name)),
        }
        for cost in costs
    ]


def _reads_more(graph: Graph, name: str) -> bool:
    node = next(n for n in graph.bound() if n.name == name)
    return node.input(0).size > node.output.size


def _elements(graph: Graph, name: str) -> int:
    node = next(n for n in graph.bound() if n.name == name)
    return max(node.input(0).size, node.output.size)


def markdown(rows: Sequence[Mapping[str, Any]], cores: Sequence[str]) -> str:
    """A line to a layer, a column to a core."""
    lines = [f"| layer | per | {' | '.join(cores)} |", "|---|---|" + "---|" * len(cores)]
    found = {(row["layer"], row["core"]): row for row in rows}
    for name, per in dict.fromkeys((row["layer"], row["per"]) for row in rows):
        figures = (_figure(found[name, core]) for core in cores)
        lines.append(f"| {name} | {per} | {' | '.join(figures)} |")
    return "\n".join(lines)


def _figure(row: Mapping[str, Any]) -> str:
    """What each takes, and the share of CMSIS-NN's where that is known."""
    known = share_of_cmsis_nn(row)
    return f"{row['each']:.2f}" + ("" if known is None else f" ({known:.2f})")


def share_of_cmsis_nn(row: Mapping[str, Any]) -> float | None:
    """Instructions of a layer to those of CMSIS-NN's function; None where it has none."""
    theirs: int | None = cmsis_nn_figures().get(row["core"], {}).get(row["layer"])
    return None if theirs is None else row["instructions"] / theirs


@cache
def cmsis_nn_figures() -> dict[str, dict[str, int]]:
    """What ``benchmarks.cmsis_nn`` has counted."""
    figures: dict[str, dict[str, int]] = json.loads(CMSIS_NN.read_text(encoding="utf-8"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", nargs="+")
    parser.add_argument("--floats", action="store_true", help="layers on floats instead")
    parser.add_argument("--layers", nargs="+", help="those whose names contain one of these")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args()
    wanted = options.layers or [""]
    of_all = FLOAT_LAYERS if options.floats else LAYERS
    layers = {n: layer for n, layer in of_all.items() if any(w in n for w in wanted)}
    cores = emulated_cores(options.cores or (FLOAT_CORES if options.floats else CORES))
    rows = [row for core in cores for row in measure(core, layers)]
    text = markdown(rows, cores)
    print(text)
    options.output.mkdir(parents=True, exist_ok=True)
    for file, found in (("kernels.md", text), ("kernels.json", json.dumps(rows, indent=2))):
        write_atomic(options.output / file, lambda out, t=found: out.write(f"{t}\n".encode()))


if __name__ == "__main__":
    main()
