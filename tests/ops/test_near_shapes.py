"""Shapes, types and scales that fit but for one thing: each is refused with words of its own."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.pointwise import PointwiseAttrs, Step
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.repeat import BroadcastToAttrs, TileAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_filter_bank import SignalFilterBankAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.topk_v2 import TopkV2Attrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs

F32, S8, S16, S32 = DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32


def of(dtype, *shape):
    return TensorType(dtype, shape)


@dataclass(frozen=True)
class Fitting:
    """What an op takes, and what it nearly takes: attributes and types by their place."""

    op: str
    attrs: Any
    types: tuple[TensorType | None, ...]
    near: dict[str, dict[Any, Any]]

    def with_(self, changes):
        types = [changes.get(i, t) for i, t in enumerate(self.types)]
        return changes.get("attrs", self.attrs), types


CONV = Conv2dAttrs()
WIDE = Conv2dAttrs(wide=True)
POOL = Pool2dAttrs((2, 2), (1, 1))
BANDS = SignalFilterBankAttrs((0, 1, 2), (0, 1, 2), (1, 1, 1))
SIGNAL = (of(DType.UINT32, 8), of(S16, 3), of(S16, 3))
HALVED = PointwiseAttrs((Step("abs", NoAttrs(), (0,)),))
DENSE = OPS["fully_connected"].attrs()
TAKEN = [
    Fitting(
        *("batch_norm", OPS["batch_norm"].attrs(), (of(F32, 2, 3), *[of(F32, 3)] * 4)),
        {"a single number": dict.fromkeys(range(5), of(F32))},
    ),
    Fitting(
        *("cast", CastAttrs(S8), (of(F32, 2),)),
        {"of int4": {0: of(DType.INT4, 2)}, "to int4": {"attrs": CastAttrs(DType.INT4)}},
    ),
    Fitting(
        *("concatenation", OPS["concatenation"].attrs(1), (of(F32, 2, 3), of(F32, 2, 4))),
        {
            "more dimensions": {1: of(F32, 2, 4, 1)},
            "none along the axis": {1: of(F32, 2)},
            "fewer dimensions": {0: of(F32, 2, 3, 1)},
            "another type": {1: of(S8, 2, 4)},
            "another length": {1: of(F32, 3, 3)},
        },
    ),
    Fitting(
        *("conv2d", CONV, (of(F32, 1, 4, 4, 4), of(F32, 6, 1, 1, 2))),
        {
            "outputs that groups do not divide": {1: of(F32, 5, 1, 1, 2)},
            "inputs that they do not divide": {0: of(F32, 1, 4, 4, 5)},
            "a stride of three": {"attrs": replace(CONV, stride=(1, 1, 1))},
            "a stride beyond all": {"attrs": replace(CONV, stride=(1, 1 << 40))},
            "a stride of 0": {"attrs": replace(CONV, stride=(0, 1))},
        },
    ),
    Fitting(
        *("conv2d", WIDE, (of(S8, 1, 4, 4, 4), of(S16, 6, 1, 1, 4), None)),
        {
            "int16 with wide weights": {0: of(S16, 1, 4, 4, 4)},
            "narrow ones": {1: of(S8, 6, 1, 1, 4)},
        },
    ),
    Fitting(
        *("conv2d", WIDE, (of(S16, 1, 4, 4, 4), of(S8, 6, 1, 1, 4), None)),
        {"int8 with narrow weights": {0: of(S8, 1, 4, 4, 4)}},
    ),
    Fitting(
        *("broadcast_to", BroadcastToAttrs((2, 3)), (of(F32, 1, 3),)),
        {
            "nothing": {"attrs": BroadcastToAttrs((0, 3))},
            "less than nothing": {"attrs": BroadcastToAttrs((-1, 3))},
            "nothing of two": {"attrs": BroadcastToAttrs((0, 3)), 0: of(F32, 2, 3)},
            "nothing of nothing": {"attrs": BroadcastToAttrs((0, 3)), 0: of(F32, 0, 3)},
        },
    ),
    Fitting(
        *("tile", TileAttrs((2, 1)), (of(F32, 1, 3),)),
        {
            "no times": {"attrs": TileAttrs((0, 1))},
            "a dimension less": {0: of(F32, 3)},
        },
    ),
    Fitting(
        *("depthwise_conv2d", DepthwiseConv2dAttrs(), (of(F32, 1, 4, 4, 3), of(F32, 1, 2, 2, 6))),
        {
            "two filters": {1: of(F32, 2, 2, 2, 6)},
            "outputs that inputs do not divide": {1: of(F32, 1, 2, 2, 5)},
        },
    ),
    Fitting(
        *("embedding", EmbeddingAttrs(1), (of(F32, 2, 5, 3), of(S32, 2, 4))),
        {
            "truths": {0: of(DType.BOOL, 2, 5, 3)},
            "a batch of all": {"attrs": EmbeddingAttrs(3)},
            "places of int64": {1: of(DType.INT64, 2, 4)},
            "places for another batch": {1: of(S32, 3, 4)},
        },
    ),
    Fitting(
        *("fully_connected", DENSE, (of(F32, 4, 1), of(F32, 3, 1))),
        {"a single number": {0: of(F32)}},
    ),
    Fitting(
        *("l2_normalization", OPS["l2_normalization"].attrs(), (of(F32, 3),)),
        {"a single number": {0: of(F32)}, "int16": {0: of(S16, 3)}},
    ),
    Fitting(
        *("resize_nearest_neighbor", ResizeAttrs((2, 2)), (of(F32, 1, 4, 4, 1),)),
        {
            "a size of three": {"attrs": ResizeAttrs((2, 2, 2))},
            "a size of none": {"attrs": ResizeAttrs((2, 0))},
        },
    ),
    Fitting(
        *("gather", GatherAttrs(1, (0, 2, 2, 1), (2, 2)), (of(F32, 5, 3),)),
        {
            "no place": {"attrs": GatherAttrs(1, (), (0,))},
            "places of negative sizes": {"attrs": GatherAttrs(1, (0, 2, 2, 1), (-2, -2))},
            "more places than there are": {"attrs": GatherAttrs(1, (0, 2, 2), (2, 2))},
            "a place behind the last": {"attrs": GatherAttrs(1, (0, 2, 3, 1), (2, 2))},
            "one before the first": {"attrs": GatherAttrs(1, (0, 2, -1, 1), (2, 2))},
            "an axis that is not there": {"attrs": GatherAttrs(2, (0, 2, 2, 1), (2, 2))},
        },
    ),
    Fitting(
        *("topk_v2", TopkV2Attrs(3), (of(F32, 5, 3),)),
        {
            "none": {"attrs": TopkV2Attrs(0)},
            "one more": {"attrs": TopkV2Attrs(4)},
            "of a number": {0: of(F32)},
        },
    ),
    Fitting(
        *("mirror_pad", MirrorPadAttrs(((0, 1), (2, 0))), (of(F32, 2, 3),)),
        {
            "a dimension less": {0: of(F32, 2)},
            "pairs of three": {"attrs": MirrorPadAttrs(((0, 1), (2, 0, 0)))},
            "less than none": {"attrs": MirrorPadAttrs(((0, 1), (-1, 0)))},
            "as much as there is": {"attrs": MirrorPadAttrs(((0, 2), (2, 0)))},
        },
    ),
    Fitting(
        *("mirror_pad", MirrorPadAttrs(((0, 2), (3, 0)), "SYMMETRIC"), (of(F32, 2, 3),)),
        {"more than there is": {"attrs": MirrorPadAttrs(((0, 2), (4, 0)), "SYMMETRIC")}},
    ),
    Fitting(
        *("pad", PadAttrs(((0, 1),)), (of(F32, 2),)),
        {
            "no dimension": {"attrs": PadAttrs(()), 0: of(F32)},
            "one more": {0: of(F32, 2, 2)},
            "less than none": {"attrs": PadAttrs(((-1, 1),))},
        },
    ),
    Fitting(
        *("pointwise", HALVED, (of(F32, 2),)),
        {
            "an op that there is not": {"attrs": PointwiseAttrs((Step("no_op", NoAttrs(), (0,)),))},
            "an op of neighbours": {"attrs": PointwiseAttrs((Step("softmax", NoAttrs(), (0,)),))},
            "no step": {"attrs": PointwiseAttrs(())},
            "no operand": {"attrs": PointwiseAttrs((Step("abs", NoAttrs(), ()),))},
            "an operand more": {"attrs": PointwiseAttrs((Step("abs", NoAttrs(), (0, 0)),))},
        },
    ),
    Fitting(
        *("quantize", QuantizeAttrs(S8, kept=True), (of(S8, 2),)),
        {
            "floats that are kept": {"attrs": QuantizeAttrs(F32, kept=True), 0: of(F32, 2)},
            "int16 kept as int8": {0: of(S16, 2)},
        },
    ),
    Fitting(
        *("quantize", QuantizeAttrs(S8), (of(S32, 2),)),
        {
            "int32 to uint8": {"attrs": QuantizeAttrs(DType.UINT8)},
            "int32 to int32": {"attrs": QuantizeAttrs(S32)},
            "floats to int32": {"attrs": QuantizeAttrs(S32), 0: of(F32, 2)},
            "floats to uint8": {"attrs": QuantizeAttrs(DType.UINT8), 0: of(F32, 2)},
        },
    ),
    Fitting(
        *("reshape", ReshapeAttrs((2, -1)), (of(F32, 6),)),
        {
            "two negative sizes": {"attrs": ReshapeAttrs((-2, -3))},
            "two open ones": {"attrs": ReshapeAttrs((-1, -1))},
            "none": {"attrs": ReshapeAttrs((0, -1))},
        },
    ),
    Fitting(
        *("average_pool2d", POOL, (of(F32, 1, 4, 4, 2),)),
        {"a kernel of one": {"attrs": replace(POOL, kernel=(2,))}},
    ),
    Fitting(
        *("signal_filter_bank", BANDS, SIGNAL),
        {
            "a frequency less": {"attrs": replace(BANDS, frequency_starts=(0, 1))},
            "a place less": {"attrs": replace(BANDS, weight_starts=(0, 1))},
            "a width less": {"attrs": replace(BANDS, widths=(1, 1))},
        },
    ),
    Fitting(
        *("slice", SliceAttrs((1, 0, 2), (1, 2, 2), (1, 1, -1), (0,)), (of(F32, 2, 3, 4),)),
        {
            "none": {"attrs": SliceAttrs((1, 1, 2), (1, 0, 2), (1, 1, -1))},
            "no step": {"attrs": SliceAttrs((1, 0, 2), (1, 1, 1), (1, 1, 0))},
            "from behind the last": {"attrs": SliceAttrs((1, 0, 4), (1, 2, 2), (1, 1, -1))},
            "from before the first": {"attrs": SliceAttrs((1, -1, 2), (1, 2, 2), (1, 1, -1))},
            "to behind the last": {"attrs": SliceAttrs((1, 2, 2), (1, 2, 2), (1, 1, -1))},
            "to before the first": {"attrs": SliceAttrs((1, 0, 2), (1, 2, 4), (1, 1, -1))},
            "one that is more than one": {
                "attrs": SliceAttrs((0, 0, 0), (1, 2, 2), (1,) * 3, (1,))
            },
            "one from the end": {"attrs": SliceAttrs((0, 0, 0), (1, 2, 1), (1,) * 3, (-1,))},
            "one that is not there": {"attrs": SliceAttrs((0, 0, 0), (1, 2, 1), (1,) * 3, (3,))},
            "a dimension less": {0: of(F32, 2, 3)},
        },
    ),
    Fitting(
        *("space_to_depth", BlockAttrs(2), (of(F32, 1, 4, 6, 1),)),
        {
            "an odd height": {0: of(F32, 1, 3, 6, 1)},
            "an odd width": {0: of(F32, 1, 4, 5, 1)},
            "blocks of none": {"attrs": BlockAttrs(0)},
        },
    ),
    Fitting(
        *("depth_to_space", BlockAttrs(2), (of(F32, 1, 3, 3, 8),)),
        {"channels of half a block": {0: of(F32, 1, 4, 4, 6)}},
    ),
    Fitting(
        "svdf",
        SvdfAttrs(2),
        (of(S8, 2, 4), of(S8, 6, 4), of(S16, 6, 5), None, of(S16, 2, 30)),
        {"inputs of int16": {0: of(S16, 2, 4)}, "a bias of all filters": {3: of(S32, 6)}},
    ),
    Fitting(
        "transpose_conv",
        TransposeConvAttrs((4, 4), (2, 2)),
        (of(F32, 1, 2, 2, 3), of(F32, 5, 2, 2, 3), None),
        {
            "a size of one": {"attrs": TransposeConvAttrs((4,), (2, 2))},
            "a size of none": {"attrs": TransposeConvAttrs((4, 0), (2, 2))},
            "other channels": {1: of(F32, 5, 2, 2, 4)},
        },
    ),
]
NEAR = [(fitting, name) for fitting in TAKEN for name in fitting.near]


@pytest.mark.parametrize("fitting", TAKEN, ids=lambda f: f.op)
def test_what_fits_is_taken(fitting):
    assert OPS[fitting.op].infer(*fitting.with_({}))


@pytest.mark.parametrize(("fitting", "name"), NEAR, ids=lambda v: getattr(v, "op", v))
def test_what_fits_but_for_one_thing_is_refused(fitting, name):
    with pytest.raises(ShapeError) as caught:
        OPS[fitting.op].infer(*fitting.with_(fitting.near[name]))
    assert caught.value.expected
