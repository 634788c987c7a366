"""Why a node has the C kernel that it has, in words: the rules of ``choice``, said for people."""

from __future__ import annotations

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Kernel
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.spec import form_of

PACKED = {
    "dense_row": "one row of inputs: the weights are packed for four outputs at once",
    "dense": "one tap for each pixel, or a dense layer: four channels of two pixels at once",
    "window_block": "a convolution without groups or dilation: its window is copied into a column, "
    "then four channels of two pixels at once",
    "dense_four": "one tap for each pixel, or a dense layer, on a core without dual multiplies: "
    "two channels of four pixels at once, by three products",
    "window_four": "a convolution without groups or dilation, on a core without dual multiplies: "
    "two channels of four pixels at once, by three products",
    "winograd": "three by three taps with stride 1 on a large map: tiles of four outputs, which "
    "take fewer products",
    "group_block": "a convolution with groups or dilation: four channels at once within a group",
    "group_block_long": "its sums can reach 2^23: they are taken apart",
    "depthwise3x3": "three by three taps with stride 1 or 2: its lines slide over the rows",
    "depthwise3x3_wide": "three by three taps with weights beyond int8, in 16 bits: lines slide "
    "over the rows",
    "dense_more": "weights beyond int8, or -128 above a negative one: some elements are read "
    "twice, then four channels of two pixels at once",
    "window_more": "weights beyond int8, or -128 above a negative one: some taps are read twice, "
    "or summed, then four channels of two pixels at once",
    "window_four_more": "weights beyond int8, or -128 above a negative one: some taps are read "
    "twice, or summed, then two channels of four pixels at once, by three products",
    "group_more": "a convolution with groups or dilation, and weights beyond int8: a sum stands "
    "behind a group's taps, then four channels at once",
    "depthwise3x3_signed": "three by three taps with stride 1: two lines at once, with any sign",
    "depthwise_block": "channels are a multiple of four: the filters of four are packed",
    "depthwise_block_spread": "several filters read one input channel: four of them at once",
    "depthwise_block_fine": "four channels at once, with a scale finer than that of the sums",
    "linear_sum": "inputs of one shape whose scales allow a single rounding",
    "linear_sum_rows": "an input repeats, and the scales allow a single rounding",
    "sum": "the scales allow no single rounding",
    "sum_rows": "an input repeats, and the scales allow no single rounding",
    "times": "products of int8 by one factor",
    "mean_columns": "the mean is over the outer axes: four channels at once",
    "average_short": "4,096 taps or more, windows of up to 255: four channels at once",
    "average_columns": "4,096 taps or more, windows of 256 or more: four channels at once",
    "softmax_table": "256 elements or more: exponents come from a table",
    "lut": "a function of one input: its 256 answers are a table",
    "compare_table": "the scales differ, and 128 outputs or more pay for a table",
    "move": "bytes are moved, whatever their type",
    "reshape": "nothing is computed",
}
"""Kernel, without ``tinyrt_`` and its type -> which layers take it; docs/kernels.md has costs."""

SETS = {
    InstructionSet.SCALAR: "plain C",
    InstructionSet.DSP: "DSP instructions",
    InstructionSet.MVE: "vector instructions (Helium)",
    InstructionSet.RVV: "vectors of RISC-V",
    InstructionSet.AVX2: "AVX2",
    InstructionSet.AVX512: "AVX-512",
}


def reason(node: BoundNode, kernel: Kernel, isa: InstructionSet) -> str:
    """Why ``choose`` takes this kernel for the node: which layers do, and how weights are stored.

    Args:
        node: the op.
        kernel: what was chosen for it.
        isa: the instruction set that it was chosen for.

    """
    name = kernel.name.removeprefix("tinyrt_")
    base = name.rpartition("_")[0] if name.endswith(("_s8", "_s4", "_s16", "_f32")) else name
    plain = base.replace("_sparse", "")
    for end in ("_relu", "_any", "_raised"):
        plain = plain.removesuffix(end)
    text = PACKED.get(plain)
    if base.endswith(("_relu", "_any")):
        text = f"{text}; the output zero point is -128, so that outputs take no sign"
    if text is None:
        text = f"what computes {node.op} on {form_of(node)} tensors with {SETS[isa]}"
    return text if kernel.stored is None else f"{text}; {_weights(kernel)}"


def _weights(kernel: Kernel) -> str:
    """How the weights are stored, and what the other ways would cost."""
    stored = kernel.stored
    assert stored is not None
    costs = [
        f"{form.value} {round(cost.instructions):,} instructions and {cost.nbytes:,} bytes"
        for form, cost in stored.forms.items()
    ]
    return f"weights are stored {stored.form.value}, of {', '.join(costs)}"
