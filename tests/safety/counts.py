"""How far the instructions of ops depend on their data: every op of a graph, over many inputs.

Counts are the emulator's, exact to the instruction. All inputs of a graph change at once: random
values, the least and the most only, all alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from tests.c.conformance import C_OPS, F32_OPS, INT16_OPS
from tests.c.packed_cases import (
    INT4_CASES,
    PACKED_CASES,
    SPARSE_CASES,
    int4_weights,
    sparse_weights,
)
from tests.c.programs import drawn
from tests.ops.build import Built, build_f32, build_s8, build_s16
from tests.ops.cases import CASES
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import build_image
from tinyrt.emulate.profile import op_instructions
from tinyrt.emulate.qemu import boot
from tinyrt.export import export_graph
from tinyrt.ir import Graph

Feeds = dict[str, np.ndarray]

BRANCHES = 12
"""Most instructions by which branches may differ that a single value takes where it is compared,
rounded or clamped."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """An op whose loops depend on data.

    Attributes:
        op: its name.
        on: what decides how many instructions it takes.
        limit: most instructions to a value of its larger tensor by which they may differ.
    cores: those on which they do; all, if it is empty.

    """

    op: str
    on: str
    limit: int
    cores: tuple[str, ...] = ()


DEPENDENT = (
    Dependence(
        "average_pool2d",
        "division by the compiler's own function, where the core has no instruction for it",
        60,
        ("cortex-m0",),
    ),
    Dependence(
        "dequantize",
        "floats by the compiler's own functions, where the core has no floating-point unit",
        100,
        ("cortex-m0", "rv32imc"),
    ),
    Dependence("div", "how often the divisor is shifted until it has its highest bit", 200),
    Dependence(
        "l2_normalization",
        "how often a line's sum of squares is shifted until it has its highest bits",
        350,
    ),
    Dependence("rsqrt", "how often the value is shifted until it has its highest bits", 1500),
    Dependence("signal_fft_auto_scale", "how often the largest sample can be doubled", 80),
    Dependence(
        "signal_filter_bank_log",
        "energies of 0 and 1 are answered at once; how often others are shifted, on cores that do "
        "not count leading zeros",
        200,
        ("cortex-m0", "cortex-m4", "rv32imc"),
    ),
    Dependence(
        "signal_filter_bank_square_root",
        "energies of 0 are answered at once; how often others are shifted, and whether they have "
        "more than 32 bits",
        700,
    ),
    Dependence(
        "signal_pcan",
        "gains of noise up to 2 are looked up at once; how often other noise is shifted, on cores "
        "that do not count leading zeros",
        120,
        ("cortex-m0", "cortex-m4", "rv32imc"),
    ),
    Dependence(
        "softmax",
        "values so far below the largest one that they add nothing are left out, and how often a "
        "line's sum is shifted",
        700,
    ),
)
"""What is more than a branch or two to a value, by op."""


@dataclass(frozen=True, slots=True)
class Range:
    """What an op took over all inputs.

    Attributes:
        op: its kind.
        name: its name in the graph.
        least: fewest instructions.
        most: most instructions.
        values: elements of its largest tensor that is not constant.

    """

    op: str
    name: str
    least: int
    most: int
    values: int

    @property
    def spread(self) -> float:
        """Instructions to a value by which inputs differ."""
        return (self.most - self.least) / self.values


def limit_of(op: str, core: str) -> int:
    """Most instructions to a value by which an op's count may depend on data."""
    loops = {each.op: each.limit for each in DEPENDENT if not each.cores or core in each.cores}
    return loops.get(op, BRANCHES)


def int8_ops(seeds: range) -> dict[str, Built]:
    """Every op on int8."""
    return drawn("int8", {op: CASES[op] for op in C_OPS}, seeds, build_s8)


def int16_ops(seeds: range) -> dict[str, Built]:
    """Every op on int16."""
    return drawn("int16", {op: CASES[op] for op in INT16_OPS}, seeds, build_s16)


def packed_layers(seeds: range) -> dict[str, Built]:
    """Layers of packed, int4 and sparse weights."""
    return {
        **drawn("packed", PACKED_CASES, seeds, build_s8),
        **drawn("int4", INT4_CASES, seeds, int4_weights),
        **drawn("sparse", SPARSE_CASES, seeds, sparse_weights),
    }


def audio_ops(seeds: range) -> dict[str, Built]:
    """Ops of audio front ends."""
    ops = [op for op in F32_OPS if op.startswith("signal_")]
    return drawn("audio", {op: CASES[op] for op in ops}, seeds, build_f32)


KINDS = {"int8": int8_ops, "int16": int16_ops, "packed": packed_layers, "audio": audio_ops}


def other_inputs(feeds: Feeds, number: int) -> Iterator[Feeds]:
    """These inputs, those of one value, of the extremes in turn, and random ones."""
    yield feeds
    for value in (np.min, np.max, lambda kinds: 0):
        yield {name: _map(array, partial(_all, value)) for name, array in feeds.items()}
    yield {name: _map(array, _in_turn) for name, array in feeds.items()}
    rng = np.random.default_rng(0)
    for _ in range(number):
        yield {name: _map(array, partial(_drawn, rng)) for name, array in feeds.items()}


def _map(array: np.ndarray, make) -> np.ndarray:
    """Other values of tensors that are quantised, or energies; indices and the like stay."""
    if array.dtype not in (np.int8, np.int16, np.uint32, np.uint64):
        return array
    kinds = np.array([np.iinfo(array.dtype).min, np.iinfo(array.dtype).max], array.dtype)
    return make(kinds, array.shape).astype(array.dtype)


def _all(value, kinds, shape):
    return np.full(shape, value(kinds))


def _in_turn(kinds, shape):
    return np.resize(kinds, shape)


def _drawn(rng, kinds, shape):
    return rng.integers(kinds[0], kinds[1], shape, kinds.dtype, endpoint=True)


def ranges(graph: Graph, feeds: Feeds, core: str, folder: Path, number: int) -> list[Range]:
    """Of every op, over these inputs and ``number`` random ones."""
    runs = _runs(graph, feeds, core, folder, number)
    found = []
    for node in graph.bound():
        counts = [run.get(node.index, 0) for run in runs]
        tensors = [v for v in (*node.inputs, *node.outputs) if v is not None and not v.is_constant]
        values = max(tensor.size for tensor in tensors)
        found.append(Range(node.op, node.name, min(counts), max(counts), values))
    return found


def _runs(graph: Graph, feeds: Feeds, core: str, folder: Path, number: int) -> list[dict[int, int]]:
    """Of each input: the op's index -> its instructions."""
    project = export_graph(graph, folder / "project", core=core)
    image = build_image(project, folder, profile=True)
    runs = []
    for inputs in other_inputs(feeds, number):
        data = b"".join(inputs[port.name].tobytes() for port in project.inputs)
        runs.append(op_instructions(boot(image, data, image.path.parent)))
    return runs


def model_counts(zoo: Path, model: str, core: str, folder: Path, number: int) -> list[int]:
    """Instructions of all ops of a model, for each input; the first one is of the golden ones."""
    graph = read_tflite(zoo / "models" / f"{model}_int8.tflite")
    (x,) = graph.input_values
    golden = np.load(zoo / "golden" / f"{model}_int8.npz")["inputs"][:1]
    runs = _runs(graph, {x.name: golden.reshape(x.shape)}, core, folder, number)
    return [sum(run.values()) for run in runs]


def beyond(found: list[Range], core: str) -> list[Range]:
    """Ops whose counts depend on data more than is said of them."""
    return [each for each in found if each.spread > limit_of(each.op, core)]
