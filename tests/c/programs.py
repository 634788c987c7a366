"""Programs that between them come to every kernel: corner cases, and a few random ones of each
kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from tests.c.computed import LAYERS, computed
from tests.c.conformance import C_OPS, F32_OPS, INT16_OPS, graph_of
from tests.c.fours import BUILDS, FOURS
from tests.c.nines import LAYERS as NINES
from tests.c.packed_cases import (
    INT4_CASES,
    PACKED_CASES,
    RELU_CASES,
    SPARSE_CASES,
    depthwise_pairs,
    int4_weights,
    narrow_lstm,
    relu_outputs,
    sparse_odd_row,
    sparse_weights,
    sparse_window_rows,
    window_rows,
)
from tests.c.tiles import TILES
from tests.ops.build import Built, Case, Rng, build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tests.ops.corners import FAMILIES, integer_corners
from tests.ops.corners.recurrent import recurrent
from tinyrt.ir import Graph

LSTM = "unidirectional_sequence_lstm"

Feeds = dict[str, np.ndarray]
Build = Callable[[Case, Rng], Built]


def one_graph(made: Mapping[str, Built]) -> tuple[Graph, Feeds]:
    """Graphs of one op as one graph, whose outputs are ``<name>/0/out``, ``out1``, ..."""
    return graph_of({name: partial(_first, built) for name, built in made.items()}, (0,), _first)


def _first(built: Built, _: Rng) -> Built:
    return built


def drawn(
    kind: str, cases: Mapping[str, Callable[[Rng], Case]], seeds: Iterable[int], build: Build
) -> dict[str, Built]:
    """Random cases: name -> graph of one op."""
    made = {}
    for (name, case), seed in ((item, seed) for item in cases.items() for seed in seeds):
        rng = rng_of(name, seed)
        made[f"{kind} {name} {seed}"] = build(case(rng), rng)
    return made


def of_fours() -> dict[str, Built]:
    """Layers that cores without dual multiplies compute four pixels at a time."""
    kinds = enumerate(BUILDS.items())
    parts = (drawn(kind, FOURS, range(8 * i, 8 * i + 8), build) for i, (kind, build) in kinds)
    return {name: built for part in parts for name, built in part.items()}


def of_integers() -> dict[str, Built]:
    """Corner cases of integers, and random layers of kinds that these lack."""
    rows = {"rows": window_rows}
    return {
        **integer_corners(),
        **recurrent(),
        **drawn("int8", {op: CASES[op] for op in C_OPS}, range(3), build_s8),
        **drawn("clipped", {LSTM: CASES[LSTM]}, range(3, 10), build_s8),
        **drawn("int16", {op: CASES[op] for op in INT16_OPS}, range(3), build_s16),
        **drawn("packed", PACKED_CASES, range(4), build_s8),
        **drawn("int4", INT4_CASES, range(4), int4_weights),
        **drawn("int4", {LSTM: CASES[LSTM]}, range(4), narrow_lstm),
        **drawn("sparse", SPARSE_CASES, range(12), sparse_weights),
        **drawn("odd", {"row": sparse_odd_row}, range(4), sparse_weights),
        **drawn("s8", rows, range(8), build_s8),
        **drawn("s4", rows, range(8), int4_weights),
        **drawn("sparse", {"rows": sparse_window_rows}, range(8), sparse_weights),
        **with_computed("int8", build_s8),
        **with_computed("int16", build_s16),
    }


def with_computed(kind: str, build: Build) -> dict[str, Built]:
    """Layers whose weights or biases the model computes."""
    cases = {op: CASES[op] for op in LAYERS}
    return drawn(f"computed {kind}", cases, range(6), partial(computed, build))


def of_vectors() -> dict[str, Built]:
    """Layers and sums, for cores whose vectors take these."""
    ops = ("add", "average_pool2d", "conv2d", "depthwise_conv2d", "fully_connected", "sub")
    corners = {n: b for n, b in integer_corners().items() if n.split(":")[0] in ops}
    few = {n: b for n, b in corners.items() if "int16" not in n}
    return few | drawn("int8", {op: CASES[op] for op in ops}, range(10), build_s8)


def of_floats() -> dict[str, Built]:
    """Corner cases of floats, and a few random ones of each op."""
    some = drawn("float", {op: CASES[op] for op in F32_OPS}, range(3), build_f32)
    clipped = drawn("clipped", {LSTM: CASES[LSTM]}, range(3, 10), build_f32)
    return {**FAMILIES["floats"](), **some, **clipped, **with_computed("float", build_f32)}


def of_zeros() -> dict[str, Built]:
    """Layers with zeros, for code that is made for size."""
    return drawn("sparse", SPARSE_CASES, range(30), sparse_weights)


def of_unsigned() -> dict[str, Built]:
    """Layers whose outputs need no sign."""
    pairs = drawn("pairs", {"depthwise": depthwise_pairs}, range(24), relu_outputs)
    return pairs | drawn("unsigned", RELU_CASES, range(8), relu_outputs)


def of_tiles() -> dict[str, Built]:
    """Convolutions by tiles, once ``by_tiles`` lets them all be."""
    return drawn("tiles", TILES, range(8), build_s8)


def of_nines() -> dict[str, Built]:
    """Windows of nine bytes a row, and what else has loops of its own with dual multiplies."""
    return drawn("nines", NINES, range(40), relu_outputs)
