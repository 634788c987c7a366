"""Formulas that differ from what a pass recognises in one thing: it leaves them."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.passes.example_parts import (
    chosen,
    compared,
)
from tests.passes.misses import Miss, check, read_twice
from tests.passes.random_net import RandomNet as Net
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs

ROW = (2, 4)


def wide_number(net: Net, value: float) -> str:
    """A number with more dimensions than what it meets."""
    return net.constant(np.full((1, 1, 1), value, np.float32))


def tanh_gelu(net: Net, inner: Callable[[Net], str]) -> str:
    tanh = net.op("tanh", (net.mul(inner(net), math.sqrt(2 / math.pi)),))
    return net.mul(net.mul("x", 0.5), net.add(tanh, 1.0))


def by_grown(net: Net, y: str, attrs: DivAttrs | None = None) -> str:
    """Y / (1 + exp(-x))."""
    grown = net.add(net.op("exp", (net.op("neg", ("x",)),)), 1.0)
    return net.op("div", (y, grown), attrs or DivAttrs())


def by_sum(net: Net, x: str, activation: str = "NONE") -> str:
    e = net.op("exp", (x,))
    total = net.op("sum", (e,), ReduceAttrs((1,), keep_dims=True))
    return net.op("div", (e, total), DivAttrs(activation))


def scores(net: Net, moved: bool, factor: str | float = 0.5) -> tuple[str, ...]:
    """Attention's weights of scaled queries, which something else reads, too."""
    scaled = net.mul("x", factor)
    queries = net.transpose(scaled, (0, 2, 1))
    return read_twice(
        net,
        queries if moved else scaled,
        net.softmax(net.op("batch_matmul", (queries, "x"), BatchMatmulAttrs())),
    )


def widened_queries(net: Net) -> str:
    return net.transpose(net.mul("x", wide_number(net, 0.5)), (0, 2, 1))


def by_sign(net: Net, negative: Callable[[Net], str], zero: Callable[[Net], str]) -> str:
    truth = net.op("greater", ("x", zero(net)))
    return net.op("select_v2", (truth, "x", negative(net)))


def arg_max(net: Net, x: str, axis: int = -1) -> str:
    return net.op("arg_max", (x,), ArgAttrs(axis))


def scaled_dense(net: Net, activation: str) -> str:
    """A dense layer of a scaled row that goes through an activation."""
    scale = net.constant(np.full((4,), 0.5, np.float32))
    return net.dense(net.op("mul", ("x", scale), MulAttrs(activation)))


MISSES = {
    "constants overflow": Miss(
        "merge_constants",
        (ROW,),
        lambda net: net.op("tanh", (net.mul(net.mul("x", 1e30), 1e30),)),
        "the constants together overflow",
    ),
    "a choice between equal factors": Miss(
        "choose_factor", ((1, 4, 4, 3),), lambda net: net.mul("x", chosen(net, compared(net), 1, 1))
    ),
    "one constant of a row overflows": Miss(
        "merge_constants",
        (ROW,),
        lambda net: net.op(
            "mul",
            (net.mul("x", 1e30), net.constant(np.array([1, 2, 1e30, 4], np.float32))),
            MulAttrs(),
        ),
        "the constants together overflow",
    ),
    "a power of more dimensions": Miss(
        "write_out_power",
        (ROW,),
        lambda net: net.op("pow", (net.op("exp", ("x",)), wide_number(net, 2.0))),
        "makes its operand larger",
    ),
    "the largest along another axis": Miss(
        "skip_monotonic",
        (ROW,),
        lambda net: arg_max(net, net.softmax("x"), 0),
        "does not choose along the axis",
    ),
    "the smallest of probabilities": Miss(
        "skip_monotonic",
        (ROW,),
        lambda net: net.op("arg_min", (net.softmax("x"),), ArgAttrs(-1)),
        "softmax has one value for all very small inputs",
    ),
    "the largest of a tanh": Miss(
        "skip_monotonic",
        (ROW,),
        lambda net: arg_max(net, net.op("tanh", ("x",))),
        "tanh has one value for all large inputs",
    ),
    "a scaled row with an activation": Miss(
        "fold_before", (ROW,), lambda net: scaled_dense(net, "RELU6"), "has a fused RELU6"
    ),
    "a softmax that is an output": Miss(
        "skip_monotonic",
        (ROW,),
        lambda net: (y := net.softmax("x"), arg_max(net, y)),
        "other readers",
    ),
    "a choice that is an output": Miss(
        "choose_shaped",
        (ROW,),
        lambda net: (y := arg_max(net, "x"), net.reshape(y, 2, 1)),
        "other readers",
    ),
    "a gate that is squared": Miss(
        "recognise_gelu",
        (ROW,),
        lambda net: (
            gate := net.add(net.op("erf", (net.mul("x", math.sqrt(0.5)),)), 1.0),
            net.mul(gate, gate),
        )[1],
        "not multiplied with what it is computed of",
    ),
    "2 added in place of 1": Miss(
        "recognise_gelu",
        (ROW,),
        lambda net: net.mul(
            net.mul("x", net.add(net.op("erf", (net.mul("x", math.sqrt(0.5)),)), 2.0)), 0.5
        ),
        "1 is not added to it",
    ),
    "a gelu of a product": Miss(
        "recognise_gelu", (ROW,), lambda net: tanh_gelu(net, lambda net: net.mul("x", "x"))
    ),
    "a gelu of another cubic": Miss(
        "recognise_gelu",
        (ROW,),
        lambda net: tanh_gelu(
            net, lambda net: net.add("x", net.mul(net.mul(net.mul("x", "x"), "x"), 0.05))
        ),
    ),
    "a gelu of a fourth power": Miss(
        "recognise_gelu",
        (ROW,),
        lambda net: tanh_gelu(
            net,
            lambda net: net.add("x", net.mul(net.op("pow", ("x", net.number(4.0))), 0.044715)),
        ),
    ),
    "a logistic that clamps": Miss(
        "recognise_logistic",
        (ROW,),
        lambda net: by_grown(net, net.number(1.0), DivAttrs("RELU6")),
        "it changes the shape, or clamps",
    ),
    "a swish of more dimensions": Miss(
        "recognise_logistic",
        (ROW, (3, 2, 4)),
        lambda net: by_grown(net, "x1"),
        "it changes the shape, or clamps",
    ),
    "a softmax that clamps": Miss(
        "recognise_softmax",
        (ROW,),
        lambda net: by_sum(net, "x", "RELU6"),
        "it has a fused RELU6",
    ),
    "a factor that adds dimensions": Miss(
        "scale_into_softmax",
        (ROW,),
        lambda net: net.softmax(net.mul("x", wide_number(net, 0.5))),
        "the product makes its operand larger",
    ),
    "scaled queries that others read": Miss(
        "scale_through_product", ((1, 3, 4),), lambda net: scores(net, False), "other readers"
    ),
    "turned queries that others read": Miss(
        "scale_through_product", ((1, 3, 4),), lambda net: scores(net, True)
    ),
    "queries that their factor widens": Miss(
        "scale_through_product",
        ((3, 4),),
        lambda net: net.softmax(
            net.op(
                "batch_matmul",
                (
                    net.transpose(net.mul("x", wide_number(net, 0.5)), (0, 2, 1)),
                    net.reshape("x", 1, 3, 4),
                ),
                BatchMatmulAttrs(),
            )
        ),
    ),
    "a choice that gets more dimensions": Miss(
        "fold_into_choice",
        (ROW,),
        lambda net: net.mul(chosen(net, compared(net), 1.0, 2.0), wide_number(net, 3.0)),
        "gives its operand more dimensions",
    ),
    "a choice by a zero of more dimensions": Miss(
        "recognise_choice",
        (ROW,),
        lambda net: by_sign(net, lambda net: net.mul("x", 0.1), lambda net: wide_number(net, 0.0)),
        "it makes its operand larger",
    ),
    "a choice of another's negative": Miss(
        "recognise_choice",
        (ROW, ROW),
        lambda net: by_sign(net, lambda net: net.op("neg", ("x1",)), lambda net: net.number(0.0)),
        "no product of 'x'",
    ),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("miss", MISSES.values(), ids=MISSES)
def test_the_pass_leaves_it_and_says_why(miss):
    check(miss)
