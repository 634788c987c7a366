"""Layers with weights, pools and products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from tests.convert.raw_tflite import Op, Subgraph, Tensor
from tests.tflm_forms.form import DTYPES, KINDS, QUANTISED, OneOp, drawn, ints, one_op, tensor

LAYERS = ("f32", "s8", "s16")
BIASES = {"f32": "f32", "s8": "s32", "s16": "s64"}
WINDOWS = ((1, 1, 0), (2, 1, 1), (2, 1, 0), (1, 2, 1))
"""Stride, dilation, and 1 for VALID."""
HEIGHT, WIDTH = 7, 8


@dataclass(frozen=True)
class Weights:
    """How a layer's weights are held, and its bias."""

    kind: str
    per_channel: bool = True
    zero_point: int = 0
    computed: bool = False
    bias: str = "constant"

    @property
    def label(self) -> str:
        parts = [self.kind, "per channel" * self.per_channel, "computed" * self.computed]
        parts += [f"zero point {self.zero_point}" * bool(self.zero_point), f"bias {self.bias}"]
        return " ".join(filter(None, parts))

    def tensors(self, x: str, shape: tuple[int, ...], axis: int, c_out: int) -> list[Tensor]:
        """Weights, and the bias where there is one."""
        scales = np.linspace(0.01, 0.03, c_out) if self.per_channel else np.array([0.02])
        q = {} if x == "f32" and self.kind == "f32" else {"scale": scales, "axis": axis}
        data = None if self.computed else self._data(shape)
        dtype = "INT4" if self.kind == "s4" else DTYPES[self.kind]
        w = Tensor("w", shape, dtype, data, zero_point=self.zero_point, **q)
        if self.bias == "none":
            return [w]
        kind = "s32" if self.bias == "s32" else BIASES[x]
        given = None if self.bias == "computed" else drawn((c_out,), kind, "bias", -500, 500)
        q = {} if kind == "f32" else {"scale": 0.05 * scales}
        return [w, Tensor("bias", (c_out,), DTYPES[kind], given, **q)]

    def _data(self, shape: tuple[int, ...]) -> np.ndarray:
        if self.kind != "s4":
            return drawn(shape, self.kind, "weights", -127, 127)
        halves = np.resize(drawn(shape, "s8", "weights", -7, 7), -(-np.prod(shape) // 2) * 2)
        return ((halves[::2] & 15) | ((halves[1::2] & 15) << 4)).astype(np.uint8)


def weights_for(x: str) -> Iterator[Weights]:
    """Ways to hold the weights of a layer on this dtype."""
    if x == "f32":
        yield from (Weights("f32"), Weights("f32", bias="none"), Weights("f32", computed=True))
        yield from (Weights("s8"), Weights("s8", per_channel=False), Weights("s4"))
        return
    for per_channel in (True, False):
        yield from (Weights("s8", per_channel, bias=b) for b in ("constant", "none", "computed"))
        yield Weights("s8", per_channel, computed=True)
        yield Weights("s8", per_channel, computed=True, bias="none")
        if x == "s8":
            yield Weights("s4", per_channel)
    if x == "s16":
        yield Weights("s8", bias="s32")


def _reach(n: int, f: int, stride: int, dilation: int, valid: int) -> int:
    return -(-(n - (f - 1) * dilation if valid else n) // stride)


def convolutions() -> Iterator[OneOp]:
    for x, (stride, dilation, valid), act in product(LAYERS, WINDOWS, (0, 1, 3)):
        if act and stride + dilation > 2:
            continue
        h, w = (_reach(n, f, stride, dilation, valid) for n, f in ((HEIGHT, 3), (WIDTH, 2)))
        fields = {"Padding": valid, "StrideH": stride, "StrideW": stride}
        fields |= {"DilationHFactor": dilation, "DilationWFactor": dilation}
        fields |= {"FusedActivationFunction": act}
        for held in weights_for(x):
            label = f"{x} {held.label} stride {stride} dilation {dilation} valid {valid} act {act}"
            image = tensor("x", (1, HEIGHT, WIDTH, 4), x)
            for groups in (1, 2):
                layer = held.tensors(x, (6, 3, 2, 4 // groups), 0, 6)
                y = tensor("y", (1, h, w, 6), x, (0.1, 5))
                name = f"{label} groups {groups}"
                yield one_op("CONV_2D", name, [image, *layer, y], "Conv2DOptions", **fields)
            for times in (1, 2):
                layer = held.tensors(x, (1, 3, 2, 4 * times), 3, 4 * times)
                y = tensor("y", (1, h, w, 4 * times), x, (0.1, 5))
                name = f"{label} times {times}"
                more = {**fields, "DepthMultiplier": times}
                table = "DepthwiseConv2DOptions"
                yield one_op("DEPTHWISE_CONV_2D", name, [image, *layer, y], table, **more)


def transposed_convolutions() -> Iterator[OneOp]:
    for x, (stride, valid), act in product(LAYERS, ((1, 0), (2, 0), (2, 1)), (0, 1)):
        h, w = (n * stride + valid * max(f - stride, 0) for n, f in ((4, 3), (5, 2)))
        fields = {"Padding": valid, "StrideH": stride, "StrideW": stride}
        fields |= {"FusedActivationFunction": act}
        for held in weights_for(x):
            layer = held.tensors(x, (6, 3, 2, 4), 0, 6)
            tensors = [ints("size", 1, h, w, 6), layer[0], tensor("x", (1, 4, 5, 4), x)]
            tensors += [*layer[1:], tensor("y", (1, h, w, 6), x, (0.1, 5))]
            label = f"{x} {held.label} stride {stride} valid {valid} act {act}"
            yield one_op("TRANSPOSE_CONV", label, tensors, "TransposeConvOptions", **fields)


def dense_layers() -> Iterator[OneOp]:
    for x, keep, act in product(LAYERS, (False, True), (0, 1, 2, 3)):
        helds = list(weights_for(x))
        if x != "f32":
            helds += [Weights("s8", p, 3) for p in (True, False)]
            helds += [Weights("s8", False, 3, computed=True, bias="none")]
        for held in helds if not act else helds[:1]:
            layer = held.tensors(x, (6, 8), 0, 6)
            y = tensor("y", (2, 3, 6) if keep else (6, 6), x, (0.1, 5))
            label = f"{x} {held.label}{' kept' * keep} act {act}"
            fields = {"KeepNumDims": keep, "FusedActivationFunction": act}
            tensors = [tensor("x", (2, 3, 8), x), *layer, y]
            yield one_op("FULLY_CONNECTED", label, tensors, "FullyConnectedOptions", **fields)


def pools() -> Iterator[OneOp]:
    ops = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
    windows = ((2, 2, 2, 2), (3, 2, 1, 2), (3, 3, 2, 2), (7, 8, 1, 1))
    for op, kind, (fh, fw, sh, sw), valid in product(ops, KINDS, windows, (0, 1)):
        for act, alike in product((0, 1, 2, 3), (True, False)):
            if not alike and kind not in QUANTISED:
                continue
            fields = {"Padding": valid, "StrideH": sh, "StrideW": sw, "FilterHeight": fh}
            fields |= {"FilterWidth": fw, "FusedActivationFunction": act}
            h, w = _reach(HEIGHT, fh, sh, 1, valid), _reach(WIDTH, fw, sw, 1, valid)
            y = tensor("y", (2, h, w, 3), kind, (0.05, -7) if alike else (0.02, 11))
            label = f"{kind} {fh}x{fw} by {sh} valid {valid} act {act}{'' if alike else ' other'}"
            tensors = [tensor("x", (2, HEIGHT, WIDTH, 3), kind), y]
            yield one_op(op, label, tensors, "Pool2DOptions", **fields)


def products() -> Iterator[OneOp]:
    shapes = (
        ((2, 3, 4), (2, 4, 5), (2, 3, 5)), ((1, 2, 3, 4), (3, 1, 4, 5), (3, 2, 3, 5)),
        ((3, 4), (4, 5), (3, 5)), ((2, 2, 3, 4), (4, 5), (2, 2, 3, 5)),
    )  # fmt: skip
    for kind, (a, b, y), adj_x, adj_y in product(KINDS, shapes, (False, True), (False, True)):
        for constant in (False, True):
            first = a[:-2] + a[:-3:-1] if adj_x else a
            second = b[:-2] + b[:-3:-1] if adj_y else b
            data = drawn(second, kind, "b") if constant else None
            tensors = [tensor("x", first, kind), tensor("c", second, kind, (0.04, 3), data)]
            tensors.append(tensor("y", y, kind, (0.2, 4)))
            turned = f"{' turned a' * adj_x}{' turned b' * adj_y}{' constant' * constant}"
            label = f"{kind} ranks {len(a)} and {len(b)}{turned}"
            fields = {"AdjX": adj_x, "AdjY": adj_y}
            yield one_op("BATCH_MATMUL", label, tensors, "BatchMatMulOptions", **fields)


def svdfs() -> Iterator[OneOp]:
    """With a bias: TFLM reads one that is not there."""
    batch, units, size, memory = 2, 4, 5, 6
    for (kind, state), rank, act in product(
        (("f32", "f32"), ("s8", "s8"), ("s8", "s16")), (1, 2), (0, 1)
    ):
        filters, most = units * rank, 127 if state == "s8" else 3000
        q = {"f32": (None, None), "s8": (0.02, 0.01), "s16": (1e-3, 1e-3)}[state]
        tensors = [
            tensor("x", (batch, size), kind),
            Tensor("wf", (filters, size), DTYPES[kind],
                   drawn((filters, size), kind, "f", -127, 127), scale=q[0] and 0.02),
            Tensor("wt", (filters, memory), DTYPES[state],
                   drawn((filters, memory), state, "t", -most, most), scale=q[0]),
            Tensor("bias", (units,), DTYPES[BIASES[kind]],
                   drawn((units,), BIASES[kind], "b", -50, 50), scale=q[0] and q[0] * q[1]),
            Tensor("state", (batch, memory * filters), DTYPES[state], scale=q[1], variable=True),
            tensor("y", (batch, units), kind, (0.1, 5)),
        ]  # fmt: skip
        fields = {"Rank": rank, "FusedActivationFunction": act}
        op = Op("SVDF", ["x", "wf", "wt", "bias", "state"], ["y"], "SVDFOptions", fields)
        graph = Subgraph(tensors, [op], ["x"], ["y"])
        yield OneOp("SVDF", f"{kind} state {state} rank {rank} act {act}", graph)


def forms() -> Iterator[OneOp]:
    """All forms of this file."""
    for family in (convolutions, transposed_convolutions, dense_layers, pools, products, svdfs):
        yield from family()
