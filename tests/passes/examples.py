"""For every pass, a graph that it changes, and one that it nearly applies to."""

from __future__ import annotations

import numpy as np

from tests.passes.example import CHANNELS_FIRST, IMAGE, ROW, Example, Made
from tests.passes.example_parts import (
    behind_a_layer,
    by_root,
    chosen,
    compared,
    computed_norm,
    cut,
    dropping,
    erf_gelu,
    flat_dense,
    grid,
    hard_swish,
    joined,
    longer,
    padded,
    parts,
    places,
    power,
    scaled_layer,
    scores,
    shuffled_pixels,
    siblings,
    softmax,
    swish,
    truth_and_its_opposite,
    two_readers,
    variance,
)
from tests.passes.examples_channels import CHANNELS
from tests.passes.nets import TO_NCHW, TO_NHWC
from tinyrt.ir import DType
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.slice import SliceAttrs

__all__ = ["EXAMPLES_OF", "Made"]

EXAMPLES_OF = CHANNELS | {
    "remove_dead": Example(ROW, lambda net: (net.op("tanh", ("x",)), net.op("abs", ("x",)))[1]),
    "remove_identity": Example(
        ROW,
        lambda net: net.op("tanh", (net.add("x", 0.0),)),
        lambda net: net.add("x", 0.0),
        "both the model's own",
    ),
    "fold_constants": Example(ROW, lambda net: net.mul("x", net.op("tanh", (net.random(4),)))),
    "recognise_gelu": Example(ROW, erf_gelu, lambda net: erf_gelu(net, 0.7), "0.7 in place of 0.5"),
    "recognise_hard_swish": Example(
        ROW, hard_swish, lambda net: hard_swish(net, 0.5), "in place of 0.166667"
    ),
    "recognise_logistic": Example(ROW, swish, lambda net: swish(net, negated=False), "not negated"),
    "recognise_softmax": Example(
        (4, 4), softmax, lambda net: softmax(net, 0), "not along the last dimension"
    ),
    "centre_variance": Example(
        (3, 4), variance, lambda net: variance(net, 5), "a sum is 0.8 times the mean"
    ),
    "scale_into_softmax": Example(
        ROW,
        lambda net: net.softmax(net.mul("x", 0.5)),
        lambda net: net.softmax(net.mul("x", -0.5)),
        "not above 0",
    ),
    "scale_through_product": Example(
        (1, 3, 4), lambda net: scores(net, 0.5), lambda net: scores(net, -0.5), "not above 0"
    ),
    "divide_by_root": Example(ROW, by_root, None),
    "divide_by_constant": Example(
        ROW,
        lambda net: net.div("x", net.random(4)),
        lambda net: net.div("x", net.constant(np.array([1, 0, 1, 1], np.float32))),
        "the divisor has zeros",
    ),
    "write_out_power": Example(ROW, power(2), power(1.25), "the exponent 1.25 is none of"),
    "zero_product": Example(
        ROW,
        lambda net: net.add(net.mul("x", 0.0), "x"),
        lambda net: net.mul("x", 0.0),
        "the model's own, which an op must compute",
    ),
    "as_product": Example(ROW, lambda net: net.op("neg", (net.op("square", ("x",)),))),
    "cancel_signs": Example(
        ROW,
        lambda net: net.op("abs", (net.op("neg", (net.op("neg", ("x",)),)),)),
        lambda net: net.op("neg", (net.op("neg", ("x",)),)),
        "both the model's own",
    ),
    "merge_transposes": Example(
        IMAGE, lambda net: net.transpose(net.transpose("x", TO_NCHW), (1, 0, 2, 3))
    ),
    "merge_around_split": Example(
        IMAGE,
        lambda net: net.transpose(
            net.reshape(net.transpose("x", TO_NCHW), 1, 3, 2, 3, 5), (0, 2, 1, 4, 3)
        ),
        lambda net: two_readers(
            net,
            y := net.reshape(net.transpose("x", TO_NCHW), 1, 3, 2, 3, 5),
            net.transpose(y, (0, 2, 1, 4, 3)),
        ),
        "has other readers",
    ),
    "merge_around_join": Example(
        IMAGE,
        lambda net: net.transpose(net.reshape(net.transpose("x", TO_NCHW), 1, 18, 5), (0, 2, 1)),
        lambda net: two_readers(
            net,
            y := net.reshape(net.transpose("x", TO_NCHW), 1, 18, 5),
            net.transpose(y, (0, 2, 1)),
        ),
        "has other readers",
    ),
    "merge_around_regroup": Example(
        IMAGE,
        lambda net: net.transpose(net.reshape(net.transpose("x", TO_NCHW), 9, 10), (1, 0)),
        lambda net: net.transpose(net.reshape(net.transpose("x", TO_NCHW), 2, 45), (1, 0)),
        "no common parts",
    ),
    "transpose_into_mean": Example(
        IMAGE,
        lambda net: net.op("mean", (net.transpose("x", TO_NCHW),), MeanAttrs((2, 3))),
        lambda net: two_readers(
            net, y := net.transpose("x", TO_NCHW), net.op("mean", (y,), MeanAttrs((0,)))
        ),
        "has other readers",
    ),
    "skip_monotonic": Example(
        IMAGE,
        lambda net: net.op("arg_max", (net.softmax("x"),), ArgAttrs(3)),
        lambda net: net.op("arg_max", (net.op("logistic", ("x",)),), ArgAttrs(3)),
        "one value for all large inputs",
    ),
    "cast_as_choice": Example(
        IMAGE, lambda net: net.op("cast", (compared(net),), CastAttrs(DType.FLOAT32))
    ),
    "negate_comparison": Example(
        IMAGE, lambda net: truth_and_its_opposite(net)[0], truth_and_its_opposite, "other readers"
    ),
    "swap_choices": Example(
        IMAGE,
        lambda net: chosen(net, net.op("logical_not", (compared(net),)), "x", 2.0),
    ),
    "fold_into_choice": Example(
        IMAGE,
        lambda net: net.mul(chosen(net, compared(net), 3.0, -1.0), 0.5),
        lambda net: net.mul(chosen(net, compared(net), "x", -1.0), 0.5),
        "is no number",
    ),
    "choose_factor": Example(
        IMAGE,
        lambda net: net.mul("x", chosen(net, compared(net), 0.0, 1.0)),
        lambda net: net.op(
            "mul", ("x", chosen(net, compared(net), 1.0, 0.0)), MulAttrs(activation="RELU")
        ),
        "fused RELU",
    ),
    "recognise_choice": Example(
        IMAGE,
        lambda net: chosen(net, compared(net, "less"), net.mul("x", 0.2), "x"),
        lambda net: chosen(net, compared(net), "x", net.add("x", 0.2)),
        "no product of 'x'",
    ),
    "choose_as": Example(
        IMAGE,
        lambda net: net.op("cast", (places(net, 2),), CastAttrs(DType.INT64)),
        lambda net: (y := places(net, 2), net.op("cast", (y,), CastAttrs(DType.INT64))),
        "has other readers",
    ),
    "choose_shaped": Example(
        IMAGE,
        lambda net: net.reshape(places(net, 2), 3, 2, 3),
        lambda net: net.reshape(places(net, 2), 9, 2),
        "does not part where the axis is",
    ),
    "transpose_into_dense": Example(
        IMAGE,
        flat_dense,
        lambda net: net.dense(net.reshape(net.transpose("x", TO_NCHW), 6, 15)),
        "not all that reads it are products of rows",
    ),
    "turn_input": Example(
        CHANNELS_FIRST,
        lambda net: net.conv(net.transpose("x", TO_NHWC)),
        lambda net: (net.conv(net.transpose("x", TO_NHWC)), net.softmax("x")),
        "the input 'x' has other readers",
    ),
    "turn_output": Example(
        IMAGE,
        lambda net: net.transpose(net.conv("x"), TO_NCHW),
        lambda net: two_readers(net, y := net.transpose(net.conv("x"), TO_NCHW), y),
        "has other readers",
    ),
    "flip_regions": Example(
        CHANNELS_FIRST,
        lambda net: net.transpose(net.op("tanh", (net.transpose("x", TO_NHWC),)), TO_NCHW),
        lambda net: net.softmax(net.transpose(net.softmax("x"), TO_NCHW)),
        "would leave more transposes",
    ),
    "merge_reshapes": Example(ROW, lambda net: net.reshape(net.reshape("x", 8), 4, 2)),
    "sink_reshape": Example(
        ROW,
        lambda net: net.op("tanh", (net.reshape("x", 8),)),
        lambda net: two_readers(net, y := net.reshape("x", 8), net.op("abs", (y,))),
        "has other readers",
    ),
    "sink_reshapes": Example(
        ROW,
        lambda net: net.add(
            net.reshape(net.op("tanh", ("x",)), 8), net.reshape(net.op("abs", ("x",)), 8)
        ),
        lambda net: net.add(
            net.reshape("x", 8),
            net.reshape(
                net.conv(
                    net.reshape(
                        net.op("concatenation", ("x", "x"), ConcatenationAttrs(1)), 1, 2, 2, 4
                    ),
                    2,
                ),
                8,
            ),
        ),
        "its operands come from shapes",
    ),
    "sink_pad": Example(
        (1, 6, 4),
        lambda net: net.reshape(longer(net), 1, 1, 9, 4),
        lambda net: net.reshape(longer(net), 1, 3, 3, 4),
        "more than insert",
    ),
    "sink_transpose": Example(
        (1, 6, 4),
        lambda net: net.reshape(net.transpose("x", (0, 2, 1)), 1, 1, 4, 6),
        lambda net: net.reshape(net.transpose("x", (0, 2, 1)), 1, 2, 2, 6),
        "more than insert",
    ),
    "merge_pads": Example(
        IMAGE,
        lambda net: padded(net, padded(net, "x")),
        lambda net: padded(net, padded(net, "x"), value=1.0),
        "fills with 1.0, not 0.0",
    ),
    "merge_slices": Example(
        IMAGE,
        lambda net: cut(net, cut(net, "x", 4), 2),
        lambda net: dropping(net, "x"),
        "drops dimensions",
    ),
    "slice_concatenation": Example(
        IMAGE,
        lambda net: cut(net, joined(net, "x", net.mul("x", 2.0), axis=1), 3),
        lambda net: cut(net, joined(net, "x", net.mul("x", 2.0), axis=1), 7),
        "cuts across",
    ),
    "merge_concatenations": Example(
        IMAGE,
        lambda net: joined(net, joined(net, "x", "x"), "x"),
        lambda net: joined(net, *[joined(net, "x", "x")] * 2),
        "has other readers",
    ),
    "remove_requantise": Example(
        IMAGE,
        lambda net: net.op("tanh", (grid(net, net.transpose(grid(net, "x"), TO_NCHW)),)),
        lambda net: (y := grid(net, "x"), grid(net, y)),
        "both the model's own",
    ),
    "clamp_before_quantiser": Example(
        ROW,
        lambda net: net.op("relu", (grid(net, "x"),)),
        lambda net: net.op("relu6", (grid(net, "x", 0.35),)),
        "its bounds are not on the grid",
    ),
    "hoist_quantiser": Example(
        IMAGE,
        lambda net: grid(net, net.transpose(net.op("tanh", ("x",)), TO_NCHW)),
        lambda net: two_readers(
            net, y := net.op("tanh", ("x",)), grid(net, net.transpose(y, TO_NCHW))
        ),
        "has other readers",
    ),
    "transpose_into_product": Example(
        (1, 4, 4),
        lambda net: net.op(
            "batch_matmul", ("x", net.transpose("x", (0, 2, 1))), BatchMatmulAttrs()
        ),
        lambda net: net.op(
            "batch_matmul", (y := net.transpose("x", (0, 2, 1)), y), BatchMatmulAttrs()
        ),
        "has other readers",
    ),
    "pixel_shuffle": Example(
        IMAGE,
        lambda net: shuffled_pixels(net, net.conv("x", 12)),
        lambda net: two_readers(net, y := net.conv("x", 12), shuffled_pixels(net, y)),
        "that nothing else reads",
    ),
    "drop_by_reshape": Example(
        (2, 1, 3, 1, 4),
        lambda net: net.op(
            "slice", ("x",), SliceAttrs((1, 0, 0, 0, 0), (1, 1, 3, 1, 4), (1,) * 5, (0,))
        ),
    ),
    "hoist_over_parts": Example(
        (2, 3, 4),
        lambda net: parts(net, (4, 3), (4, 3)),
        lambda net: parts(net, (4, 3), (2, 6)),
        "not all moved alike",
    ),
    "hoist_over_slice": Example(
        IMAGE,
        lambda net: net.mul(cut(net, net.conv("x"), 4), net.random(4)),
        lambda net: net.mul(cut(net, net.conv("x"), 4), net.random(4, 1, 1)),
        "its constant is not one per channel",
    ),
    "fold_batchnorm": Example(
        IMAGE,
        lambda net: net.batch_norm(net.conv("x")),
        behind_a_layer(lambda net, y: net.batch_norm(y)),
        "has other readers",
    ),
    "fold_affine": Example(
        IMAGE,
        scaled_layer,
        lambda net: net.mul(net.conv("x"), net.random(6, 5, 1)),
        "is not one per channel",
    ),
    "merge_constants": Example(
        ROW,
        lambda net: net.mul(net.mul("x", net.random(4)), 3.0),
        lambda net: two_readers(net, y := net.mul("x", 2.0), net.mul(y, 3.0)),
        "has other readers",
    ),
    "fuse_activation": Example(
        IMAGE,
        lambda net: net.op("relu", (net.conv("x"),)),
        behind_a_layer(lambda net, y: net.op("relu", (y,))),
        "has other readers",
    ),
    "fold_before": Example(
        IMAGE,
        lambda net: net.conv(net.add(net.mul("x", net.random(3)), -0.5), padding="VALID"),
        lambda net: net.conv(net.add("x", -0.5)),
        "is not in its border of zeros",
    ),
    "fuse_pad": Example(
        IMAGE,
        lambda net: net.conv(padded(net, "x"), padding="VALID"),
        lambda net: net.conv(padded(net, "x", value=1.0), padding="VALID"),
        "is filled with 1.0",
    ),
    "conv_as_dense": Example(
        IMAGE,
        lambda net: net.conv(net.reshape(net.reshape("x", 1, 90), 1, 1, 1, 90), 3, 1),
        lambda net: net.conv(net.op("mean", ("x",), MeanAttrs((1, 2), keep_dims=True)), 3, 1),
        "no reshape in front of it",
    ),
    "transpose_to_reshape": Example((1, 1, 5, 3), lambda net: net.transpose("x", (0, 2, 1, 3))),
    "split_batchnorm": Example(
        IMAGE, lambda net: net.batch_norm("x"), computed_norm, "its parameters are not constant"
    ),
    "write_out_erf": Example(ROW, lambda net: net.op("erf", ("x",))),
    "merge_duplicates": Example(
        ROW,
        lambda net: net.add(net.op("tanh", ("x",)), net.op("tanh", ("x",))),
        lambda net: (net.op("tanh", ("x",)), net.op("tanh", ("x",))),
        "both the model's own",
    ),
    "merge_siblings": Example(
        IMAGE, siblings, lambda net: siblings(net, 1, 12), "would cost more than reading"
    ),
}
