"""Files of one op each, as other writers make them."""

import numpy as np

from tests.convert.raw_tflite import Tensor, single


def i32(name, *values):
    data = np.array(values, np.int32)
    return Tensor(name, data.shape, "INT32", data)


def scalar(name, value):
    return Tensor(name, (), "INT32", np.array(value, np.int32))


def s8(name, *shape, scale=0.05, zero_point=-7):
    return Tensor(name, shape, "INT8", scale=scale, zero_point=zero_point)


T = Tensor
FILES = {
    "pack": single("PACK", [T("a", (2, 3)), T("b", (2, 3)), T("y", (2, 2, 3))], "PackOptions",
                   ValuesCount=2, Axis=1),
    "pack int8": single("PACK", [s8("a", 2, 3), s8("b", 2, 3), s8("y", 2, 3, 2)], "PackOptions",
                        ValuesCount=2, Axis=-1),
    "unpack": single("UNPACK", [T("x", (2, 3, 4)), *(T(f"y{i}", (2, 4)) for i in range(3))],
                     "UnpackOptions", Num=3, Axis=1),
    "unpack int8": single("UNPACK", [s8("x", 2, 3), s8("y", 3), s8("y1", 3)], "UnpackOptions",
                          Num=2, Axis=-2),
    "split": single("SPLIT", [scalar("axis", 1), T("x", (2, 6)), T("y", (2, 3)), T("y1", (2, 3))],
                    "SplitOptions", NumSplits=2),
    "split int8": single("SPLIT", [scalar("axis", -1), s8("x", 2, 4), s8("y", 2, 2),
                                   s8("y1", 2, 2)], "SplitOptions", NumSplits=2),
    "split_v": single("SPLIT_V", [T("x", (2, 7)), i32("sizes", 2, -1, 1), scalar("axis", 1),
                                  T("y", (2, 2)), T("y1", (2, 4)), T("y2", (2, 1))],
                      "SplitVOptions", NumSplits=3),
    "gather_nd": single("GATHER_ND", [T("x", (3, 4, 2)), Tensor("i", (2, 2), "INT32",
                        np.array([[0, 3], [2, 1]], np.int32)), T("y", (2, 2))],
                        "GatherNdOptions"),
    "gather_nd int8": single("GATHER_ND", [s8("x", 3, 4), Tensor("i", (2, 1), "INT32",
                             np.array([[2], [0]], np.int32)), s8("y", 2, 4)]),
    "l2_normalization": single("L2_NORMALIZATION", [T("x", (2, 3, 8)), T("y", (2, 3, 8))],
                               "L2NormOptions", FusedActivationFunction=0),
    "l2_pool": single("L2_POOL_2D", [T("x", (1, 5, 6, 3)), T("y", (1, 3, 3, 3))],
                      "Pool2DOptions", Padding=0, StrideH=2, StrideW=2, FilterHeight=3,
                      FilterWidth=2, FusedActivationFunction=0),
    "l2_pool relu6": single("L2_POOL_2D", [T("x", (1, 4, 4, 1)), T("y", (1, 3, 3, 1))],
                            "Pool2DOptions", Padding=1, StrideH=1, StrideW=1, FilterHeight=2,
                            FilterWidth=2, FusedActivationFunction=3),
    "log_softmax": single("LOG_SOFTMAX", [T("x", (3, 5)), T("y", (3, 5))], "LogSoftmaxOptions"),
    "select": single("SELECT", [T("c", (2, 3), "BOOL"), T("a", (2, 3)), T("b", (2, 3)),
                                T("y", (2, 3))]),
    "select by row": single("SELECT", [T("c", (2,), "BOOL"), T("a", (2, 3)), T("b", (2, 3)),
                                       T("y", (2, 3))]),
    "select_v2": single("SELECT_V2", [T("c", (1, 3), "BOOL"), T("a", (2, 3)), T("b", (2, 1)),
                                      T("y", (2, 3))]),
    "cumsum": single("CUMSUM", [T("x", (2, 5)), scalar("axis", 1), T("y", (2, 5))],
                     "CumsumOptions", Exclusive=True, Reverse=True),
    "expand_dims": single("EXPAND_DIMS", [T("x", (2, 3)), scalar("axis", 1), T("y", (2, 1, 3))]),
    "broadcast_to": single("BROADCAST_TO", [T("x", (1, 3)), i32("shape", 4, 3), T("y", (4, 3))]),
    "mirror_pad": single("MIRROR_PAD", [T("x", (2, 3)), Tensor("p", (2, 2), "INT32",
                         np.array([[1, 1], [2, 0]], np.int32)), T("y", (4, 5))],
                         "MirrorPadOptions", Mode=0),
    "sum": single("SUM", [T("x", (2, 3, 4)), i32("axes", 0, 2), T("y", (3,))], "ReducerOptions",
                  KeepDims=False),
    "reduce_prod": single("REDUCE_PROD", [T("x", (2, 3)), i32("axes", -1), T("y", (2, 1))],
                          "ReducerOptions", KeepDims=True),
    "reduce_max": single("REDUCE_MAX", [T("x", (2, 3)), i32("axes", 1), T("y", (2,))],
                         "ReducerOptions", KeepDims=False),
    "reduce_min": single("REDUCE_MIN", [T("x", (2, 3)), i32("axes", 1), T("y", (2,))],
                         "ReducerOptions", KeepDims=False),
    "reduce_any": single("REDUCE_ANY", [T("x", (4, 2), "BOOL"), i32("axes", 1),
                                        T("y", (4,), "BOOL")], "ReducerOptions", KeepDims=False),
    "reduce_all": single("REDUCE_ALL", [T("x", (4, 2), "BOOL"), i32("axes", 1),
                                        T("y", (4, 1), "BOOL")], "ReducerOptions", KeepDims=True),
    "arg_max": single("ARG_MAX", [T("x", (2, 5)), scalar("axis", 1), T("y", (2,), "INT32")],
                      "ArgMaxOptions", OutputType=2),
    "arg_min": single("ARG_MIN", [T("x", (2, 5)), scalar("axis", 0), T("y", (5,), "INT64")],
                      "ArgMinOptions", OutputType=4),
    "less": single("LESS", [T("a", (2, 3)), T("b", (1, 3)), T("y", (2, 3), "BOOL")]),
    "equal": single("EQUAL", [T("a", (40,), "INT32"), T("b", (40,), "INT32"),
                              T("y", (40,), "BOOL")]),
    "logical_and": single("LOGICAL_AND", [T("a", (9,), "BOOL"), T("b", (9,), "BOOL"),
                                          T("y", (9,), "BOOL")]),
    "logical_not": single("LOGICAL_NOT", [T("x", (9,), "BOOL"), T("y", (9,), "BOOL")]),
    "arg_max int8": single("ARG_MAX", [s8("x", 6, 9), scalar("axis", 1), T("y", (6,), "INT32")],
                           "ArgMaxOptions", OutputType=2),
    "arg_min int8": single("ARG_MIN", [s8("x", 6, 9), scalar("axis", 0), T("y", (9,), "INT64")],
                           "ArgMinOptions", OutputType=4),
    "greater int8": single("GREATER", [s8("a", 90), s8("b", 90), T("y", (90,), "BOOL")]),
    "equal int8": single("EQUAL", [s8("a", 900), s8("b", 1), T("y", (900,), "BOOL")]),
    "select_v2 int8": single("SELECT_V2", [T("c", (1, 30), "BOOL"), s8("a", 3, 30), s8("b", 3, 1),
                                           s8("y", 3, 30)]),
    "less of two scales": single("LESS", [s8("a", 90), s8("b", 1, scale=0.011, zero_point=-90),
                                          T("y", (90,), "BOOL")]),
    "select int8 by row": single("SELECT", [T("c", (5,), "BOOL"), s8("a", 5, 3), s8("b", 5, 3),
                                            s8("y", 5, 3)]),
    "cast": single("CAST", [T("x", (7,)), T("y", (7,), "INT32")]),
    **{f"cast {source} to {target}": single("CAST", [T("x", (9,), source), T("y", (9,), target)])
       for source in ("UINT8", "INT8", "INT16") for target in ("FLOAT32", "INT32")},
    "cast to UINT8": single("CAST", [T("x", (9,), "INT32"), T("y", (9,), "UINT8")]),
    "dynamic_update_slice": single("DYNAMIC_UPDATE_SLICE", [
        T("x", (4, 3)), T("part", (2, 3)), T("at", (2,), "INT32"), T("y", (4, 3))]),
    "dynamic_update_slice int8": single("DYNAMIC_UPDATE_SLICE", [
        s8("x", 9), s8("part", 4), i32("at", 3), s8("y", 9)]),
    "quantize INT32": single("QUANTIZE", [T("x", (40,), "INT32", scale=1e-9), s8("y", 40)]),
    "add_n": single("ADD_N", [T("a", (3,)), T("b", (3,)), T("c", (3,)), T("y", (3,))]),
    "space_to_batch": single("SPACE_TO_BATCH_ND", [T("x", (2, 3, 4, 5)), i32("block", 2, 2),
                             Tensor("pads", (2, 2), "INT32", np.array([[0, 1], [1, 1]], np.int32)),
                             T("y", (8, 2, 3, 5))]),
    "space_to_batch int8": single("SPACE_TO_BATCH_ND", [s8("x", 1, 4, 3), i32("block", 2),
                                  Tensor("pads", (1, 2), "INT32", np.array([[1, 1]], np.int32)),
                                  s8("y", 2, 3, 3)]),
    "space_to_batch along rows": single(
        "SPACE_TO_BATCH_ND", [T("x", (2, 3, 4, 5)), i32("block", 1, 2), Tensor("pads", (2, 2),
        "INT32", np.array([[0, 1], [1, 1]], np.int32)), T("y", (4, 4, 3, 5))]),
    "batch_to_space along columns": single(
        "BATCH_TO_SPACE_ND", [T("x", (6, 2, 3, 5)), i32("block", 3, 1), Tensor("crop", (2, 2),
        "INT32", np.array([[1, 2], [0, 1]], np.int32)), T("y", (2, 3, 2, 5))]),
    "batch_to_space": single("BATCH_TO_SPACE_ND", [T("x", (8, 2, 3, 5)), i32("block", 2, 2),
                             Tensor("crop", (2, 2), "INT32", np.array([[0, 1], [1, 1]], np.int32)),
                             T("y", (2, 3, 4, 5))]),
    "batch_matmul int16 with int8": single(
        "BATCH_MATMUL", [T("a", (2, 4, 3), "INT16", scale=0.01), s8("b", 5, 4, zero_point=0),
                         T("y", (2, 3, 5), "INT16", scale=0.05)],
        "BatchMatMulOptions", AdjX=True, AdjY=True),
    "batch_matmul int16 with constants": single(
        "BATCH_MATMUL", [T("a", (2, 3, 4), "INT16", scale=0.01),
                         T("b", (4, 5), "INT8", np.arange(-128, -108, dtype=np.int8), scale=0.05),
                         T("y", (2, 3, 5), "INT16", scale=0.05)], "BatchMatMulOptions"),
    "batch_matmul": single("BATCH_MATMUL", [T("a", (2, 3, 4)), T("b", (2, 5, 4)),
                                            T("y", (2, 3, 5))], "BatchMatMulOptions", AdjY=True),
    "strided_slice in the middle": single(
        "STRIDED_SLICE", [s8("x", 2, 3, 4), i32("begin", 1, 0, 0, 0), i32("end", 2, 0, 3, 0),
        i32("strides", 1, 1, 2, 1), s8("y", 3, 2, 1)], "StridedSliceOptions", EllipsisMask=2,
        NewAxisMask=8, ShrinkAxisMask=1),
    "strided_slice in front": single(
        "STRIDED_SLICE", [T("x", (4, 3, 2)), i32("begin", 1), i32("end", 3), i32("strides", 1),
        T("y", (2, 3, 2))], "StridedSliceOptions"),
    "strided_slice by lengths": single(
        "STRIDED_SLICE", [T("x", (4, 3)), i32("begin", 1, 0), i32("end", 2, 2),
        i32("strides", 1, 1), T("y", (2, 2))], "StridedSliceOptions", Offset=True),
    "reverse": single("REVERSE_V2", [s8("x", 2, 3, 4), i32("axes", -1, 0, 1), s8("y", 2, 3, 4)]),
    "reverse along the first axes": single(
        "REVERSE_V2", [T("x", (2, 3, 4)), i32("axes", 0, 1), T("y", (2, 3, 4))]),
    "embedding_lookup": single("EMBEDDING_LOOKUP", [T("row", (3,), "INT32"), T("x", (5, 4), data=
                               np.arange(20, dtype=np.float32)), T("y", (3, 4))]),
    "gather rows": single("GATHER", [T("x", (5, 4), data=np.arange(20, dtype=np.float32)),
                          T("row", (2, 3), "INT32"), T("y", (2, 3, 4))], "GatherOptions", Axis=-2),
    "strided_slice": single("STRIDED_SLICE", [T("x", (4, 5)), i32("begin", 1, 0),
                            i32("end", 0, 5), i32("strides", 1, 2), T("y", (3, 3))],
                            "StridedSliceOptions", EndMask=1),
}  # fmt: skip
