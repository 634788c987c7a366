"""Weights without blocks of zeros as vectors read them, put together again; which are stored so."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.export.models import layer_of
from tests.ops.build import Case, build_s8
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Target
from tinyrt.backends.c.mve.cost import CALL, kept_cost
from tinyrt.backends.c.mve.packing import pack_filters
from tinyrt.backends.c.mve.zeros import most_words, starts_of_quads, without_zeros
from tinyrt.backends.c.parts.cost import instructions_of
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.weights import Weights
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import ExportOptions, export_c, make_blob
from tinyrt.ir import DType
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs

MVE = InstructionSet.MVE


def with_zeros(words, quads, blocks):
    """The dense blocks again, as the kernels walk; and where each four filters begin."""
    dense, starts, at = np.zeros((quads, blocks, 64), np.int8), [], 0
    for quad in range(quads):
        starts.append(at)
        more, place, last = words[at : at + 3]
        first, at = place, at + 3
        for left in range(more, -1, -1):
            if left == 0:
                assert place == last
                assert words[at] == first
            dense[quad, place // 16] = words[at + 1 : at + 17].astype("<i4").view(np.int8)
            place += words[at]
            at += 17
    return dense, [*starts, at]


@given(
    quads=st.integers(1, 4),
    blocks=st.integers(1, 9),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_words_give_the_dense_blocks(quads, blocks, share, seed):
    rng = np.random.default_rng(seed)
    kept = np.kron(rng.random((quads, blocks)) < share, np.ones((4, 16), bool))
    w = (rng.integers(-127, 128, (4 * quads, 16 * blocks)) * kept).astype(np.int8)
    words = without_zeros(w)
    assert words.dtype == np.int32
    dense, starts = with_zeros(words, quads, blocks)
    np.testing.assert_array_equal(dense.reshape(quads, blocks, 4, 16), pack_filters(w))
    assert starts == starts_of_quads(words)
    assert starts[-1] == len(words) <= most_words(w.shape)
    if share == 1:
        assert len(words) == most_words(w.shape)


def node_of(case, keep=(), dtype=DType.INT8):
    """The layer, of whose weights only these blocks (four channels, 16 taps) are not zero."""
    graph = build_s8(case, np.random.default_rng(2), weights=dtype).graph
    w = graph.value("in1")
    data = np.asarray(w.data).reshape(w.shape[0], -1).copy()
    kept = np.zeros((-(-w.shape[0] // 4), -(-data.shape[1] // 16)), bool)
    for place in keep:
        kept[place] = True
    data *= np.kron(kept, np.ones((4, 16), bool))[: w.shape[0], : data.shape[1]]
    values = {**graph.values, "in1": replace(w, data=data.reshape(w.shape))}
    return replace(graph, values=values).bind(0)


def dense(rows=1, c_in=64, c_out=16):
    shapes = ((rows, c_in), (c_out, c_in), (c_out,))
    return Case("fully_connected", FullyConnectedAttrs(), shapes, frozenset({1, 2}))


def windows(c_in=16, c_out=8):
    shapes = ((1, 6, 8, c_in), (c_out, 3, 3, c_in), (c_out,))
    return Case("conv2d", Conv2dAttrs(), shapes, frozenset({1, 2}))


KEEP = [(0, 1), (0, 3), (1, 0)]


@pytest.mark.parametrize(
    ("case", "function"),
    [
        (dense(c_in=256), "tinyrt_fully_connected_sparse_s8"),
        (dense(rows=5, c_in=256), "tinyrt_fully_connected_sparse_s8"),
        (windows(c_in=32, c_out=16), "tinyrt_conv2d_sparse_s8"),
    ],
)
def test_layers_of_many_zeros_are_stored_without(case, function):
    kernel = choose(node_of(case, KEEP), Target(MVE))
    assert kernel.stored.form is Weights.BLOCKS
    assert kernel.name == function
    assert kernel.cost() == kernel.stored.forms[Weights.BLOCKS].instructions


@pytest.mark.parametrize("case", [dense(), dense(rows=5), windows()])
def test_layers_of_few_zeros_are_not(case):
    full = [(i, j) for i in range(case.shapes[1][0] // 4) for j in range(9)]
    node = node_of(case, [place for place in full if place[1] * 16 < np.prod(case.shapes[1][1:])])
    kernel = choose(node, Target(MVE))
    assert kernel.stored.form is Weights.DENSE
    assert "sparse" not in kernel.name


def in_groups():
    shapes = ((1, 6, 8, 64), (16, 3, 3, 32), (16,))
    return Case("conv2d", Conv2dAttrs(), shapes, frozenset({1, 2}))


@pytest.mark.parametrize(
    "case", [dense(c_in=72), dense(c_out=18), windows(c_in=12), windows(c_out=6), in_groups()]
)
def test_layers_in_groups_or_without_whole_blocks_are_stored_dense(case):
    kernel = choose(node_of(case), Target(MVE))
    assert kernel.stored is None
    assert "sparse" not in kernel.name


def test_weights_of_four_bits_are_stored_dense():
    assert choose(node_of(dense(), dtype=DType.INT4), Target(MVE)).stored is None


def test_what_is_left_out_costs_as_the_loops_go():
    """Pairs of four channels: the first block, a chain of eight, and turns of four before it."""
    counts = np.array([1, 10, 13])
    pairs = 3 * 30 + 17 * 24 + 4 * (1 + 1)
    alone = 50 + 3 * 22 + 23 * 24 // 2
    assert kept_cost(5, counts, 1) == 30 + 30 + 3 * 46 + 2 * pairs + alone
    assert kept_cost(1, counts, 0) == 30 + alone
    assert kept_cost(4, counts, 2) == 30 + 4 * alone


def test_a_row_goes_by_four_channels():
    node = node_of(dense(c_in=256), KEEP)
    kernel = choose(node, Target(MVE))
    (call,) = kernel.calls
    cut = cut_of(call, MVE, overlaps=False)
    assert cut.units == 4
    part = cut.part(1, 3)
    assert params_of(part)["product"]["c_out"] == 8
    words = [arg for arg in part.args if getattr(arg, "role", "") == "w"]
    assert words[0].skip == 3 + 2 * 17
    scales = [arg for arg in part.args if getattr(arg, "role", "") == "scales"]
    assert scales[0].skip == 9
    again = cut_of(part, MVE, overlaps=False)
    assert again.units == 2
    assert [a.skip for a in again.part(1, 2).args if isinstance(a, Data)] == [3 + 2 * 17 + 20, 18]
    assert kernel.cost() > CALL
    # Each part has its own blocks: of the last channels, one of zeros.
    each = [instructions_of(cut.part(i, i + 1), node, kernel, MVE) for i in range(4)]
    counts, rounds = [2, 1, 1, 1], params_of(call)["product"]["rounding"]
    assert each == [CALL + kept_cost(1, np.array([count]), rounds) for count in counts]
    (rows,) = choose(node_of(dense(rows=2, c_in=256), KEEP), Target(MVE)).calls
    assert cut_of(rows, MVE, overlaps=False) is None


def test_later_weights_fit_code_that_leaves_out_zeros(tmp_path):
    rng = np.random.default_rng(4)
    full = rng.integers(1, 20, (16, 256), np.int8)
    few = full * np.kron(rng.random((4, 16)) < 0.2, np.ones((4, 16), bool))
    for name, w in (("few", few), ("full", full)):
        save_tflite(layer_of(w.astype(np.int8)), tmp_path / f"{name}.tflite")
    options = ExportOptions(name="mo", blob=True)
    project = export_c(tmp_path / "few.tflite", tmp_path / "mo", core="cortex-m55", options=options)
    assert "tinyrt_fully_connected_sparse_s8" in project.kernels
    sizes = []
    for name in ("few", "full"):
        make_blob(tmp_path / f"{name}.tflite", tmp_path / "mo", tmp_path / f"{name}.blob")
        sizes.append((tmp_path / f"{name}.blob").stat().st_size)
    assert sizes[0] == sizes[1]
