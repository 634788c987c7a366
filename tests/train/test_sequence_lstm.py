"""LSTMs over whole sequences: traced, imported, trained in float and for int8, in one op."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.train.build import tensor_of, train
from tinyrt.api import open_model
from tinyrt.convert.passes import optimize
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.floatmath import parallel
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.lstm_gradient import LSTM as FUNCTION
from tinyrt.ops.lstm_gradient import Lstm
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs
from tinyrt.quantize.ranges import Range
from tinyrt.train import Tensor, apply, trace
from tinyrt.train.constants import parameter_places
from tinyrt.train.core.autograd import partial_derivatives
from tinyrt.train.graph_model import GraphModel
from tinyrt.train.nn import Linear, Sequential
from tinyrt.train.qat import QatConfig, QatModel
from tinyrt.train.recipes.stages import answers_of
from tinyrt.train.recurrent import CellQuantizer, QuantizedSequenceLayer
from tinyrt.train.sequence import LSTM

OP = "unidirectional_sequence_lstm"
STEPS, INPUTS, UNITS = 6, 5, 8


def net(whole=True, seed=0):
    rng = np.random.default_rng(seed)
    lstm = LSTM(INPUTS, UNITS, rng=rng, whole=whole)
    lstm.state.bias.data = rng.normal(size=4 * UNITS).astype(np.float32)
    return Sequential(lstm, Linear(UNITS, 3, rng=rng))


def samples(n, seed=1):
    return np.random.default_rng(seed).normal(size=(n, STEPS, INPUTS)).astype(np.float32)


def imported(folder, direction="forward"):
    """As PyTorch exports an LSTM with ``batch_first``."""
    m = OnnxModel(17, seed=3)
    x = m.op("Transpose", m.input(1, STEPS, INPUTS), perm=[1, 0, 2])
    sides = 2 if direction == "bidirectional" else 1
    weights = [m.weights(sides, 4 * UNITS, n) for n in (INPUTS, UNITS)]
    bias = m.weights(sides, 8 * UNITS)
    y = m.op("LSTM", x, *weights, bias, outputs=3, hidden_size=UNITS, direction=direction)
    steps = m.op("Transpose", y, perm=[2, 0, 1, 3])
    rows = m.op("Reshape", steps, m.ints(1, -1))
    columns = sides * UNITS * STEPS
    return m.save(folder, m.op("Gemm", rows, m.weights(columns, 3), m.weights(3)))


def one_op(states=None, time_major=False, shape=(1, STEPS, INPUTS), outputs=("y",), clip=0.0):
    """A graph of one LSTM; its states are zeros unless given."""
    attrs = LstmAttrs(cell_clip=clip, time_major=time_major)
    rng = np.random.default_rng(2)
    shapes = [(UNITS, INPUTS)] * 4 + [(UNITS, UNITS)] * 4 + [(UNITS,)] * 4
    samples_ = shape[1 if time_major else 0]
    zeros = np.zeros((samples_, UNITS), np.float32)
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes] + [zeros, zeros]
    if states is not None:
        arrays[12:] = [np.asarray(states, np.float32)] * 2
    constants = [Value.constant(f"c{i}", a) for i, a in enumerate(arrays)]
    x = Value("x", DType.FLOAT32, shape)
    results = [Value("y", DType.FLOAT32, (*shape[:2], UNITS))]
    results += [Value(n, DType.FLOAT32, (samples_, UNITS)) for n in ("h", "c")]
    node = Node(OP, "lstm", ("x", *(c.name for c in constants)), ("y", "h", "c"), attrs)
    values = {v.name: v for v in (x, *constants, *results)}
    return Graph("g", ("x",), outputs, values, (node,))


def test_it_is_traced_as_one_op_or_as_steps_that_compute_the_same():
    x = samples(4)
    whole, steps = (trace(net(kind), (STEPS, INPUTS)) for kind in (True, False))
    assert [n.op for n in optimize(whole).nodes] == [OP, "fully_connected"]
    assert OP not in {n.op for n in steps.nodes}
    expected = answers_of(net())(x)
    for graph in (whole, steps):
        np.testing.assert_allclose(Model(graph)(x), expected, atol=2e-6)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_what_is_imported_trains_in_batches(direction, tmp_path):
    graph = open_model(imported(tmp_path, direction), sequence_lstm=True)
    assert not any(n.attrs.time_major for n in graph.nodes if n.op == OP)
    x, y = samples(8), np.arange(8) % 3
    model = GraphModel(graph)
    before = {name: p.data.copy() for name, p in model.named_parameters()}
    answers = np.concatenate([Model(graph)(x[i : i + 1]) for i in range(8)])
    np.testing.assert_allclose(answers_of(model)(x), answers, atol=1e-5)
    losses = train(model, x, y, 6)
    assert losses[-1] < losses[0]
    sides = 2 if direction == "bidirectional" else 1
    assert len(before) == 12 * sides + 2
    for name, p in model.named_parameters():
        assert (p.data != before[name]).any(), name
    np.testing.assert_allclose(Model(model.trained())(x), answers_of(model)(x), atol=1e-5)


def test_parameters_are_named_by_gate():
    names = [name for name, _ in GraphModel(one_op()).named_parameters()]
    gates = ("input", "forget", "cell", "output")
    kinds = ("weights", "state_weights", "biases")
    assert names == [f"lstm.{kind}.{gate}" for kind in kinds for gate in gates]


def test_layers_are_told_apart_by_their_weights():
    """Three LSTMs on one input, two of them with the same weights."""
    graph, nodes, values = one_op(), [], []
    for k, name in enumerate(("one", "same", "other")):
        outputs = tuple(f"{v}_{k}" for v in ("y", "h", "c"))
        values += [replace(graph.value(v[0]), name=v) for v in outputs]
        inputs = graph.nodes[0].inputs
        if name == "other":
            values += [replace(graph.value(i), name=f"{i}/other") for i in inputs[1:]]
            inputs = ("x", *(f"{i}/other" for i in inputs[1:]))
        nodes.append(replace(graph.nodes[0], name=name, inputs=inputs, outputs=outputs))
    join = Node("concatenation", "join", ("y_0", "y_1", "y_2"), ("all",), ConcatenationAttrs(2))
    values.append(Value("all", DType.FLOAT32, (1, STEPS, 3 * UNITS)))
    graph = replace(graph.with_nodes((*nodes, join), values), outputs=("all",))
    for model in (GraphModel(graph), QatModel(graph, samples(40))):
        layers = {name.split(".")[0] for name, _ in model.named_parameters()}
        assert layers == {"one", "other"}
        assert len(model.parameters()) == 24


def test_states_that_are_no_zeros_stay_and_so_do_the_weights():
    model = GraphModel(one_op(states=np.full((1, UNITS), 0.5)))
    assert model.parameters() == []
    x = samples(3)
    one_by_one = [Model(model.graph)(x[i : i + 1]) for i in range(3)]
    np.testing.assert_allclose(answers_of(model)(x), np.concatenate(one_by_one), atol=1e-6)


def test_an_lstm_with_time_before_samples_stays():
    assert GraphModel(one_op(time_major=True, shape=(STEPS, 1, INPUTS))).parameters() == []


def test_only_the_first_output_is_trained_through():
    with pytest.raises(UnsupportedError, match="only the first output of unidirectional"):
        GraphModel(replace(one_op(), outputs=("h",)))
    graph, read = one_op(), Node("relu", "r", ("h",), ("z",), NoAttrs())
    z = Value("z", DType.FLOAT32, (1, UNITS))
    graph = replace(graph.with_nodes((*graph.nodes, read), [z]), outputs=("z",))
    with pytest.raises(UnsupportedError, match="only the first output"):
        GraphModel(graph)


def test_weights_beside_states_that_come_in_are_not_trained():
    graph = one_op()
    states = [replace(graph.value(name), data=None) for name in ("c12", "c13")]
    given = replace(graph.with_nodes(graph.nodes, states), inputs=("x", "c12", "c13"))
    assert parameter_places(next(graph.bound()), {}) == tuple(range(1, 13))
    assert parameter_places(next(given.bound()), {}) == ()


def test_more_samples_have_states_of_their_own():
    graph = rebatch(one_op(), 4)
    assert graph.value("y").shape == (4, STEPS, UNITS)
    assert rebatch(graph, 4).nodes == graph.nodes
    x = samples(4)
    apart = np.concatenate([Model(one_op())(x[i : i + 1]) for i in range(4)])
    np.testing.assert_allclose(Model(graph)(x), apart, atol=1e-6)
    different = np.arange(2 * UNITS).reshape(2, UNITS)
    with pytest.raises(ShapeError, match="constant states of their own"):
        rebatch(one_op(different, shape=(2, STEPS, INPUTS)), 4)


def test_steps_are_not_taken_for_samples():
    """With one step of one sample the shapes do not tell."""
    time_first = one_op(time_major=True, shape=(1, 1, INPUTS))
    with pytest.raises(ShapeError, match="has time before samples"):
        rebatch(time_first, 3)


def operands(n, dtype, seed=4):
    rng = np.random.default_rng(seed)
    shapes = [(STEPS, n, INPUTS), (4 * UNITS, INPUTS), (4 * UNITS, UNITS), (4 * UNITS,)]
    return [rng.normal(size=s).astype(dtype) for s in (*shapes, (n, UNITS), (n, UNITS))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_way_back_leaves_what_it_reads(dtype):
    arrays = operands(3, dtype)
    before = [array.copy() for array in arrays]
    attrs = Lstm()
    y = FUNCTION.forward(attrs, *arrays)
    for found in FUNCTION.vjp(attrs, arrays, y, np.ones_like(y)):
        np.asarray(found() if callable(found) else found)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("clip", [0.0, 0.3])
def test_the_way_back_is_the_same_with_what_was_kept_and_without(clip):
    arrays = operands(3, np.float64)
    kept = Lstm(clip)
    y = FUNCTION.forward(kept, *arrays)
    grad = np.random.default_rng(5).normal(size=y.shape)
    assert kept.kept is not None
    for one, other in zip(
        FUNCTION.vjp(kept, arrays, y, grad), FUNCTION.vjp(Lstm(clip), arrays, y, grad), strict=True
    ):
        one, other = (g() if callable(g) else g for g in (one, other))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("clip", [0.0, 0.3])
def test_gradients_are_slopes_where_cells_are_limited_too(clip):
    arrays, rng = operands(3, np.float64), np.random.default_rng(6)
    attrs = Lstm(clip)
    y = FUNCTION.forward(attrs, *arrays)
    grad = rng.normal(size=y.shape)
    assert attrs.kept is not None
    limited = (np.abs(attrs.kept[1]) > 0.3).mean(axis=(1, 2))
    assert ((limited > 0.1) & (limited < 0.9)).all()
    for i, found in enumerate(FUNCTION.vjp(attrs, arrays, y, grad)):
        way = rng.normal(size=arrays[i].shape)
        ends = [[*arrays[:i], arrays[i] + step * way, *arrays[i + 1 :]] for step in (1e-6, -1e-6)]
        above, below = (FUNCTION.forward(Lstm(clip), *end) for end in ends)
        slope = ((above - below) * grad).sum() / 2e-6
        np.testing.assert_allclose(
            ((found() if callable(found) else found) * way).sum(), slope, 1e-5
        )


def test_threads_change_no_bit():
    """Enough samples that they are shared out."""
    arrays = operands(700, np.float32)
    results = []
    for count in (1, 2):
        with parallel.threads(count):
            attrs = Lstm()
            y = FUNCTION.forward(attrs, *arrays)
            *blocks, dc = FUNCTION.vjp(attrs, arrays, y, np.ones_like(y))
            results.append([y, *(g() for g in blocks), dc])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_tape_that_is_kept_goes_back_twice():
    x, *others = (tensor_of(a) for a in operands(2, np.float64))
    y = apply(FUNCTION, Lstm(), x, *others).sum()
    once = partial_derivatives(y, [x], retain_graph=True)[0].data
    np.testing.assert_array_equal(partial_derivatives(y, [x])[0].data, once)


@pytest.mark.filterwarnings("ignore:only 8 samples")
def test_the_cell_states_scale_follows_their_range():
    quantizer = CellQuantizer(Range(-0.9, 0.9))
    assert quantizer.q.scales == (2.0**-15,)
    quantizer = CellQuantizer(Range(-1.0, 5.0))
    assert quantizer.q.scales == (2.0**-12,)

    model = QatModel(one_op(), samples(8))
    cell = model.recurrent["lstm"].cell
    start = cell.high.item()
    model(Tensor(3 * samples(8)))
    assert cell.high.item() != start
    moved = cell.high.item()
    model.freeze()
    model(Tensor(5 * samples(8)))
    assert cell.high.item() == moved
    deployed = model.deployed()
    assert deployed.value("c").q == cell.q
    assert deployed.value("h").q == deployed.value("y").q


@pytest.mark.filterwarnings("ignore:only 8 samples")
@pytest.mark.parametrize("clip", [0.0, 0.75])
def test_the_range_of_the_cell_state_is_that_of_its_steps(clip):
    model = QatModel(one_op(clip=clip), samples(8))
    layer = model.recurrent["lstm"]
    layer.cell.momentum = 1.0
    x = Tensor(samples(4, seed=7))
    layer.observe(x, layer(x))
    layer.cell.settle()
    graph, cells = one_op(outputs=("c",), clip=clip), []
    for t in range(1, STEPS + 1):
        short = one_op(shape=(1, t, INPUTS), outputs=("c",), clip=clip)
        cells += [Model(short)(x.data[i : i + 1, :t]) for i in range(4)]
    assert graph.outputs == ("c",)
    limits = (np.min(cells), np.max(cells))
    np.testing.assert_allclose((layer.cell.low.item(), layer.cell.high.item()), limits, rtol=1e-5)


@pytest.mark.parametrize(("bits", "most"), [(8, 127), (4, 7)])
def test_gradients_are_those_of_rounded_weights(bits, most):
    """Of a gate's bias, too: in steps of the input's times the weights'."""
    node = one_op().bind(0)
    layer = QuantizedSequenceLayer(node, Range(-4.0, 4.0), bits=bits)
    x = Tensor(samples(1), requires_grad=True)
    x_q, y_q = QParams((0.03,), 2), QParams((1 / 128,), 0)
    found, answer = layer.answer(node, x, np.round(x.data / 0.03).astype(np.int8) + 2, x_q, y_q)
    weights = [p.data for p in layer.operands]
    steps = [np.abs(w).max() / most for w in weights[:8]]
    steps += [0.03 * step for step in steps[:4]]
    rounded = [np.round(w / s) * s for w, s in zip(weights, steps, strict=True)]
    wanted = layer.applied(x, [Tensor(w.astype(np.float32)) for w in rounded])
    np.testing.assert_allclose(found.data, wanted.data, atol=1e-5)
    np.testing.assert_allclose(found.data, answer / 128, atol=0.03)
    slopes = [partial_derivatives(y.sum(), [x])[0].data for y in (found, wanted)]
    np.testing.assert_allclose(*slopes, atol=1e-5)


@pytest.mark.filterwarnings("ignore:only 8 samples")
def test_weights_of_layers_that_are_named_train_within_four_bits(tmp_path):
    """In int8, since no runtime reads others; ``weight_bits`` alone leaves them as they are."""
    graph, x = open_model(imported(tmp_path), sequence_lstm=True), samples(4)
    named = frozenset(n.output for n in graph.nodes if n.op == OP)
    for config, most in ((QatConfig(weight_bits=4), 127), (QatConfig(int4_layers=named), 7)):
        model = QatModel(graph, samples(8), config=config)
        losses = train(model, x, np.arange(4) % 3, 5)
        assert losses[-1] < losses[0]
        model.freeze()
        deployed = model.deployed()
        (node,) = (n for n in deployed.bound() if n.op == OP)
        for w in node.inputs[1:9]:
            assert w.dtype is DType.INT8
            assert np.abs(w.data).max() == most
        answers = [Model(deployed)(x[i : i + 1]) for i in range(4)]
        np.testing.assert_array_equal(np.concatenate(answers), answers_of(model)(x))
