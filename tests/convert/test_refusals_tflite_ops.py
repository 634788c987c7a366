""".tflite files with ops, variables and metadata that make no sense are refused, and named."""

from types import SimpleNamespace

import numpy as np
import pytest
import tflite
from flatbuffers.builder import BuilderSizeError

from tests.convert.hostile_tflite import HANDLE, SVDF, model, op, variable
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.convert.tflite_files import i32, s8
from tests.graphs import Builder, small_cnn
from tinyrt.convert.tflite import schema, writer
from tinyrt.convert.tflite.codec import i32 as i32_array
from tinyrt.convert.tflite.directory import _ports
from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.convert.tflite.reader import _Reader, map_file, parse_tflite
from tinyrt.convert.tflite.schema import builtin_name
from tinyrt.convert.tflite.writer import _table, write_tflite
from tinyrt.errors import TinyrtError
from tinyrt.interpreter import Interpreter

T = Tensor
TANH = tflite.ActivationFunctionType.TANH


def refused(action, *says):
    with pytest.raises(TinyrtError) as caught:
        action()
    for part in says:
        assert part in str(caught.value)
    return caught.value


def lstm(count=24, given=(), missing=(), **fields):
    """An LSTM of which no input fits, so that what is refused stands before shapes."""
    spare = {*range(9, 12), 16, 17, *range(20, 24), *missing} - set(given)
    inputs = ["" if i in spare else "x" for i in range(count)]
    options = {"FusedActivationFunction": TANH} | fields
    table = "UnidirectionalSequenceLSTMOptions"
    return model(op=Op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, ["y"], table, options))


def svdf():
    return model(*SVDF, op=Op("SVDF", ["x", "f", "t", ""], ["y"], "SVDFOptions", {"Rank": 1}))


def shared_state():
    state = T("s", (1, 2), "INT16", scale=0.1, variable=True)
    bias = T("b", (2,), "INT32", np.zeros(2, np.int32), scale=0.01)
    ops = [Op("SVDF", [*"xftbs"], [y], "SVDFOptions", {"Rank": 1}) for y in "yz"]
    parts = [*SVDF, state, bias, s8("z", 1, 2)]
    return model(*parts, op=ops[0], more=ops[1:], outputs=["y", "z"])


def changed_variable(before):
    """From v to x."""
    read, assign = Op("READ_VARIABLE", ["h"], ["v"]), Op("ASSIGN_VARIABLE", ["h", "x"], [])
    used = Op("RESHAPE" if before.dtype == "FLOAT32" else "CAST", ["v"], ["y"])
    return variable(HANDLE, read, assign, used, tensors=[before])


def call_once():
    call = Op("CALL_ONCE", [], ["z"], "CallOnceOptions", {"InitSubgraphIndex": 0})
    return variable(call, tensors=[T("z", (3,))])


def stepped():
    lists = i32("b", 0, 0, 0), i32("e", 1, 1, 1), i32("s", 1, 1, 1)
    return op("STRIDED_SLICE", *lists, table="StridedSliceOptions")


def computed_weights():
    shapes = {"x": (1, 3), "w": (2, 3), "y": (1, 2)}
    tensors = [T(name, shape, "UINT8", scale=0.1) for name, shape in shapes.items()]
    dense = Op("FULLY_CONNECTED", ["x", "w", ""], ["y"], "FullyConnectedOptions")
    return model(*tensors, op=dense, inputs=["x", "w"])


def begun_with(first):
    call = Op("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1})
    fill = [HANDLE, Op("ASSIGN_VARIABLE", ["h", "k"], [])]
    return variable(call, subgraphs=[Subgraph([T("h", (1,), "RESOURCE"), first], fill, [], [])])


def pooled():
    return model(s8("x", 1, 4, 4, 3), s8("y", 1, 4, 4, 3), op=Op("L2_POOL_2D", ["x"], ["y"], POOL))


def l2(activation):
    fields = {"FusedActivationFunction": schema.ACTIVATION[activation]}
    return op("L2_NORMALIZATION", table="L2NormOptions", **fields)


POOL = "Pool2DOptions"
IMAGE = {"x": (1, 4, 4, 3), "y": (1, 4, 4, 3)}
FEW = T("i", (2, 3), "INT32", np.zeros((2, 3), np.int32))
ALONE = T("i", (), "INT32", np.zeros((), np.int32))
BROKEN = {
    "gather_nd": (op("GATHER_ND", FEW), ["indices 'i' s32[2,3]", "1 to 2 numbers"]),
    "gather_nd, a number": (op("GATHER_ND", ALONE), ["indices 'i' s32[]", "1 to 2 numbers"]),
    "index": (stepped(), ["an index of 3 entries", "at most 2, and one ellipsis"]),
    "transposed": (
        op("TRANSPOSE_CONV", i32("s", 1, 2), inputs=["s", "x", "x"], table="TransposeConvOptions"),
        ["an output shape [1, 2]", "(n, h, w, c)"],
    ),
    "mirror": (
        op("MIRROR_PAD", i32("p", 1, 1), table="MirrorPadOptions"),
        ["2 paddings in mode 0", "two for each of 2 dimensions"],
    ),
    "resize": (
        op("RESIZE_BILINEAR", i32("s", 1, 2, 3), table="ResizeBilinearOptions", **IMAGE),
        ["a size of [1, 2, 3]", "height and width"],
    ),
    "cumsum": (
        op("CUMSUM", i32("a", 0, 1), table="CumsumOptions"),
        ["axes [0, 1]", "one axis"],
    ),
    "l2": (l2("RELU"), ["L2_NORMALIZATION with RELU", "NONE"]),
    "svdf": (svdf(), ["4 inputs", "expected: 5"]),
    "lstm inputs": (lstm(7), ["7 inputs", "20 or 24"]),
    "lstm peepholes": (lstm(given=[9]), ["an LSTM with peepholes", "one without"]),
    "lstm gates": (lstm(missing=[1]), ["an LSTM without an input gate", "four gates"]),
    "lstm activation": (
        lstm(FusedActivationFunction=schema.ACTIVATION["RELU"]),
        ["an LSTM with activation RELU", "TANH"],
    ),
    "lstm diagonal": (
        lstm(DiagonalRecurrentTensors=True),
        ["diagonal recurrent weights", "full ones"],
    ),
    "state": (shared_state(), ["two ops change this state", "'s' s16[1,2]"]),
    "variable": (
        changed_variable(T("v", (1, 3))),
        ["variable 'v' changes its type", "'x' f32[3]", "'v' f32[1,3]"],
    ),
    "variable of integers": (
        changed_variable(T("v", (3,), "INT32")),
        ["variable 'v' changes its type", "'x' f32[3]", "'v' s32[3]"],
    ),
    "call once": (call_once(), ["the op has outputs", "none"]),
    "handle": (variable(Op("VAR_HANDLE", [], [])), ["the op has no output", "VAR_HANDLE"]),
    "states": (
        model(metadata={"tinyrt.states": b"{"}),
        ["metadata 'tinyrt.states' is not a list of pairs", "Expecting"],
    ),
    "no model": (
        b"PK\x03\x04 something else",
        ["not a .tflite file", "the identifier TFL3 at byte 4", "make one with tinyrt convert"],
    ),
    "signature": (
        model(signatures={"f": 1}),
        ["signature 'f' is subgraph 1 of 1", "0 to 0"],
    ),
    "paired states": (
        model(metadata={"tinyrt.states": b'[["x", "nothing"]]'}),
        ["pairs 'x' with 'nothing'", "an input and an output of the model"],
    ),
    "parts": (
        op("UNPACK", y=(3,), table="UnpackOptions"),
        ["1 outputs", "expected: 2"],
    ),
    "pool": (pooled(), ["L2_POOL_2D on int8", "'x' s8[1,4,4,3]", "float32"]),
    "fill": (
        op("PADV2", i32("p", 0, 0, 0, 0), inputs=["x", "p", "x"]),
        ["what to pad with", "'x' f32[2,3]", "a constant scalar"],
    ),
    "begun with ones": (
        begun_with(T("k", (3,), data=np.ones(3, np.float32))),
        ["CALL_ONCE runs more", "'k' f32[3]", "variables that begin as zeros"],
    ),
    "begun below 0": (
        begun_with(T("k", (3,), "INT8", np.zeros(3, np.int8), 0.5, 3)),
        ["CALL_ONCE runs more", "'k' s8[3]", "variables that begin as zeros"],
    ),
    "computed weights": (
        computed_weights(),
        ["weights on uint8 are computed while the model runs", "'w' u8[2,3]", "constants"],
    ),
}


LSTM_WITHOUT = {
    **dict.fromkeys((9, 10, 11), "peepholes"),
    **dict.fromkeys((16, 17), "a projection"),
    **dict.fromkeys((20, 21, 22, 23), "layer normalisation"),
}


@pytest.mark.parametrize("place", LSTM_WITHOUT)
def test_inputs_of_an_lstm_that_are_left_out_are_all_named(place):
    says = f"an LSTM with {LSTM_WITHOUT[place]}"
    refused(lambda: Interpreter(model_content=lstm(given=[place])), says, "one without")


@pytest.mark.parametrize("kind", BROKEN)
def test_ops_that_make_no_sense_are_refused(kind):
    data, says = BROKEN[kind]
    error = refused(lambda: Interpreter(model_content=data), *says)
    assert error.hint


def test_other_versions_of_the_format_are_refused(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(schema, "VERSION", 4)
        data = model()
    refused(lambda: Interpreter(model_content=data), "the file has schema version 4", "expected: 3")


def test_a_file_that_is_not_there_is_no_model(tmp_path):
    says = ["cannot read the model: No such file", "m.tflite", "check the path"]
    refused(lambda: map_file(tmp_path / "m.tflite"), *says)


def test_an_empty_file_is_no_model(tmp_path):
    (tmp_path / "m.tflite").write_bytes(b"")
    says = ["the model file is empty", "m.tflite", "copy or export the model again"]
    refused(lambda: map_file(tmp_path / "m.tflite"), *says)


def fake(**lengths):
    """A part of a parsed file, with the answers of its methods."""
    return SimpleNamespace(**{name: lambda value=value: value for name, value in lengths.items()})


def test_numbers_of_parts_that_are_not_there_are_refused():
    """The first beyond those that are."""
    refused(lambda: builtin_name(fake(OperatorCodesLength=2), 2), "op code 2 of 2", "0 to 1")
    port = fake(Name=b"x", TensorIndex=3)
    refused(lambda: _ports([port], 3), "argument 'x' is tensor 3 of 3", "0 to 2")
    entry = fake(Name=b"notes", Buffer=2)
    parsed = fake(MetadataLength=1, BuffersLength=2)
    parsed.Metadata = lambda i: entry
    refused(lambda: read_entry(parsed, "notes"), "metadata 'notes' is buffer 2 of 2", "0 to 1")
    reader = _Reader.__new__(_Reader)
    reader.data = bytes(20)
    assert reader._count(20) == 20
    refused(lambda: reader._count(21), "a vector of 21 entries in 20 bytes", "at most 20")


def test_what_the_format_cannot_hold_is_not_written(monkeypatch):
    fields = {"StrideW": 1 << 40}
    says = ["cannot hold StrideW = 1099511627776 in Pool2DOptions", "a number of that field's type"]
    says += ["choose another window, stride or axis"]
    refused(lambda: _table(writer.flatbuffers.Builder(64), "Pool2DOptions", fields), *says)

    says = ["sizes and places such as [1099511627776]", "32 bits", "make the tensor smaller"]
    refused(lambda: i32_array([1 << 40]), *says)

    def full(*_):
        raise BuilderSizeError

    monkeypatch.setattr(writer._Writer, "write", full)
    refused(lambda: write_tflite(small_cnn()), "2.0 GiB", "less than 2 GiB", "quantise it, or")


def test_an_op_that_the_format_lacks_is_not_written():
    b = Builder((2, 3))
    graph = b.graph(b.op("erf", ("x",)))
    says = ["no op for 'erf'", "erf 'erf_0'", "run the graph passes first"]
    refused(lambda: write_tflite(graph), *says)


def test_a_missing_op_is_named_before_the_dtype_of_its_tensors():
    """Ops on text or complex numbers bring tensors that nothing else has."""
    tensors = [Tensor("x", (1, 8)), Tensor("spectrum", (1, 5), "COMPLEX64"), Tensor("y", (1, 5))]
    ops = [Op("RFFT2D", ["x"], ["spectrum"]), Op("COMPLEX_ABS", ["spectrum"], ["y"])]
    data = build(Subgraph(tensors, ops, ["x"], ["y"]))
    refused(lambda: parse_tflite(data), "does not have: COMPLEX_ABS, RFFT2D")
