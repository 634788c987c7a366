""".tflite files that fit their schema and still make no sense: each is refused by name, in time.

Kinds that ``test_tflite_refusals`` has are not here again.
"""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, scaled
from tests.convert.tflite_files import i32, s8, scalar
from tests.work import calls
from tinyrt.budget import limited
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import (
    BudgetError,
    DefectError,
    ModelFormatError,
    ShapeError,
    TinyrtError,
    UnsupportedError,
    VerifyError,
)
from tinyrt.export import export_graph
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.config import Scheme, configure
from tinyrt.quantize.ranges import weight_params

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
    "a sparse tensor": (model(T("s", (1,), sparse=True)), UnsupportedError, "stored sparse"),
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
    "batches of indices": (op("GATHER", i32("i", 0), table="GatherOptions", BatchDims=-1),
                           UnsupportedError, "batch dimensions"),
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
    "negative paddings": (op("PAD", i32("p", -1, 0, 0, 0), y=(1, 3)), ShapeError, "padding"),
    "paddings without end": (op("PAD", i32("p", MOST, MOST, MOST, MOST)), TinyrtError, "output"),
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
    "two places of a maximum": (op("ARG_MAX", i32("a", 0, 1), table="ArgMaxOptions"),
                                ModelFormatError, "one axis"),
    # What is computed of constants while the file is read
    "a fold of another size": (folded("PACK", scalar("a", 2), scalar("b", 3), scalar("c", 1),
                               table="PackOptions", ValuesCount=3), VerifyError, "expected|output"),
    "a fold without a place": (folded("GATHER", i32("a", 2, 3), i32("i", 9), shape=(1,),
                               table="GatherOptions"), ShapeError, "ind"),
    "a shape of another size": (
        model(T("n", (5,), "INT32"), op=Op("SHAPE", ["x"], ["n"]),
              more=[Op("RESHAPE", ["x", "n"], ["y"])]), ModelFormatError, "does not hold"),
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
        variable(Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 7})),
        ModelFormatError, "subgraph 7"),
    "a beginning in itself": (
        variable(Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 0})),
        UnsupportedError, "CALL_ONCE runs more"),
    "a loop": (op("WHILE", table="WhileOptions"), UnsupportedError, "WHILE"),
    "a call of itself": (op("CALL", table="CallOptions"), UnsupportedError, "CALL"),
    # Arithmetic beyond what kernels can shift by
    "hard_swish to no steps": (unary("HARD_SWISH", 1.0, 1e-45), VerifyError, "factor"),
    "hard_swish of huge steps": (unary("HARD_SWISH", 1e38, 1e38), VerifyError, "factor"),
    "rsqrt of no steps": (unary("RSQRT", 1e-45, 1e-45), VerifyError, "factor"),
    "log_softmax of no steps": (unary("LOG_SOFTMAX", 1e-30, 1 / 16, y_zp=127), VerifyError, "fact"),
    "quantize by a huge factor": (unary("QUANTIZE", 1e38, 1e-38), VerifyError, "factor"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_makes_no_sense_is_refused_by_name(kind):
    data, error, problem = HOSTILE[kind]
    with pytest.raises(error, match=problem) as caught:
        Interpreter(model_content=data, backend="reference").allocate_tensors()
    assert not isinstance(caught.value, DefectError)
    assert len(str(caught.value).splitlines()) <= 12


@pytest.mark.parametrize("old_byte", [True, False])
def test_an_op_is_what_its_code_says_with_and_without_the_old_byte(old_byte):
    data = build(scaled(3), old_byte=old_byte)
    assert [node.op for node in parse_tflite(data).nodes] == ["mul"]


def test_a_custom_op_is_none_of_the_schema_whatever_its_old_byte_says():
    data = build(Subgraph([T("x", (3,)), T("y", (3,))], [Op("CUSTOM", ["x"], ["y"])], "x", "y"),
                 old_byte=False)  # fmt: skip
    with pytest.raises(UnsupportedError, match="CUSTOM"):
        parse_tflite(data)


def test_names_that_are_made_of_numbers_stay_apart():
    tensors = [T("z:2", (3,)), T("z", (3,)), T("z", (3,)), T("", (3,)), T("tensor_3", (3,))]
    ops = [Op("ADD", [i, i], [i + 1], "AddOptions") for i in range(4)]
    graph = parse_tflite(build(Subgraph(tensors, ops, [0], [4])))
    assert len({n.outputs[0] for n in graph.nodes} | set(graph.inputs)) == 5


def test_truth_values_of_other_bytes_are_true():
    held = T("c", (3,), "BOOL", np.array([0, 1, 6], np.uint8))
    more = [floats("a", 1, 1, 1), T("x", (3,)), T("y", (3,))]
    data = model(held, *more, op=Op("SELECT_V2", ["c", "a", "x"], ["y"]))
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.invoke()
    output = interpreter.get_output_details()[0]["index"]
    assert interpreter.get_tensor(output).tolist() == [0, 1, 1]


def test_sigmoids_of_huge_steps_saturate():
    data = unary("TANH", 1e38, 1 / 32768, "INT16")
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.array([-9, -1, 0, 1], np.int16))
    interpreter.invoke()
    assert interpreter.get_tensor(1).tolist() == [-32767, -32767, 0, 32767]


def shared(count, elements, dtype="INT4"):
    """Many constants that are one buffer, each of which is widened."""
    first = T("k0", (elements,), dtype, np.zeros(elements // 2, np.uint8), scale=1.0)
    others = [T(f"k{i}", (elements,), dtype, scale=1.0, shares="k0") for i in range(1, count)]
    return model(first, *others)


def test_constants_that_share_bytes_are_paid_for_one_by_one():
    with limited(memory=10_000_000), pytest.raises(BudgetError, match="the constant 'k"):
        parse_tflite(shared(count=50, elements=400_000))


def test_a_fold_is_paid_for_before_it_is_computed():
    data = folded("BROADCAST_TO", scalar("a", 1), i32("s", 1 << 29), shape=(1 << 29,))
    with pytest.raises(BudgetError, match="constant result of broadcast_to"):
        parse_tflite(data)


def chain(length):
    tensors = [T(f"t{i}", (1,)) for i in range(length + 1)]
    ops = [Op("NEG", [i], [i + 1]) for i in range(length)]
    return build(Subgraph(tensors, ops, [0], [length]))


@pytest.mark.slow
def test_long_models_are_read_in_linear_time():
    short, long = chain(200), chain(800)
    assert calls(lambda: parse_tflite(long)) < 4.2 * calls(lambda: parse_tflite(short))


def test_what_the_format_cannot_hold_is_not_written():
    values = {"x": Value("x", DType.FLOAT32, (2**32,)), "y": Value("y", DType.FLOAT32, (2**31, 2))}
    node = Node("reshape", "y", ("x",), ("y",), ReshapeAttrs((2**31, 2)))
    with pytest.raises(UnsupportedError, match="32 bits"):
        write_tflite(Graph("big", ("x",), ("y",), values, (node,)))


def test_two_gigabytes_are_not_written():
    weights = np.broadcast_to(np.float32(0), (2**29, 1))
    x, y = Value("x", DType.FLOAT32, (1, 1)), Value("y", DType.FLOAT32, (2**29, 1))
    values = {"x": x, "y": y, "w": Value.constant("w", weights)}
    node = Node("add", "y", ("x", "w"), ("y",), AddAttrs())
    with pytest.raises(UnsupportedError, match="2 GiB"):
        write_tflite(Graph("big", ("x",), ("y",), values, (node,)))


def dense(weight=0.5, bias=0.5):
    """A float layer of a few weights and a bias."""
    w = T("w", (3, 3), data=np.full((3, 3), weight, np.float32))
    b = T("b", (3,), data=np.full(3, bias, np.float32))
    op = Op("FULLY_CONNECTED", ["x", "w", "b"], ["y"], "FullyConnectedOptions")
    return parse_tflite(model(w, b, op=op))


@pytest.mark.parametrize("bad", [{"weight": np.nan}, {"bias": -np.inf}])
def test_weights_that_are_no_numbers_are_not_stored_in_integers(bad):
    with pytest.raises(UnsupportedError, match="weights hold NaN"):
        quantize_graph(dense(**bad), None, configure(None, scheme=Scheme.WEIGHTS_INT8))


def test_a_model_with_state_is_not_calibrated():
    read, write = Op("READ_VARIABLE", ["h"], ["s"]), Op("ASSIGN_VARIABLE", ["h", "y"], [])
    both = Op("ADD", ["x", "s"], ["y"], "AddOptions")
    graph = parse_tflite(variable(HANDLE, read, both, write, tensors=[T("s", (3,))]))
    with pytest.raises(UnsupportedError, match="keeps state"):
        quantize_graph(graph, np.ones((4, 3), np.float32))


def test_a_bias_beyond_all_scales_is_refused():
    with pytest.raises(UnsupportedError, match="bias is too large"):
        weight_params(np.ones((1, 1)), np.full(1, 3e38, np.float32), 1e-30, 0)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (build(Subgraph([T("x", (2, 2, 1))], [], ["x"], ["x"])), "nothing to compute"),
        (op("SUM", i32("a", 0), table="ReducerOptions", x=(MOST,), y=()), "8.0 GiB"),
    ],
)
def test_what_no_device_can_run_is_not_exported(tmp_path, data, says, by_rows):
    with pytest.raises(UnsupportedError, match=says):
        export_graph(parse_tflite(data), tmp_path / "c", by_rows=by_rows)
    assert not list(tmp_path.iterdir())
