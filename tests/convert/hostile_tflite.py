""".tflite files that fit their schema and still make no sense, and why each is refused.

Kinds that ``test_tflite_refusals`` has are not here again.
"""

import numpy as np

from tests.convert.raw_tflite import Op, Sparse, Subgraph, Tensor, build
from tests.convert.tflite_files import i32, s8, scalar
from tinyrt.errors import (
    ModelFormatError,
    ShapeError,
    TinyrtError,
    UnsupportedError,
    VerifyError,
)

MOST = 2**31 - 1
T = Tensor
ADD = Op("ADD", ["x", "x"], ["y"], "AddOptions")


def model(*tensors, op=ADD, more=(), inputs=("x",), outputs=("y",), x=(2, 3), y=None, **kw):
    """x -> y by one op, further tensors and ops."""
    named = {t.name for t in tensors}
    ports = [T(n, s) for n, s in (("x", x), ("y", x if y is None else y)) if n not in named]
    return build(Subgraph([*ports, *tensors], [op, *more], inputs, outputs), **kw)


def op(builtin, *constants, inputs=None, table=None, x=(2, 3), y=(2, 3), tensors=(), **fields):
    """x and constants -> y by one op."""
    names = ["x", *(c.name for c in constants)] if inputs is None else inputs
    return model(*constants, *tensors, op=Op(builtin, names, ["y"], table, fields), x=x, y=y)


def conv(weights=(2, 1, 1, 3), x=(1, 4, 4, 3), y=(1, 4, 4, 2), **fields):
    ones = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    w = T("w", weights, data=np.zeros(weights, np.float32))
    return op("CONV_2D", w, table="Conv2DOptions", x=x, y=y, **{**ones, **fields})


def pool(**fields):
    ones = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1}
    shape = (1, 4, 4, 3)
    return op("MAX_POOL_2D", table="Pool2DOptions", x=shape, y=shape, **{**ones, **fields})


def unary(builtin, x_scale, y_scale, dtype="INT8", y_zp=0, table=None, **fields):
    """An op on one quantised tensor, by its scales."""
    x, y = T("x", (4,), dtype, scale=x_scale), T("y", (4,), dtype, scale=y_scale, zero_point=y_zp)
    return model(x, y, op=Op(builtin, ["x"], ["y"], table, fields))


def floats(name, *values):
    return T(name, (len(values),), data=np.array(values, np.float32))


def folded(builtin, *constants, shape=(2,), table=None, **fields):
    """An op on constants alone, of whose result a reshape is made."""
    ints = T("n", shape, "INT32")
    first = Op(builtin, [c.name for c in constants], ["n"], table, fields)
    return model(*constants, ints, op=first, more=[Op("RESHAPE", ["x", "n"], ["y"])])


def variable(first, *ops, n="INT32", subgraphs=(), tensors=()):
    """A resource variable between the input and the output."""
    held = [T("h", (1,), "RESOURCE"), *tensors]
    return build(Subgraph([T("x", (3,)), T("y", (3,)), *held], [first, *ops], ["x"], ["y"]),
                 *subgraphs)  # fmt: skip


HANDLE = Op("VAR_HANDLE", [], ["h"], "VarHandleOptions", texts={"SharedName": "v"})
SVDF = [s8("x", 1, 2), s8("f", 2, 2), T("t", (2, 1), "INT16", scale=0.1), s8("y", 1, 2)]


def deep(rank):
    return model(T("x", (1,) * rank), T("y", (1,) * rank))


HOSTILE = {
    # Inputs and outputs of ops
    "gather without indices": (op("GATHER", table="GatherOptions"), ModelFormatError, "input 1"),
    "gather of nothing": (op("GATHER", inputs=[], table="GatherOptions"), ModelFormatError, "0"),
    "pad without paddings": (op("PAD"), UnsupportedError, "paddings"),
    "padv2 with an absent fill": (op("PADV2", i32("p", 0, 0, 0, 0), inputs=["x", "p", ""]),
                                  UnsupportedError, "pad with"),
    "dequantize of nothing": (
        model(s8("q", 2, 3), T("f", (2, 3)), op=Op("DEQUANTIZE", [], ["f"]),
              more=[Op("QUANTIZE", ["f"], ["q"]), ADD]), VerifyError, "0 inputs"),
    "an absent operand": (op("DEQUANTIZE", inputs=[""]), VerifyError, "0 inputs"),
    "an absent first operand": (op("ADD", inputs=["", "x"], table="AddOptions"),
                                VerifyError, "input 0 is missing"),
    "too many inputs": (op("ADD", inputs=["x"] * 3, table="AddOptions"), VerifyError, "3 inputs"),
    "no output": (model(op=Op("ADD", ["x", "x"], [], "AddOptions")), ModelFormatError, "no output"),
    "two outputs": (model(T("z", (2, 3)), op=Op("ADD", ["x", "x"], ["y", "z"], "AddOptions")),
                    VerifyError, "output is"),
    "one tensor as two outputs": (model(op=Op("UNPACK", ["x"], ["y", "y"], "UnpackOptions",
                                  {"Num": 2}), y=(3,)), VerifyError, "defined twice"),
    "two outputs of a sum": (model(T("z", (2, 3)), op=Op("ADD_N", ["x", "x"], ["y", "z"])),
                             ModelFormatError, "2 outputs"),
    "two outputs of a choice": (
        model(T("c", (2, 3), "BOOL"), T("z", (2, 3)), op=Op("SELECT", ["c", "x", "x"], ["y", "z"]),
              inputs=["x", "c"]), ModelFormatError, "2 outputs"),
    "its own producer": (model(op=Op("ADD", ["x", "y"], ["y"], "AddOptions")),
                         VerifyError, "used before"),
    "an input that an op computes": (model(op=Op("ADD", ["x", "x"], ["x"], "AddOptions")),
                                     VerifyError, "defined twice"),
    "a constant that an op computes": (
        model(floats("k", 1, 2, 3), op=Op("ADD", ["x", "k"], ["k"], "AddOptions"), outputs=["k"]),
        VerifyError, "defined twice"),
    "a constant that a fold computes": (
        model(i32("k", 6), T("y", (6,)), op=Op("SHAPE", ["x"], ["k"]),
              more=[Op("RESHAPE", ["x", "k"], ["y"])]), VerifyError, "defined twice"),
    # Ports
    "one tensor as two inputs": (model(inputs=["x", "x"]), VerifyError, "two inputs"),
    "a constant as input": (model(floats("k", 1), inputs=["x", "k"]), VerifyError, "constant"),
    "no inputs": (model(inputs=[]), ModelFormatError, "0 inputs"),
    "no outputs": (model(outputs=[]), ModelFormatError, "0 outputs"),
    "an output that nothing computes": (model(T("z", (2, 3)), outputs=["z"]), VerifyError, "never"),
    "an input that is not there": (model(inputs=[99]), ModelFormatError, "tensor 99 of 2"),
    "an output that is not there": (model(outputs=[-1]), ModelFormatError, "tensor -1 of 2"),
    # Shapes
    "17 dimensions": (deep(17), UnsupportedError, "17 dimensions"),
    "100 dimensions": (deep(100), UnsupportedError, "100 dimensions"),
    "elements beyond 32 bits": (model(x=(MOST, 2)), UnsupportedError, "4,294,967,294 elements"),
    "elements beyond 64 bits": (model(x=(MOST, MOST, MOST)), UnsupportedError, "elements"),
    "a scalar to a convolution": (conv(x=(), y=()), ShapeError, "4 dimensions"),
    # Data types
    "int4 activations": (model(T("x", (2, 3), "INT4", scale=0.1), T("y", (2, 3), "INT4", scale=0.1),
                         op=Op("RESHAPE", ["x"], ["y"])), VerifyError, "does not fit"),
    "an int4 input that is an output": (
        model(T("c", (2,), "INT4"), inputs=["x", "c"], outputs=["y", "c"]),
        VerifyError, "does not fit"),
    "half activations": (model(T("x", (6,), "FLOAT16"), T("y", (6,), "FLOAT16"),
                         op=Op("RESHAPE", ["x"], ["y"])), VerifyError, "does not fit"),
    "strings": (model(T("s", (1,), "STRING")), UnsupportedError, "dtype STRING"),
    "a sparse tensor": (model(T("s", (1,), sparse=Sparse())), ModelFormatError, "stored sparse"),
    "a shape in floats": (op("RESHAPE", floats("n", 3, 2), y=(3, 2)), UnsupportedError, "shape"),
    # Quantisation
    "a scale below 0": (model(s8("x", 2, 3, scale=-1.0)), ModelFormatError, "scales must"),
    "zero points beyond 32 bits": (
        model(T("b", (1,), "INT32", np.zeros(1, np.int32), scale=1.0, zero_point=2**40)),
        ModelFormatError, "zero_point"),
    "zero points that differ": (
        model(T("k", (2,), "INT8", np.zeros(2, np.int8), scale=(1, 1), zero_point=(0, 1))),
        UnsupportedError, "zero points differ"),
    "too few zero points": (
        model(T("k", (3,), "INT8", np.zeros(3, np.int8), scale=(1, 1, 1), zero_point=(0, 0))),
        ModelFormatError, "3 scales and 2 zero points"),
    "more scales than a dimension": (
        model(T("k", (3,), "INT8", np.zeros(3, np.int8), scale=(1,) * 99)),
        ModelFormatError, "99 scales"),
    # Buffers
    "outside of the file": (model(T("k", (4,), outside=(2**40, 16))), ModelFormatError, "buffer 1"),
    "outside beyond 64 bits": (model(T("k", (4,), outside=(2**64 - 8, 2**64 - 8))),
                               ModelFormatError, "buffer 1"),
    "metadata without buffer": (
        model(metadata={"tinyrt.fresh": b"[[[["}), ModelFormatError, "list of names"),
    # Options
    "options that are missing": (model(op=Op("ADD", ["x", "x"], ["y"], kind=11)),
                                 ModelFormatError, "options are missing"),
    "a stride of 2**31 - 1": (conv(StrideH=MOST), ShapeError, "stride"),
    "a negative stride": (conv(StrideW=-1), ShapeError, "stride"),
    "a dilation of 2**31 - 1": (conv(DilationHFactor=MOST), ShapeError, "dilation"),
    "a negative dilation": (conv(DilationHFactor=-2), ShapeError, "dilation"),
    "a window of 0": (pool(FilterHeight=0), ShapeError, "kernel"),
    "a window of -1": (pool(FilterWidth=-1), ShapeError, "kernel"),
    "blocks of 0": (op("DEPTH_TO_SPACE", table="DepthToSpaceOptions", x=(1, 2, 2, 4),
                       y=(1, 4, 4, 1), BlockSize=0), ShapeError, "blocks of 0"),
    "blocks of -2": (op("SPACE_TO_DEPTH", table="SpaceToDepthOptions", x=(1, 2, 2, 4),
                        y=(1, 1, 1, 16), BlockSize=-2), ShapeError, "blocks of -2"),
    "batches of indices": (op("GATHER", i32("i", 0), table="GatherOptions", BatchDims=1),
                           ModelFormatError, "dimensions of a batch"),
    "an axis to join along": (op("CONCATENATION", table="ConcatenationOptions", Axis=MOST),
                              ShapeError, "axis"),
    "an axis to pack along": (op("PACK", table="PackOptions", Axis=-9), ModelFormatError, "axis"),
    "a slope of NaN": (op("LEAKY_RELU", table="LeakyReluOptions", Alpha=np.nan),
                       ModelFormatError, "alpha is nan"),
    "a slope without end": (op("LEAKY_RELU", table="LeakyReluOptions", Alpha=np.inf),
                            ModelFormatError, "alpha is inf"),
    "beta": (op("SOFTMAX", table="SoftmaxOptions", Beta=-np.inf), ModelFormatError, "beta is -inf"),
    "shuffled weights": (op("FULLY_CONNECTED", floats("w", 1), table="FullyConnectedOptions",
                            WeightsFormat=1), UnsupportedError, "shuffled"),
    # Constants that ops read
    "a permutation with repeats": (op("TRANSPOSE", i32("p", 0, 0)), ShapeError, "perm"),
    "a permutation beyond": (op("TRANSPOSE", i32("p", 0, MOST)), ShapeError, "perm"),
    "a short permutation": (op("TRANSPOSE", i32("p", 0)), ShapeError, "perm"),
    "axes to sum": (op("SUM", i32("a", 2), table="ReducerOptions", y=(2,)), ShapeError, "ax"),
    "a window of 2**32 taps": (pool(FilterHeight=1 << 16, FilterWidth=1 << 16),
                               ShapeError, "reach"),
    "paddings": (op("PAD", i32("p", 1, 1)), ModelFormatError, "2 paddings"),
    "paddings of an unknown shape": (op("PAD", i32("p", 1, 1), x=()), UnsupportedError,
                                     "does not say its shape"),
    "negative paddings": (op("PAD", i32("p", -1, 0, 0, 0), y=(1, 3)), ShapeError, "padding"),
    "paddings without end": (op("PAD", i32("p", MOST, MOST, MOST, MOST)), TinyrtError, "elements"),
    "a slice beyond": (op("SLICE", i32("b", 1, 0), i32("s", 2, 3)), ShapeError, "slice"),
    "a slice before": (op("SLICE", i32("b", -1, 0), i32("s", -1, 3)), ShapeError, "slice"),
    "a long slice": (op("SLICE", i32("b", 0, 0, 0), i32("s", 1, 1, 1)), ModelFormatError, "lists"),
    "strides of 0": (op("STRIDED_SLICE", i32("b", 0, 0), i32("e", 2, 3), i32("s", 0, 1),
                        table="StridedSliceOptions"), ModelFormatError, "strides other than 0"),
    "an index of 33 entries": (
        op("STRIDED_SLICE", *(i32(n, *[1] * 33) for n in "bes"), table="StridedSliceOptions",
           NewAxisMask=-1), ModelFormatError, "at most 32"),
    "one entry beyond": (op("STRIDED_SLICE", i32("b", 9), i32("e", 10), i32("s", 1), y=(3,),
                            table="StridedSliceOptions", ShrinkAxisMask=1), ShapeError, "slice"),
    "indices beyond": (op("GATHER", i32("i", 2), table="GatherOptions", y=(1, 3)),
                       ShapeError, "ind"),
    "nested indices beyond": (op("GATHER_ND", T("i", (1, 1), "INT32", np.full((1, 1), 7, np.int32)),
                                 y=(1, 3)), ModelFormatError, "outside"),
    "tiles of 0": (op("TILE", i32("m", 0, 1)), ShapeError, "multiple"),
    "a shape that grows": (op("BROADCAST_TO", i32("s", MOST, MOST)), ShapeError, "broadcast"),
    "a size of 0": (op("RESIZE_BILINEAR", i32("s", 0, 4), table="ResizeBilinearOptions",
                       x=(1, 2, 2, 1), y=(1, 4, 4, 1)), ShapeError, "size"),
    "sizes to split into": (
        model(i32("s", -5, 8), scalar("a", 1), T("z", (2, 8)), y=(2, 3),
              op=Op("SPLIT_V", ["x", "s", "a"], ["y", "z"])), ShapeError, "slice"),
    "blocks with paddings": (op("SPACE_TO_BATCH_ND", i32("b", 2), i32("p", 0, 0, 0)),
                             ModelFormatError, "pair"),
    "a block of 0": (op("BATCH_TO_SPACE_ND", i32("b", 0), i32("c", 0, 0)),
                     ModelFormatError, "pair"),
    "places to reverse": (op("REVERSE_V2", i32("a", 5)), ModelFormatError, "axes"),
    "two numbers of maxima": (
        model(i32("k", 1, 1), T("p", (1, 1), "INT32"), y=(1, 1),
              op=Op("TOPK_V2", ["x", "k"], ["y", "p"], "TopKV2Options")),
        ModelFormatError, "2 numbers"),
    "maxima without places": (op("TOPK_V2", i32("k", 1), table="TopKV2Options"),
                              ModelFormatError, "1 outputs"),
    "two places of a maximum": (op("ARG_MAX", i32("a", 0, 1), table="ArgMaxOptions"),
                                ModelFormatError, "one axis"),
    # What is computed of constants while the file is read
    "a fold without a place": (folded("GATHER", i32("a", 2, 3), i32("i", 9), shape=(1,),
                               table="GatherOptions"), ShapeError, "ind"),
    "a shape in bytes": (
        model(T("n", (2,), "INT8"), op=Op("SHAPE", ["x"], ["n"]),
              more=[Op("RESHAPE", ["x", "n"], ["y"])]), ModelFormatError, "does not hold"),
    # State, subgraphs
    "a state that is no variable": (
        model(*SVDF, s8("s", 1, 4), op=Op("SVDF", ["x", "f", "t", "", "s"], ["y"], "SVDFOptions",
              {"Rank": 1}), inputs=["x", "s"]), ModelFormatError, "no variable"),
    "a state that is an input": (
        model(*SVDF, T("s", (1, 4), "INT16", scale=0.1, variable=True), inputs=["x", "s"],
              op=Op("SVDF", ["x", "f", "t", "", "s"], ["y"], "SVDFOptions", {"Rank": 1})),
        TinyrtError, None),
    "no handle": (variable(Op("READ_VARIABLE", ["h"], ["y"])), ModelFormatError, "no handle"),
    "nothing to assign": (variable(HANDLE, Op("ASSIGN_VARIABLE", ["h"], [])),
                          ModelFormatError, "without a value"),
    "a beginning that is not there": (
        variable(Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1})),
        ModelFormatError, "subgraph 1"),
    "a beginning in itself": (
        variable(Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 0})),
        UnsupportedError, "CALL_ONCE runs more"),
    "a loop of itself": (op("WHILE", table="WhileOptions"), ModelFormatError, "16 deep"),
    "a call of itself": (op("CALL", table="CallOptions"), ModelFormatError, "16 deep"),
    # Arithmetic beyond what kernels can shift by
    "hard_swish to no steps": (unary("HARD_SWISH", 1.0, 1e-45), VerifyError, "factor"),
    "hard_swish of huge steps": (unary("HARD_SWISH", 1e38, 1e38), VerifyError, "factor"),
    "rsqrt of no steps": (unary("RSQRT", 1e-45, 1e-45), VerifyError, "factor"),
    "log_softmax of no steps": (unary("LOG_SOFTMAX", 1e-30, 1 / 16, y_zp=127), VerifyError, "fact"),
    "quantize by a huge factor": (unary("QUANTIZE", 1e38, 1e-38), VerifyError, "factor"),
}  # fmt: skip
