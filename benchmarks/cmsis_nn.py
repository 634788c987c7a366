"""The layers of ``benchmarks.kernels`` by CMSIS-NN's functions: instructions on emulated cores.

    python -m benchmarks.cmsis_nn FOLDER [--cores m4 m55] [--layers softmax ...]

FOLDER has CMSIS-NN's ``Include`` and ``Source``: https://github.com/ARM-software/CMSIS-NN. Its
functions are compiled with ``-O3``, and take the place of tinyrt's in one exported program. So they
get the same inputs and weights, and are counted in the same way; where an answer differs from
tinyrt's, the tool stops. It writes ``benchmarks/cmsis_nn.json``, which ``benchmarks.kernels`` and a
test compare with. What CMSIS-NN computes once, before any inference, is not counted.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kernels import CMSIS_NN, LAYERS, Layer, graph_of
from benchmarks.mcu import emulated_cores
from benchmarks.recurrent import LSTM, lstm_call
from tinyrt.emulate import build_image, run_image, toolchain
from tinyrt.emulate.boards import find_board
from tinyrt.emulate.profile import profile_ops
from tinyrt.emulate.run import unpack_outputs
from tinyrt.export import ExportedProject, export_graph, find_core
from tinyrt.files import write_atomic
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.requant import multipliers
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.window import Window

OPTIONS = ("-O3", "-std=c99", "-ffunction-sections", "-fdata-sections")
"""What CMSIS-NN is compiled with."""

JOBS = 2
SCRATCH_WORDS, INPUT_WORDS = 1 << 15, 1 << 12
PRELUDE = f"""
#include <string.h>
#include "arm_nnfunctions.h"
static int32_t peer_inputs[3][{INPUT_WORDS}];
static int32_t peer_scratch[{SCRATCH_WORDS}];
static const cmsis_nn_context peer_ctx = {{peer_scratch, sizeof peer_scratch}};
"""
TYPES = {"int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t"}


@dataclass(frozen=True, slots=True)
class Call:
    """One layer by CMSIS-NN.

    Attributes:
        function: its name, without ``arm_``.
        args: what it is called with.
        data: declarations of constants.
        before: statements that are not counted.

    """

    function: str
    args: tuple[str, ...]
    data: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class _Site:
    """A layer's place in the program: its node, pointers to its tensors, its constants' name."""

    node: BoundNode
    x: tuple[str, ...]
    outputs: tuple[str, ...]
    name: str

    @property
    def y(self) -> str:
        return self.outputs[0]

    @property
    def wide(self) -> bool:
        return self.node.input(0).dtype is DType.INT16

    @property
    def suffix(self) -> str:
        return "s16" if self.wide else "s8"

    @property
    def limits(self) -> str:
        """Of outputs: none but the type's."""
        return "{-32768, 32767}" if self.wide else "{-128, 127}"

    def array(self, role: str, values: NDArray[Any]) -> str:
        """The declaration of a constant."""
        numbers = ", ".join(map(str, values.ravel().tolist()))
        kind = TYPES[values.dtype.name]
        return f"static const {kind} {self.name}_{role}[{values.size}] = {{{numbers}}};\n"


def _dims(shape: tuple[int, ...]) -> str:
    full = (1,) * (4 - len(shape)) + tuple(shape)
    return f"&(const cmsis_nn_dims){{{', '.join(map(str, full))}}}"


def _tile(pair: tuple[int, int]) -> str:
    """(height, width) as CMSIS-NN has them."""
    return f"{{{pair[1]}, {pair[0]}}}"


def _zero(value: Value) -> int:
    assert value.q is not None
    return int(value.q.zero_point)


def _scale(value: Value) -> Any:
    assert value.q is not None
    return np.asarray(value.q.scales, np.float64)


def _quant(site: _Site, channels: int) -> tuple[str, str, str]:
    """Mantissas and exponents of a layer with weights: declarations, and pointers to them."""
    x, w, y = site.node.input(0), site.node.input(1), site.node.output
    real = _scale(x) * np.broadcast_to(_scale(w), (channels,)) / _scale(y)
    mult, shift = multipliers(real)
    data = site.array("mult", mult.astype(np.int32)) + site.array("shift", shift.astype(np.int32))
    return data, f"(int32_t *){site.name}_mult", f"(int32_t *){site.name}_shift"


def _weighted(site: _Site, function: str, window: Window, dilation: str, more: str = "") -> Call:
    """A convolution, depthwise or not."""
    x, w, y = site.node.input(0), site.node.input(1), site.node.output
    data, mult, shift = _quant(site, y.shape[-1])
    assert w.data is not None
    data += site.array("w", np.asarray(w.data))
    kind = "cmsis_nn_dw_conv_params" if more else "cmsis_nn_conv_params"
    params = (
        f"&(const {kind}){{{-_zero(x)}, {_zero(y)}, {more}{_tile(window.stride)}, "
        f"{_tile(window.before)}, {dilation}, {site.limits}}}"
    )
    # A layer without a bias gets one of zeros: with groups, CMSIS-NN adds to a pointer to none.
    data += site.array("bias", np.zeros(y.shape[-1], np.int64 if site.wide else np.int32))
    bias = f"{site.name}_bias"
    if site.wide and not more:
        bias = f"&(const cmsis_nn_bias_data){{{bias}, false}}"
    args = (
        *("&peer_ctx", params, f"&(const cmsis_nn_per_channel_quant_params){{{mult}, {shift}}}"),
        *(_dims(x.shape), site.x[0], _dims(w.shape), f"{site.name}_w"),
        *(_dims((y.shape[-1],)), bias, _dims(y.shape), site.y),
    )
    return Call(f"{function}_wrapper_{site.suffix}", args, data)


def _conv(site: _Site) -> Call:
    p = OPS[site.node.op].prepared(site.node)
    return _weighted(site, "convolve", p.window, _tile(p.window.dilation))


def _depthwise(site: _Site) -> Call:
    p = OPS[site.node.op].prepared(site.node)
    filters = site.node.output.shape[-1] // site.node.input(0).shape[-1]
    return _weighted(
        site, "depthwise_conv", p.window, _tile(p.window.dilation), more=f"{filters}, "
    )


def _dense(site: _Site) -> Call:
    x, w, y = site.node.input(0), site.node.input(1), site.node.output
    channels, taps = w.shape
    data, mult, shift = _quant(site, channels)
    assert w.data is not None
    data += site.array("w", np.asarray(w.data))
    rows = x.size // taps
    own = f"{site.name}_ctx"
    data += f"static int32_t {site.name}_sums[{channels}];\n"
    data += f"static const cmsis_nn_context {own} = {{{site.name}_sums, {4 * channels}}};\n"
    params = f"&(const cmsis_nn_fc_params){{{-_zero(x)}, 0, {_zero(y)}, {site.limits}}}"
    before, kind = "", f"cmsis_nn_per_tensor_quant_params){{*{mult}, *{shift}}}"
    if not site.wide:
        kind = f"cmsis_nn_quant_params){{{mult}, {shift}, 0}}"
        sizes = f"{taps}, {channels}, {site.name}_w, {-_zero(x)}, 0, NULL"
        before = f"arm_vector_sum_s8({site.name}_sums, {sizes});"
    args = (
        *(f"&{own}", params, f"&(const {kind}", _dims((rows, 1, 1, taps)), site.x[0]),
        *(_dims((taps, 1, 1, channels)), f"{site.name}_w", _dims((channels,)), "NULL"),
        *(_dims((rows, 1, 1, channels)), site.y),
    )
    name = "fully_connected_s16" if site.wide else "fully_connected_wrapper_s8"
    return Call(name, args, data, before)


def _add(site: _Site) -> Call:
    p = OPS[site.node.op].prepared(site.node)
    numbers = (-p.a_zp, p.a_mult, p.a_shift, -p.b_zp, p.b_mult, p.b_shift, p.left_shift)
    ends = (p.y_zp, p.y_mult, p.y_shift, p.act_min, p.act_max, site.node.output.size)
    args = (*site.x, *map(str, numbers), site.y, *map(str, ends))
    return Call(f"elementwise_add_{site.suffix}", args)


def _mul(site: _Site) -> Call:
    p = OPS[site.node.op].prepared(site.node)
    ends = (p.y_zp, p.mult, p.shift, p.act_min, p.act_max, site.node.output.size)
    args = (*site.x, str(-p.a_zp), str(-p.b_zp), site.y, *map(str, ends))
    return Call(f"elementwise_mul_{site.suffix}", args)


def _extreme(site: _Site) -> Call:
    a, b, y = site.node.input(0), site.node.input(1), site.node.output
    args = ("&peer_ctx", site.x[0], _dims(a.shape), site.x[1], _dims(b.shape), site.y)
    return Call(f"{site.node.op}_s8", (*args, _dims(y.shape)))


def _pool(site: _Site) -> Call:
    window = OPS[site.node.op].prepared(site.node).window
    x, y = site.node.input(0), site.node.output
    params = f"{{{_tile(window.stride)}, {_tile(window.before)}, {site.limits}}}"
    kernel = _dims((1, *window.kernel, 1))
    args = ("&peer_ctx", f"&(const cmsis_nn_pool_params){params}", _dims(x.shape), site.x[0])
    name = "avgpool" if site.node.op == "average_pool2d" else "max_pool"
    return Call(f"{name}_{site.suffix}", (*args, kernel, _dims(y.shape), site.y))


def _softmax(site: _Site) -> Call:
    p = OPS[site.node.op].prepared(site.node)
    row = site.node.output.shape[-1]
    sizes = (site.node.output.size // row, row, p.mult, p.shift)
    if not site.wide:
        return Call("softmax_s8", (site.x[0], *map(str, (*sizes, p.diff_min)), site.y))
    data = site.array("exp", p.exponentials) + site.array("one", p.reciprocals)
    tables = f"&(const cmsis_nn_softmax_lut_s16){{{site.name}_exp, {site.name}_one}}"
    return Call("softmax_s16", (site.x[0], *map(str, sizes), tables, site.y), data)


def _curve(site: _Site) -> Call:
    """A function of int16 values whose scale is a power of two."""
    kind = {"logistic": "ARM_SIGMOID", "tanh": "ARM_TANH"}[site.node.op]
    left = round(np.log2(float(_scale(site.node.input(0))[0]))) + 12
    sizes = map(str, (site.node.output.size, left))
    return Call("nn_activation_s16", (site.x[0], site.y, *sizes, kind))


def _pad(site: _Site) -> Call:
    pads = site.node.attrs.paddings
    before, after = (tuple(pair[i] for pair in pads) for i in (0, 1))
    x = site.node.input(0)
    args = (site.x[0], site.y, str(_zero(x)), _dims(x.shape), _dims(before), _dims(after))
    return Call("pad_s8", args)


def _transpose(site: _Site) -> Call:
    perm = site.node.attrs.perm
    order = f"(const uint32_t[]){{{', '.join(map(str, perm))}}}"
    params = f"&(const cmsis_nn_transpose_params){{{len(perm)}, {order}}}"
    x, y = site.node.input(0).shape, site.node.output.shape
    return Call("transpose_s8", (site.x[0], site.y, _dims(x), _dims(y), params))


def _matmul(site: _Site) -> Call:
    p = OPS[site.node.op].prepared(site.node)
    a, b, y = site.node.input(0), site.node.input(1), site.node.output
    assert p.attrs.adj_y
    fc = f"{{{-p.a_zp}, {-p.b_zp}, {p.y_zp}, {site.limits}}}"
    args = (
        *("&peer_ctx", f"&(const cmsis_nn_bmm_params){{false, true, {fc}}}"),
        f"&(const cmsis_nn_per_tensor_quant_params){{{p.mult}, {p.shift}}}",
        *(_dims(a.shape), site.x[0], _dims(b.shape), site.x[1], _dims(y.shape), site.y),
    )
    return Call("batch_matmul_s8", args)


def _lstm(site: _Site) -> Call:
    return Call(*lstm_call(site.node, site.name, site.x, site.outputs))


CALLS: dict[str, Callable[[_Site], Call]] = {
    **{"conv2d": _conv, "depthwise_conv2d": _depthwise, "fully_connected": _dense},
    **{"add": _add, "mul": _mul, "maximum": _extreme, "minimum": _extreme},
    **{"average_pool2d": _pool, "max_pool2d": _pool, "softmax": _softmax},
    **{"logistic": _curve, "tanh": _curve},
    **{"pad": _pad, "transpose": _transpose, "batch_matmul": _matmul, LSTM: _lstm},
}
"""Op -> how CMSIS-NN is called for it."""


def has_twin(layer: Layer) -> bool:
    """Whether CMSIS-NN has a function for a layer.

    It adds and multiplies tensors of one shape, and has no tables for int8.
    """
    repeats = layer.op in ("add", "mul") and layer.shapes[0] != layer.shapes[1]
    table = layer.op in ("logistic", "tanh") and layer.form is Form.INT8
    return layer.op in CALLS and not repeats and not table


def replace_calls(project: ExportedProject, graph: Graph, objects: list[Path]) -> None:
    """Put CMSIS-NN's functions into the place of the exported program's kernels.

    They read copies of their inputs, over which the program's own kernels may write outputs.
    """
    path = project.directory / f"{project.name}.c"
    text, data = path.read_text(encoding="utf-8"), PRELUDE
    for node in graph.bound():
        inputs = [v for v in node.inputs if v is not None and not v.is_constant]
        kind = TYPES[node.input(0).dtype.numpy.name]
        x = tuple(f"(const {kind} *)peer_inputs[{i}]" for i in range(len(inputs)))
        copies = [
            f"memcpy(peer_inputs[{i}], input_{graph.inputs.index(v.name)}, {v.nbytes});"
            for i, v in enumerate(inputs)
        ]
        outputs = tuple(
            f"({TYPES[v.dtype.numpy.name]} *)output_{graph.outputs.index(v.name)}"
            for v in node.outputs
        )
        made = CALLS[node.op](_Site(node, x, outputs, f"peer_{node.index}"))
        call = "\n".join((*copies, made.before, f"TINYRT_PROFILE_BEGIN({node.index});\n"))
        call += f"(void)arm_{made.function}({', '.join(made.args)});\n"
        call += f"TINYRT_PROFILE_END({node.index});"
        own = rf"TINYRT_PROFILE_BEGIN\({node.index}\);.*?TINYRT_PROFILE_END\({node.index}\);"
        text, found = re.subn(own, lambda _, c=call: c, text, flags=re.DOTALL)
        assert found == 1, node.name
        data += made.data
    at = text.index(f"int {project.name}_invoke(")
    path.write_text(text[:at] + data + text[at:], encoding="utf-8")
    makefile = project.directory / "Makefile"
    rules = makefile.read_text(encoding="utf-8")
    more = f"OBJECTS += {' '.join(map(str, objects))}\n\n$(BUILD)/lib"
    makefile.write_text(rules.replace("$(BUILD)/lib", more, 1), encoding="utf-8")


def compiled(source: Path, core: str, folder: Path) -> list[Path]:
    """CMSIS-NN's integer functions as objects for a core."""
    own = find_core(core)
    files = sorted(f for f in source.glob("Source/*/*.c") if not re.search("_f(16|32)", f.name))

    def compile_one(file: Path) -> Path:
        to = folder / f"{file.stem}.o"
        command = [own.compiler, *own.flags, *OPTIONS, "-I", source / "Include", "-c", file]
        toolchain.run([*command, "-o", to], doing=f"compiling {file.name}")
        return to

    with ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(compile_one, files))


def measure(source: Path, core: str, layers: Mapping[str, Layer]) -> dict[str, int]:
    """Instructions of CMSIS-NN for each layer; its answers are tinyrt's."""
    graph, feeds = graph_of(layers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "objects").mkdir()
        objects = compiled(source, core, folder / "objects")
        project = export_graph(graph, folder / "project", core=core)
        replace_calls(project, graph, objects)
        include = f"-isystem {source / 'Include'}"
        makefile = project.directory / "Makefile"
        rules = makefile.read_text(encoding="utf-8").replace("-std=c99", f"-std=c99 {include}")
        makefile.write_text(re.sub("^WARNINGS .*", "WARNINGS =", rules, flags=re.MULTILINE))
        board = find_board(find_core(core))
        data = b"".join(feeds[port.name].tobytes() for port in project.inputs)
        run = run_image(build_image(project, folder, board=board), data, folder)
        found = unpack_outputs(project.outputs, run.outputs, 1)
        answers = evaluate(graph, feeds)
        differ = [n for n, y in answers.items() if not np.array_equal(found[n].ravel(), y.ravel())]
        if differ:
            raise SystemExit(f"{core}: CMSIS-NN's answers differ: {'; '.join(differ)}")
        costs = profile_ops(project, graph, data, folder, board=board)
    return {cost.name: cost.instructions for cost in costs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="CMSIS-NN's folder")
    parser.add_argument("--cores", nargs="+", default=["m4", "m55"])
    parser.add_argument("--layers", nargs="+", help="those whose names contain one of these")
    options = parser.parse_args()
    wanted = options.layers or [""]
    layers = {n: x for n, x in LAYERS.items() if has_twin(x) and any(w in n for w in wanted)}
    figures = json.loads(CMSIS_NN.read_text()) if CMSIS_NN.exists() else {}
    for core in emulated_cores(options.cores):
        found = figures.get(core, {}) | measure(options.source, core, layers)
        figures[core] = {n: found[n] for n in LAYERS if n in found}
    write_atomic(CMSIS_NN, lambda out: out.write(json.dumps(figures, indent=1).encode() + b"\n"))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
