"""Why a kernel was chosen, in words."""

import re
from pathlib import Path

import pytest

from tests.graphs import Builder, small_cnn
from tests.report.made import samples
from tinyrt.backends.c.choice import find
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Kernel, Target, call
from tinyrt.backends.c.reasons import PACKED, SETS, reason
from tinyrt.backends.c.weights import Cost, Stored, Weights
from tinyrt.quantize import QuantConfig, quantize_graph

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def node():
    graph = quantize_graph(small_cnn(), samples(32), QuantConfig())
    return graph.bind(0)


def kernel(name, stored=None):
    return Kernel(lambda: (call(name),), stored=stored)


NAMES = [
    ("tinyrt_window_block_s8", "its window is copied into a column"),
    ("tinyrt_dense_row_s4", "packed for four outputs at once"),
    ("tinyrt_dense_sparse_s8", "one tap for each pixel"),
    ("tinyrt_depthwise3x3_s8", "three by three taps with stride 1 or 2"),
    ("tinyrt_depthwise3x3_wide_s8", "weights beyond int8, in 16 bits"),
    ("tinyrt_window_more_relu_s8", "some taps are read twice, or summed, then four channels"),
    ("tinyrt_window_four_more_raised_s8", "read twice, or summed, then two channels"),
    ("tinyrt_group_more_s8", "a sum stands behind a group's taps"),
    ("tinyrt_group_block_long_s8", "can reach 2^23"),
    ("tinyrt_reshape", "nothing is computed"),
    ("tinyrt_conv2d_plain_s8", "what computes conv2d on int8 tensors with DSP instructions"),
]


@pytest.mark.parametrize(("name", "text"), NAMES)
def test_a_kernel_has_its_reason(name, text, node):
    assert text in reason(node, kernel(name), InstructionSet.DSP)


def test_other_kernels_are_said_to_be_those_of_their_op_and_form():
    b = Builder((1, 4))
    node = b.graph(b.op("tanh", ("x",))).bind(0)
    found = reason(node, kernel("tinyrt_map_f32"), InstructionSet.SCALAR)
    assert found == "what computes tanh on float tensors with plain C"


def test_the_form_of_weights_is_said_with_what_each_costs(node):
    forms = {Weights.DENSE: Cost(1234.4, 500), Weights.BLOCKS: Cost(900, 4000)}
    forms |= {Weights.TWO_OF_4: Cost(800, 60)}
    stored = Stored(Weights.BLOCKS, forms)
    found = reason(node, kernel("tinyrt_dense_sparse_s8", stored), InstructionSet.DSP)
    assert found.endswith(
        "; weights are stored blocks, of dense 1,234 instructions and 500 bytes, "
        "blocks 900 instructions and 4,000 bytes, 2:4 800 instructions and 60 bytes"
    )


def test_every_instruction_set_has_a_name():
    assert set(SETS) == set(InstructionSet)


def test_every_reason_is_of_a_kernel_that_is_there():
    sources = {path.stem for path in (ROOT / "tinyrt" / "kernels_c").rglob("tinyrt_*.c")}
    for name in PACKED:
        ends = ("", "_s8", "_s4", "_s16", "_f32")
        assert any(f"tinyrt_{name}{end}" in sources for end in ends) or name == "reshape", name


def test_kernels_that_fit_some_layers_alone_have_a_reason():
    """All that the documentation's first table names for int8, but for sets of instructions."""
    text = (ROOT / "docs" / "kernels.md").read_text()
    table = text.partition("| layer, on scalar and DSP cores |")[2].partition("\n\n")[0]
    named = {
        n.removeprefix("tinyrt_").removesuffix("_s8") for n in re.findall(r"`(tinyrt_\w+)`", table)
    }
    assert {n for n in PACKED if n not in ("move", "reshape")} <= named


@pytest.mark.parametrize("isa", [InstructionSet.SCALAR, InstructionSet.DSP, InstructionSet.MVE])
def test_every_op_of_a_model_has_a_reason(isa):
    graph = quantize_graph(small_cnn(), samples(32), QuantConfig())
    for node in graph.bound():
        assert len(reason(node, find(node, Target(isa)), isa)) > 10
