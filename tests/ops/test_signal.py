"""Ops of TFLM's audio front end: all outputs, run after run, bit for bit as TFLM computes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.c.floats import assert_close
from tests.ops.cases import CASES, rng_of
from tests.ops.cases.signal import data_of
from tests.ops.stateful import keeping
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.fft import factors_of
from tinyrt.ops.shared.spec import NoAttrs, Quant
from tinyrt.ops.signal_fft import SignalFftAttrs
from tinyrt.ops.signal_filter_bank import SignalEnergyAttrs
from tinyrt.ops.signal_frames import SignalDelayAttrs, SignalFramerAttrs, SignalStackerAttrs

OPS_HERE = sorted(op for op in OPS if op.startswith("signal_"))
STATEFUL = [op for op in OPS_HERE if OPS[op].quant is Quant.STATEFUL]
RUNS = 7
SEEDS = range(sampled(6, 400))


def graph_of(op, seed):
    """A random case with all its outputs, its states declared as such."""
    rng = rng_of(op, seed)
    case, names = CASES[op](rng), []
    values = {}
    for i, array in enumerate(data_of(case, rng)):
        names.append(f"in{i}")
        held = array if i in case.constant else None
        values[f"in{i}"] = Value(f"in{i}", DType.of(array.dtype), array.shape, None, held)
    types = OPS[op].infer(case.attrs, [values[name].type for name in names])
    outputs = tuple(f"out{i}" for i in range(len(types)))
    values |= {n: Value(n, t.dtype, t.shape) for n, t in zip(outputs, types, strict=True)}
    node = Node(op, "op", tuple(names), outputs, case.attrs)
    fed = tuple(n for n in names if values[n].data is None)
    return verify(keeping(Graph("case", fed, outputs, values, (node,)))), case, rng


def runs_of(graph, case, rng):
    """Data of some runs: of the inputs that are fed."""
    places = [int(name[2:]) for name in graph.fed]
    return [
        {f"in{i}": array for i, array in enumerate(data_of(case, rng)) if i in places}
        for _ in range(RUNS)
    ]


def run_here(graph, runs, backend):
    interpreter = Interpreter(model_content=write_tflite(graph), backend=backend)
    interpreter.allocate_tensors()
    given, answers = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for feeds in runs:
        for detail in given:
            interpreter.set_tensor(detail["index"], feeds[detail["name"]])
        interpreter.invoke()
        found.append([interpreter.get_tensor(detail["index"]) for detail in answers])
    return found


def run_tflm(graph, runs):
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    interpreter = tflm.runtime.Interpreter.from_bytes(write_tflite(graph), arena_size=1 << 18)
    found = []
    for feeds in runs:
        for i, name in enumerate(graph.fed):
            interpreter.set_input(feeds[name], i)
        interpreter.invoke()
        found.append([interpreter.get_output(i) for i in range(len(graph.answers))])
    return found


def written_by_tflm(graph, answers):
    """The answers that TFLM wrote: no frames that are not filled, no frequencies out of range."""
    (node,) = graph.nodes
    if node.op in ("signal_framer", "signal_stacker") and not answers[1]:
        return answers[1:]
    if isinstance(node.attrs, SignalEnergyAttrs):
        return [answers[0][node.attrs.start_index : node.attrs.end_index]]
    return answers


@pytest.mark.parametrize("op", OPS_HERE)
def test_runs_in_a_row_equal_the_device(op):
    filled = 0
    for seed in SEEDS:
        graph, case, rng = graph_of(op, seed)
        runs = runs_of(graph, case, rng)
        expected = run_tflm(graph, runs)
        for ours, theirs in zip(run_here(graph, runs, "reference"), expected, strict=True):
            kept = written_by_tflm(graph, theirs)
            filled += len(kept) == len(theirs)
            for y, answer in zip(written_by_tflm(graph, ours), kept, strict=True):
                assert_close(op, y, answer)
    assert filled > len(SEEDS) * RUNS // 5


@pytest.mark.slow
@pytest.mark.parametrize("op", ["signal_fft_auto_scale", *STATEFUL])
def test_all_answers_of_c_code_are_those_of_the_reference(op):
    for seed in range(2):
        graph, case, rng = graph_of(op, seed)
        runs = runs_of(graph, case, rng)
        native = run_here(graph, runs, "native")
        for ours, found in zip(run_here(graph, runs, "reference"), native, strict=True):
            for y, answer in zip(ours, found, strict=True):
                assert_close(op, answer, y)


@pytest.mark.parametrize("op", STATEFUL)
def test_states_begin_as_zeros_after_a_reset(op):
    graph, case, rng = graph_of(op, 0)
    (feeds, *_) = runs_of(graph, case, rng)
    interpreter = Interpreter(model_content=write_tflite(graph))
    interpreter.allocate_tensors()
    (given,), answers = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for _ in range(2):
        interpreter.set_tensor(given["index"], feeds["in0"])
        for _ in range(3):
            interpreter.invoke()
        found.append([interpreter.get_tensor(detail["index"]) for detail in answers])
        interpreter.reset_all_variables()
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("op", OPS_HERE)
def test_files_come_back_as_they_were_written(op):
    graph, _, _ = graph_of(op, 1)
    data = write_tflite(graph)
    read = parse_tflite(data, graph.name)
    (node,), (original,) = read.nodes, graph.nodes
    assert (node.op, node.attrs) == (original.op, original.attrs)
    assert len(read.states) == len(graph.states)
    assert (read.fed, read.answers) == (graph.fed, graph.answers)
    assert write_tflite(read) == data


def test_a_state_that_is_no_state_of_the_graph_cannot_be_written():
    """Not even zeros: the op would keep what it makes of them."""
    graph, _, _ = graph_of("signal_delay", 0)
    zeros = np.zeros(graph.value("in1").shape, np.int16)
    values = graph.values | {"in1": Value.constant("in1", zeros)}
    fed = replace(graph, states=())
    held = replace(graph, inputs=("in0",), outputs=("out0",), values=values, states=())
    for without in (fed, held):
        with pytest.raises(UnsupportedError, match="give this op its state"):
            write_tflite(without)


def only(op, attrs, *arrays):
    """The answers of one op to arrays."""
    values = {f"x{i}": Value(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(arrays)}
    types = OPS[op].infer(attrs, [v.type for v in values.values()])
    made = {f"y{i}": Value(f"y{i}", t.dtype, t.shape) for i, t in enumerate(types)}
    node = Node(op, "op", tuple(values), tuple(made), attrs)
    graph = Graph("net", tuple(values), tuple(made), values | made, (node,))
    return list(evaluate(graph, dict(zip(values, arrays, strict=True))).values())


@pytest.mark.parametrize(
    ("samples", "shift"),
    [
        ([0, 0, 0], 0),
        ([1, -1, 0], 14),
        ([-2, 1], 13),
        ([32767, 1], 0),
        ([-32767, 1], 0),
        ([16383, -16384], 0),
        ([-16383, 5], 1),
        ([-32768], 0),
        # TFLM's search for the largest one begins anew behind -32768.
        ([-32768, 5], 12),
        ([7, -32768, -5], 0),
        ([-32768, -5, -7], 12),
        ([-32768, -7, -5], 0),
        ([-32768, -7, -5, 5], 12),
        ([-32768, 0], 0),
        ([-32768, 100, -32768, 3], 13),
    ],
)
def test_samples_are_shifted_as_far_as_tflm_shifts_them(samples, shift):
    x = np.array(samples, np.int16)
    y, bits = only("signal_fft_auto_scale", NoAttrs(), x)
    assert bits == shift
    np.testing.assert_array_equal(y, (x.astype(int) << shift).astype(np.int16))


@pytest.mark.parametrize(
    ("number", "root"),
    [
        (0, 0),
        (1, 1),
        (2, 1),
        (3, 2),
        (6, 2),
        (7, 3),
        (0xFFFE_0001, 0xFFFF),
        (2**32 - 1, 0xFFFF),
        (2**32, 0x10000),
        (2**64 - 1, 2**32 - 1),
        ((2**32 - 1) ** 2 + 2**31, 2**32 - 1),
        (2**62 + 2**31, 2**31),
        (2**62 + 2**31 + 1, 2**31 + 1),
    ],
)
@pytest.mark.parametrize("shift", [0, 3, 31, 32, -1])
def test_roots_are_rounded_and_saturate(number, root, shift):
    x, bits = np.array([number], np.uint64), np.array(shift, np.int32)
    (y,) = only("signal_filter_bank_square_root", NoAttrs(), x, bits)
    assert y[0] == root >> (shift % 32)


def test_frequencies_out_of_range_have_no_energy():
    (y,) = only("signal_energy", SignalEnergyAttrs(3, 1), np.full(8, -32768, np.int16))
    np.testing.assert_array_equal(y, np.array([0, 2**31, 2**31, 0], np.uint32))


def test_frames_that_are_not_filled_have_zeros_before_the_first_samples():
    window, count = np.zeros(6, np.int16), np.zeros(1, np.int32)
    attrs, x = SignalFramerAttrs(5, 2), np.arange(1, 5, dtype=np.int16)
    y, valid, window, count = only("signal_framer", attrs, x, window, count)
    assert not valid
    np.testing.assert_array_equal(y, [[0, 0, 0, 0, 1], [0, 0, 1, 2, 3]])
    y, valid, *_ = only("signal_framer", attrs, x, window, count)
    assert valid
    np.testing.assert_array_equal(y, [[1, 2, 3, 4, 1], [3, 4, 1, 2, 3]])


def test_the_first_input_stands_for_those_before_it():
    attrs, window = SignalStackerAttrs(1, 1, 1, 2), np.zeros(3, np.int16)
    count, found = np.zeros(1, np.int32), []
    for x in range(1, 6):
        y, valid, window, count = only(
            "signal_stacker", attrs, np.array([x], np.int16), window, count
        )
        found.append((y.tolist(), bool(valid)))
    assert found[0] == ([1, 1, 1], False)
    assert found[1] == ([1, 1, 2], True)
    assert found[2:4] == [([1, 2, 3], False), ([2, 3, 4], True)]


def test_a_delay_by_more_than_an_input():
    past = np.array([7, 8, 9], np.int16)
    y, after = only("signal_delay", SignalDelayAttrs(3), np.array([1, 2], np.int16), past)
    assert (y.tolist(), after.tolist()) == ([7, 8], [9, 1, 2])


@pytest.mark.parametrize(
    ("count", "factors"),
    [(1, ()), (2, (2,)), (8, (4, 2)), (16, (4, 4)), (12, (4, 3)), (18, (2, 3, 3)), (50, (2, 5, 5))],
)
def test_stages_are_those_of_kiss_fft(count, factors):
    assert factors_of(count) == factors


def test_a_spectrum_is_that_of_the_signal():
    x = np.random.default_rng(2).normal(size=(2, 60)).astype(np.float32)
    (y,) = only("signal_rfft", SignalFftAttrs(60), x)
    expected = np.fft.rfft(x.astype(np.float64))
    np.testing.assert_allclose(y[..., ::2] + 1j * y[..., 1::2], expected, atol=1e-4)
    (back,) = only("signal_irfft", SignalFftAttrs(60), y)
    np.testing.assert_allclose(back, x, atol=1e-5)


def test_samples_of_a_batch_stay_apart_only_where_rows_are_transformed():
    def graph(shape):
        values = (
            Value("x", DType.INT16, shape),
            Value("y", DType.INT16, (*shape[:-1], 18)),
        )
        node = Node("signal_rfft", "op", ("x",), ("y",), SignalFftAttrs(16))
        return Graph("net", ("x",), ("y",), {v.name: v for v in values}, (node,))

    assert rebatch(graph((1, 16)), 3).value("y").shape == (3, 18)
    with pytest.raises(ShapeError, match="may not keep samples apart"):
        rebatch(graph((16,)), 1)
