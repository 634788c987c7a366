"""What packers, formulas and cuts say of calls and layers that few models have."""

import numpy as np
import pytest

from tests.backends.c.test_choice import _plain, conv, dense, depthwise
from tests.backends.c.test_computed_weights import computed
from tests.backends.c.test_parts_pixels import window
from tests.backends.c.test_relu import layer_of
from tests.memory.random_plans import random_program
from tests.ops.build import build_s8
from tests.ops.quantised import f32, node_of, s8
from tinyrt.backends.c.blocks import relu
from tinyrt.backends.c.blocks.depthwise import filters_of, slides_down
from tinyrt.backends.c.blocks.more import more_of
from tinyrt.backends.c.blocks.summed import MAX_TAPS
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Data, Place, Target
from tinyrt.backends.c.parts.cost import _run_of_groups
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.parts.windows import run_of_groups
from tinyrt.backends.c.rejoined import _has_kernel
from tinyrt.ir import DType, QParams, Value
from tinyrt.memory.placing import problem
from tinyrt.ops import prepared
from tinyrt.ops.fully_connected import FullyConnectedAttrs, FullyConnectedS8
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionS8

DSP, SCALAR, MVE = InstructionSet.DSP, InstructionSet.SCALAR, InstructionSet.MVE


def layer_of_node(node):
    p = prepared(node, ConvolutionS8)
    return p.window, p.x_zp, p.requant


def built(case):
    return _plain(build_s8(case, np.random.default_rng(0)).graph)


@pytest.mark.parametrize("at", [1, 2])
def test_what_the_model_computes_is_not_packed(at):
    graph = built(depthwise(4, 3))
    window, x_zp, requant = layer_of_node(graph.bind(0))
    assert filters_of(graph.bind(0), window, x_zp, requant, SCALAR) is not None
    assert filters_of(computed(graph, at).bind(0), window, x_zp, requant, SCALAR) is None
    graph = built(conv((1, 5, 5, 4), (4, 3, 3, 4)))
    _, x_zp, requant = layer_of_node(graph.bind(0))
    assert more_of(computed(graph, at).bind(0), x_zp, requant, Target(DSP)) is None


@pytest.mark.parametrize("isa", InstructionSet)
def test_filters_are_packed_for_kernels_without_vectors_alone(isa):
    node = built(depthwise(4, 3)).bind(0)
    packed = filters_of(node, *layer_of_node(node), isa)
    assert (packed is not None) is (isa in (SCALAR, DSP))


@pytest.mark.parametrize("taps", [MAX_TAPS - 4, MAX_TAPS])
def test_places_of_taps_have_16_bits(taps):
    """One tap does not fit beside its neighbour, and is read again."""
    w = np.zeros((4, taps), np.int8)
    w[:, 5] = -128
    layer = Value("b", DType.INT8, w.shape, QParams((0.5,)), w)
    attrs, x = FullyConnectedAttrs(), s8(1, taps, scale=0.01)
    node = node_of("fully_connected", attrs, [x, layer], [s8(1, 4, scale=2.0)])
    requant = prepared(node, FullyConnectedS8).requant
    for isa in (DSP, SCALAR):
        more = more_of(node, 0, requant, Target(isa))
        assert (more is None) is (taps == MAX_TAPS)
        assert more is None or {more.block.isa, more.tiles.isa} == {isa}


def test_layers_whose_channels_share_no_addend_keep_the_sign(monkeypatch):
    layer, _ = layer_of([[1, 2]], [0], [9], [1 << 30])
    assert relu.relu_scales(layer, -128, -128) is not None
    monkeypatch.setattr(relu, "shared", lambda own, expected: None)
    assert relu.relu_scales(layer, -128, -128) is None


def test_pixels_that_fill_rows_are_rows():
    rows = cut_of(window(1, 4, 2, kernel="window_four_s8"), SCALAR, True).part(0, 1)
    assert (rows.function, params_of(rows)["y"]["h"]) == ("tinyrt_window_four_s8", 2)


def test_a_row_of_channels_on_vectors_is_cut_by_eights():
    def row(c_out):
        (one,) = choose(built(dense(1, 16, c_out)).bind(0), Target(MVE)).calls
        assert one.function == "tinyrt_fully_connected_row_s8"
        return one

    assert cut_of(row(8), MVE, True) is None
    cut = cut_of(row(20), MVE, True)
    last = cut.part(2, 3)
    own = params_of(last)
    assert (cut.units, own["product"]["c_out"], own["step"]) == (3, 4, 1)
    assert [own[name].skip for name in ("mult", "shift")] == [16, 16]
    skips = [arg.skip for arg in last.args if isinstance(arg, Data | Place)]
    assert skips == [0, 16 * 16, 16, 16]


def test_several_filters_to_one_channel_are_rather_a_convolution():
    assert _has_kernel(built(depthwise(4, 3)).bind(0), Target(DSP))
    assert not _has_kernel(built(depthwise(1, 5, filters=8)).bind(0), Target(DSP))


def test_gaps_of_too_many_pairs_are_not_found(monkeypatch):
    program = random_program(3)
    assert any(program.problem().gaps)
    monkeypatch.setattr(problem, "MAX_PAIRS", 0)
    crowded = program.problem()
    assert crowded.crowded
    assert not any(crowded.gaps)


@pytest.mark.parametrize(("stop", "groups"), [(2, 1), (3, 2)])
def test_pixels_of_several_rows_cost_what_groups_anywhere_do(stop, groups):
    cut = cut_of(window(1, 3, 5, kernel="window_four_s8"), SCALAR, True)
    some = cut.part(1, stop)
    assert _run_of_groups(some) == run_of_groups(params_of(some), groups)


@pytest.mark.parametrize(
    ("size", "stride", "down"),
    [((9, 8), (1, 1), True), ((8, 9), (1, 1), False), ((9, 8), (1, 2), False)],
)
def test_windows_slide_down_longer_columns_where_outputs_lie_as_inputs_do(size, stride, down):
    window = Window.of(size, (3, 3), stride, "SAME", (1, 1))
    assert slides_down(window, (1, *size, 4)) is down


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("make", [f32, s8])
def test_rows_between_which_an_output_lies_are_read_in_its_step(make, align):
    """Positions are multiples of a float32, or of one of 1/1024: some lie a row apart."""
    rows, out = 701, 1000
    attrs = ResizeAttrs((out, 1), align_corners=align)
    node = node_of("resize_bilinear", attrs, [make(1, rows, 1, 1)], [make(1, out, 1, 1)])
    step = (rows - align) / (out - align)
    if make is s8:
        step = int(step * 1024 + 0.5) / 1024
    positions = np.arange(out) * np.float32(step)
    size = node.output.dtype.itemsize
    for found in choose(node, Target(SCALAR)).sweep():
        (read,), (first, stop) = found.reads, (at // size for at in found.writes)
        assert read[0] <= size * min(rows - 1, int(positions[first]))
        assert read[1] >= size * min(rows, int(np.ceil(positions[stop - 1])) + 1)
