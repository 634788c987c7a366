"""Custom ops of .tflite files: those of TFLM's audio front end, their options and their state."""

from __future__ import annotations

import numpy as np
import pytest
from flatbuffers import flexbuffers

from tests.convert.front_end import front_end, sounds
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt import api
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError, ShapeError, TinyrtError, UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.ops.reshape import ReshapeAttrs

T = Tensor


def answers(data, frames, backend="numba"):
    interpreter = Interpreter(model_content=data, backend=backend)
    interpreter.allocate_tensors()
    (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for frame in frames:
        interpreter.set_tensor(given["index"], frame)
        interpreter.invoke()
        found.append(interpreter.get_tensor(answer["index"]))
    return np.stack(found)


def tflm_answers(data, frames):
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    interpreter = tflm.runtime.Interpreter.from_bytes(data, arena_size=1 << 17)
    found = []
    for frame in frames:
        interpreter.set_input(frame, 0)
        interpreter.invoke()
        found.append(interpreter.get_output(0))
    return np.stack(found)


@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_a_front_end_makes_the_features_that_tflm_makes(backend):
    data, frames = front_end(), sounds(120)
    expected = tflm_answers(data, frames)
    assert len(np.unique(expected)) > 60
    np.testing.assert_array_equal(answers(data, frames, backend), expected)


def test_a_converted_front_end_is_the_same_for_everyone(tmp_path):
    source, target = tmp_path / "in.tflite", tmp_path / "out.tflite"
    source.write_bytes(front_end())
    api.convert_model(source, target)
    frames = sounds(40)
    expected = tflm_answers(front_end(), frames)
    np.testing.assert_array_equal(tflm_answers(target.read_bytes(), frames), expected)
    np.testing.assert_array_equal(answers(target.read_bytes(), frames), expected)


def test_estimates_of_noise_are_no_ports_of_the_file():
    graph = parse_tflite(front_end())
    assert (graph.fed, graph.answers) == (("x",), ("y",))
    assert graph.states == (("clean/state", "clean/state/next"),)
    again = parse_tflite(write_tflite(graph))
    assert (again.fed, again.answers, again.states) == (graph.fed, graph.answers, graph.states)


def test_two_ops_of_one_kind_keep_states_of_their_own():
    def delay(x, y):
        return Op("CUSTOM (SignalDelay)", [x], [y], fields={"delay_length": 1})

    tensors = [T(n, (3,), "INT16") for n in "xyz"]
    data = build(Subgraph(tensors, [delay("x", "y"), delay("y", "z")], ["x"], ["z"]))
    frames = np.arange(1, 10, dtype=np.int16).reshape(3, 3)
    found = answers(data, frames)
    np.testing.assert_array_equal(found.ravel(), [0, 0, 1, 2, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(found, tflm_answers(data, frames))


def one(name, inputs, outputs, custom=None, **fields):
    """A file of one custom op: tensors by name."""
    tensors = {t.name: t for t in (*inputs, *outputs)}.values()
    op = Op(f"CUSTOM ({name})", [t.name for t in inputs], [t.name for t in outputs], fields=fields)
    op = Op(op.builtin, op.inputs, op.outputs, fields=fields, custom=custom)
    fed = [t.name for t in inputs if t.data is None]
    return build(Subgraph(list(tensors), [op], fed, [t.name for t in outputs]))


X, Y = T("x", (8,), "INT16"), T("y", (8,), "INT16")


def test_a_delay_by_nothing_is_the_input_itself():
    graph = parse_tflite(one("SignalDelay", [X], [Y], delay_length=0))
    assert [(n.op, n.attrs) for n in graph.nodes] == [("reshape", ReshapeAttrs((8,)))]
    assert not graph.states


def delay(custom=None, **fields):
    return one("SignalDelay", [X], [Y], custom, **fields)


def unsigned(number):
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.UInt("delay_length", number)
    return bytes(builder.Finish())


WIDE = T("long", (10,), "INT16")
BAND = {
    name: T(name, (3,), "INT16", np.array(numbers, np.int16))
    for name, numbers in {"f": [0, 1, 2], "w": [0, 1, 2], "n": [1, 1, 1]}.items()
}
BANK_INPUTS = [
    T("e", (8,), "UINT32"),
    *(T(name, (4,), "INT16", np.ones(4, np.int16)) for name in ("up", "down")),
    *BAND.values(),
]
CHANNELS = T("c", (2,), "UINT64")


def bank(inputs=BANK_INPUTS, **fields):
    return one("SignalFilterBank", inputs, [CHANNELS], **({"num_channels": 2} | fields))


def without(name, dtype="INT16"):
    """The inputs, one of which the model is fed with."""
    return [T(t.name, t.shape, dtype) if t.name == name else t for t in BANK_INPUTS]


_OPTIONS = bytes(flexbuffers.Dumps({"delay_length": 3}))

BROKEN = {
    "a type that there is not": (
        delay(_OPTIONS[:-4] + bytes([29 << 2]) + _OPTIONS[-3:]),
        ModelFormatError,
        "the op's options are damaged: 29 is not a valid Type",
    ),
    "no options": (delay(b""), ModelFormatError, "the op has no options", "delay_length"),
    "no map": (delay(bytes(flexbuffers.Dumps([1]))), ModelFormatError, "options are no map"),
    "another name": (delay(length=3), ModelFormatError, "1 options: length", "delay_length"),
    "one more": (delay(delay_length=3, z=1), ModelFormatError, "2 options: not looked at"),
    "a text": (delay(delay_length="3"), ModelFormatError, "delay_length is no whole number"),
    "a float": (delay(delay_length=3.5), ModelFormatError, "delay_length is no whole number"),
    "a list": (delay(delay_length=[3]), ModelFormatError, "delay_length is no whole number"),
    "too large": (delay(delay_length=2**40), ShapeError, f"delay_length is {2**40}"),
    "negative": (delay(delay_length=-1), ShapeError, "delay_length is -1"),
    "a state too large": (
        one("SignalDelay", [T("x", (4, 8), "INT16")], [T("y", (4, 8), "INT16")],
            delay_length=2**30),
        UnsupportedError,
        "a tensor has 4,294,967,296 elements",
        "y/state",
    ),
    "another input": (one("SignalDelay", [X, WIDE], [Y], delay_length=3), ModelFormatError,
                      "2 inputs", "1"),
    "no such type": (one("SignalRfft", [X], [WIDE], T=99, fft_length=8), ModelFormatError,
                     "option T is 99", "'x' s16[8]"),
    "another type": (one("SignalRfft", [X], [WIDE], T=2, fft_length=8), ModelFormatError,
                     "option T is INT32", "the type of the input's elements"),
    "no step": (one("SignalFramer", [X], [T("y", (8, 4), "INT16"), T("v", (), "BOOL")],
                    frame_size=4, frame_step=0, prefill=False), ShapeError, "frame_step is 0"),
    "one output": (one("SignalFftAutoScale", [X], [Y]), TinyrtError, "output is s16[8]",
                   "s16[8], s32[]"),
    "too many channels": (bank(num_channels=3), ModelFormatError, "num_channels is 3", "1 to 2"),
    "no channels": (bank(num_channels=0), ModelFormatError, "num_channels is 0"),
    "channels below 0": (bank(num_channels=-5), ModelFormatError, "num_channels is -5"),
    "computed bands": (bank(without("w")), UnsupportedError, "weight_starts are computed", "'w'"),
    "bands of int32": (
        bank([T("n", (3,), "INT32", np.ones(3, np.int32)) if t.name == "n" else t
              for t in BANK_INPUTS]),
        UnsupportedError, "widths are computed", "constant int16"),
    "five inputs": (bank(BANK_INPUTS[:5]), ModelFormatError, "5 inputs", "6"),
    "an unknown op": (one("SignalMel", [X], [Y]), UnsupportedError, "CUSTOM (SignalMel)"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_makes_no_sense_is_refused(name):
    data, kind, *says = BROKEN[name]
    with pytest.raises(kind) as caught:
        parse_tflite(data)
    for part in says:
        assert part in str(caught.value)


@pytest.mark.parametrize("custom", [None, unsigned(3)])
def test_options_are_numbers_with_or_without_a_sign(custom):
    (node,) = parse_tflite(delay(custom, delay_length=3)).nodes
    assert node.attrs.delay_length == 3


def test_options_of_an_op_that_takes_none_do_not_count():
    outputs = [Y, T("bits", (), "INT32")]
    for custom in (b"", b"\xff\xff\xff", bytes(flexbuffers.Dumps({"shift": 3}))):
        (node,) = parse_tflite(one("SignalFftAutoScale", [X], outputs, custom)).nodes
        assert node.op == "signal_fft_auto_scale"


def test_bands_beyond_the_channels_are_left_out():
    (node,) = parse_tflite(bank(num_channels=1)).nodes
    assert node.attrs.widths == (1, 1)


def test_options_with_any_byte_changed_are_refused_or_taken():
    options = bytes(flexbuffers.Dumps({"T": 7, "fft_length": 8}))
    refused = 0
    for at in range(len(options)):
        for value in (0, 1, 9, 36, 127, 128, 255):
            changed = options[:at] + bytes([value]) + options[at + 1 :]
            try:
                parse_tflite(one("SignalRfft", [X], [WIDE], changed))
            except TinyrtError:
                refused += 1
    assert refused > 100
    for end in range(len(options)):
        with pytest.raises(ModelFormatError):
            parse_tflite(one("SignalRfft", [X], [WIDE], options[:end]))


def test_plain_integers_are_refused_where_an_op_needs_scales():
    data = build(
        Subgraph([X, Y], [Op("ABS", ["x"], ["y"])], ["x"], ["y"]),
    )
    with pytest.raises(TinyrtError) as caught:
        parse_tflite(data)
    assert "does not fit its stage" in str(caught.value)
