"""What calls of a model leave behind: states, memory of other batch sizes, other subgraphs."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, scaled
from tests.convert.test_tflite_rare import hybrid
from tests.export.test_float import mixed
from tests.graphs import Builder, small_cnn
from tests.quantize.test_mixed import samples
from tinyrt.budget import Budget
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.data import InMemory
from tinyrt.errors import BudgetError, DataError, NotAllocatedError
from tinyrt.interpreter import Interpreter, Model, load, model
from tinyrt.interpreter.backends import EVERY_BACKEND
from tinyrt.interpreter.split import SplitProgram
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.shared.batch import batch_of, rebatch
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.quantize import QuantConfig, quantize_graph


def filtered() -> Subgraph:
    """y = the running sum of the last two values of 2 x."""
    constants = {"feature": [[2]], "time": [[1, 1]], "bias": [0]}
    tensors = [Tensor("x", (1, 1)), Tensor("s", (1, 2), variable=True), Tensor("y", (1, 1))]
    for name, numbers in constants.items():
        data = np.array(numbers, np.float32)
        tensors.append(Tensor(name, data.shape, data=data))
    op = Op("SVDF", ["x", *constants, "s"], ["y"], "SVDFOptions", {"Rank": 1})
    return Subgraph(tensors, [op], ["x"], ["y"])


def test_a_model_begins_anew_after_a_reset():
    filter_ = Model(parse_tflite(build(filtered())), backend="reference")
    ones = np.ones((3, 1), np.float32)
    assert filter_(ones).reshape(-1).tolist() == [2, 4, 4]
    assert filter_(ones).reshape(-1).tolist() == [4, 4, 4]
    filter_.reset()
    assert filter_(ones).reshape(-1).tolist() == [2, 4, 4]


def test_preparing_leaves_no_state_and_calls_no_listener():
    ones, seen = np.ones((2, 1), np.float32), []
    for on_op in (None, lambda node, y: seen.append(float(y.reshape(-1)[0]))):
        filter_ = Model(parse_tflite(build(filtered())), backend="reference", on_op=on_op)
        filter_.allocate(2)
        assert seen == []
        assert filter_(ones).reshape(-1).tolist() == [2, 4]
    assert seen == [2, 4]


def counting() -> Graph:
    """y = x and how often the model ran before: inputs of zeros leave a state, too."""
    b = Builder((1, 1), (1, 1))
    later = b.op("add", ("x1", b.constant(np.ones((1, 1), np.float32))), AddAttrs())
    graph = b.graph(b.op("add", ("x", "x1"), AddAttrs()), later)
    return replace(graph, states=(("x1", later),))


@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_preparing_and_a_reset_leave_no_trace_of_inputs_of_zeros(backend):
    counter, zeros = Model(counting(), backend=backend), np.zeros((3, 1), np.float32)
    for forget in (lambda: counter.allocate(3), counter.reset):
        forget()
        assert counter(zeros).reshape(-1).tolist() == [0, 1, 2]
        assert counter(zeros).reshape(-1).tolist() == [3, 4, 5]


def test_a_state_is_reset_once_it_has_memory():
    interpreter = Interpreter.from_graph(counting())
    with pytest.raises(NotAllocatedError):
        interpreter.reset_all_variables()
    Interpreter.from_graph(small_cnn()).reset_all_variables()


def test_runners_of_a_signature_share_the_memory_of_its_subgraph():
    data = build(scaled(2), filtered(), signatures={"double": 0, "filter": 1})
    interpreter = Interpreter(model_content=data, backend="reference")
    one = np.ones((1, 1), np.float32)
    answers = [interpreter.get_signature_runner("filter")(x=one)["y"].item() for _ in range(3)]
    assert answers == [2, 4, 4]
    x = np.ones((1, 3), np.float32)
    assert interpreter.get_signature_runner("double")(x=x)["y"].tolist() == [[2, 2, 2]]


def test_what_an_interpreter_was_told_holds_for_all_subgraphs(tmp_path):
    path, seen, x = tmp_path / "two.tflite", [], np.ones((1, 3), np.float32)
    path.write_bytes(build(scaled(2), scaled(3), signatures={"double": 0, "triple": 1}))

    def told(memory):
        return Interpreter(
            path,
            backend="reference",
            num_threads=3,
            on_op=lambda node, y: seen.extend(y[0].tolist()),
            max_memory=memory,
        )

    for key, factor in (("double", 2), ("triple", 3)):
        seen.clear()
        runner = told(10_000).get_signature_runner(key)
        runner(x=x)
        assert seen == [factor] * 3
        assert (runner._interpreter.backend, runner._interpreter._num_threads) == ("reference", 3)
        with pytest.raises(BudgetError) as found:
            told(1).get_signature_runner(key)(x=x)
        assert found.value.file == str(path)


@pytest.mark.parametrize(
    ("watch", "chosen"),
    [
        ({}, "native"),
        ({"experimental_preserve_all_tensors": True}, "numba"),
        ({"on_op": lambda node, y: None}, "numba"),
    ],
)
def test_auto_chooses_a_backend_that_stops_where_tensors_are_watched(watch, chosen, monkeypatch):
    for backend in ("native", "numba"):
        monkeypatch.setitem(EVERY_BACKEND, backend, EVERY_BACKEND["reference"])
    interpreter = Interpreter(model_content=build(scaled(2)), backend="auto", **watch)
    interpreter.allocate_tensors()
    assert interpreter.backend == chosen


@pytest.mark.parametrize(("memory", "size"), [(None, 32), (60_000, 8), (20_000, 4), (5_000, 1)])
def test_batches_are_as_small_as_the_memory_asks_for(memory, size):
    graph, x, done = small_cnn(), samples(40), [0]
    within = Model(graph, backend="reference", max_memory=memory)
    (found,) = within.run(x, lambda count, total: done.append(count)).values()
    assert done == list(range(0, 41, size)) + [40] * (40 % size > 0)
    np.testing.assert_allclose(found, Model(graph, backend="reference")(x), atol=1e-6)


@pytest.mark.parametrize(("samples", "size"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (9, 16)])
def test_batches_grow_by_doubling(samples, size):
    """So that calls with a few samples more or less share an interpreter."""
    assert Model(small_cnn(), backend="reference")._batch_size(samples) == size


def test_batches_of_another_size_give_their_memory_back():
    """What fits alone runs, whatever was run before."""
    graph, x = small_cnn(), samples(8)
    want, needs = Model(graph, backend="reference")(x), []
    for count in (8, 1):
        budget = Budget()
        alone = Model(graph, backend="reference", max_memory=budget)
        alone.allocate(count)
        needs.append(budget.memory_used)
    both = Model(graph, backend="reference", max_memory=sum(needs) - 1)
    for count in (8, 1, 8):
        np.testing.assert_allclose(both(x[:count]), want[:count], atol=1e-6)


def test_inputs_that_come_in_pieces_are_stored_in_their_order(monkeypatch):
    int8 = quantize_graph(small_cnn(), samples(100), QuantConfig())
    x = samples(40, seed=3)
    whole = Model(int8, backend="reference").stored_inputs(x)["x"]
    monkeypatch.setattr(model, "PIECE", 16 * (8 * 8 * 3 * 4 + 5))
    monkeypatch.setattr(model, "BATCH", 4)
    in_pieces = Model(int8, backend="reference")
    pieces = [len(feeds["x"]) for _, _, feeds in in_pieces.pieces(InMemory({"x": x}))]
    assert pieces == [16, 16, 8]
    np.testing.assert_array_equal(in_pieces.stored_source(InMemory({"x": x}))["x"], whole)


def test_packed_bytes_are_those_of_the_backend_and_of_widened_weights():
    interpreter = Interpreter(model_content=hybrid(0.01))
    (widened,) = (n.output.name for n in parse_tflite(hybrid(0.01)).bound() if n.op == "dequantize")
    size = interpreter.graph.value(widened).nbytes
    assert interpreter.packed_bytes == size > 0
    interpreter.allocate_tensors()
    own = interpreter._program.packed_bytes
    assert interpreter.packed_bytes == size + own
    interpreter._program.packed_bytes = own + 7
    assert interpreter.packed_bytes == size + own + 7


def test_integer_ops_are_packed_for_their_kernels_between_ops_on_floats():
    interpreter = Interpreter.from_graph(mixed(), backend="numba")
    interpreter.allocate_tensors()
    assert interpreter.packed_bytes >= 5 * 4, "the dense layer's weights"


def test_packed_bytes_of_a_shared_batch_are_those_of_all_threads():
    def prepare(graph, tensors):
        return SimpleNamespace(packed_bytes=batch_of(graph))

    tensors = place_tensors(rebatch(small_cnn(), 5)).tensors
    for threads in (1, 2, 3):
        shared = SplitProgram(small_cnn(), tensors, 5, threads + 1, prepare, Budget())
        assert shared.packed_bytes == 5


@pytest.mark.parametrize("backend", ["numba", "reference"])
def test_places_beyond_int32_are_beyond_the_table(backend):
    """Models that took int64 take int32 here: what is larger does not begin anew at 0."""
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    values = {
        "i": Value("i", DType.INT32, (1, 1)),
        "table": Value.constant("table", table),
        "y": Value("y", DType.FLOAT32, (1, 1, 3)),
    }
    node = Node("embedding", "pick", ("table", "i"), ("y",), EmbeddingAttrs())
    net = Model(verify(Graph("net", ("i",), ("y",), values, (node,))), backend=backend)
    places = [0, 2, 3, 2**31 - 1, 2**31, 2**32 + 1, 2**40, -1, -(2**31) - 1, -(2**32) + 2]
    rows = np.clip(places, 0, 3)
    given = np.array(places, np.int64)[:, None]
    np.testing.assert_array_equal(net(given), table[rows][:, None])
    assert given.dtype == np.int64
    assert given[6] == 2**40


@pytest.mark.parametrize("count", [1, 3, 4, 6, 8, 11])
def test_who_watches_ops_sees_each_sample_once(count, monkeypatch):
    """Batches are filled up to be of one size, but not where somebody looks."""
    monkeypatch.setattr(model, "BATCH", 4)
    x, seen = np.random.default_rng(1).normal(size=(count, 8, 8, 3)).astype(np.float32), {}
    net = small_cnn()

    def on_op(node, y):
        seen.setdefault(node.output.name, []).append(y.copy())

    answers = Model(net, backend="numba", on_op=on_op, num_threads=1)(x)
    assert seen.keys() == {node.output for node in net.nodes}
    assert {sum(map(len, parts)) for parts in seen.values()} == {count}
    np.testing.assert_array_equal(np.concatenate(seen[net.outputs[0]]), answers)
    np.testing.assert_allclose(answers, Model(net)(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_has_work_for_each_thread(threads, monkeypatch):
    monkeypatch.setattr(model, "BATCH", 4)
    int8, seen = quantize_graph(small_cnn(), samples(8), QuantConfig()), []
    watched = Model(int8, num_threads=threads, on_op=lambda node, y: seen.append(len(y)))
    watched(samples(24))
    assert set(seen) == {4 * threads}


def counters() -> Graph:
    """x and how often the model ran before, turned; and x and twice that: integers in halves."""
    b, q = Builder((2, 2), (2, 2), (2, 2)), QParams((0.5,), -3)
    b.values = {n: replace(v, dtype=DType.INT8) for n, v in b.values.items()}
    steps = [b.constant(np.full((2, 2), 2 * n - 3, np.int8)) for n in (1, 2)]
    later = [b.op("add", pair, AddAttrs()) for pair in zip(("x1", "x2"), steps, strict=True)]
    sums = [b.op("add", ("x", name), AddAttrs()) for name in ("x1", "x2")]
    outputs = (b.op("transpose", sums[:1], TransposeAttrs((1, 0))), sums[1])
    b.values = {n: replace(v, q=q) for n, v in b.values.items()}
    graph = b.graph(*outputs, *later)
    return replace(graph, states=tuple(zip(("x1", "x2"), later, strict=True)))


@pytest.mark.parametrize("backend", ["reference", "numba", "native"])
def test_states_in_integers_begin_at_their_zero(backend):
    """Of a model that takes two rows at a time."""
    graph = counters()
    counter, x = Model(graph, backend=backend), np.arange(12, dtype=np.float32).reshape(6, 2)
    turned, plain = graph.outputs[:2]
    ran = np.repeat(np.arange(6), 2)[:, None]
    for forget in (lambda: counter.allocate(3), counter.reset):
        forget()
        for done in (0, 3):
            found, before = counter(x), ran[2 * done : 2 * done + 6]
            want = (x + before).reshape(3, 2, 2).swapaxes(1, 2).reshape(6, 2)
            np.testing.assert_array_equal(found[turned], want)
            np.testing.assert_array_equal(found[plain], x + 2 * before)


@pytest.mark.parametrize("declared", [1, 2])
def test_answers_to_inputs_in_pieces_are_those_to_all(declared, monkeypatch):
    """Samples that are wrong are counted from the first piece on."""
    b = Builder((declared, 4))
    graph, x = b.graph(b.op("abs", ("x",)), b.op("neg", ("x",))), np.arange(160.0).reshape(40, 4)
    x = x.astype(np.float32)
    monkeypatch.setattr(model, "PIECE", 16 * (4 * 4 + 8 * 4))
    monkeypatch.setattr(model, "BATCH", 4)
    told, net = [], Model(graph, backend="reference")
    assert [start for start, _, _ in net.pieces(InMemory({"x": x}))] == [0, 16, 32]
    found = net.run_source(InMemory({"x": x}), lambda *done: told.append(done))
    assert told == [(done, 40) for done in range(4, 41, 4)]
    for name, want in zip(graph.outputs, (x, -x), strict=True):
        np.testing.assert_array_equal(found[name], want)
    x[37, 2] = np.nan
    with pytest.raises(DataError, match="first in sample 37"):
        net.run_source(InMemory({"x": x}))


@pytest.mark.parametrize("raw", [(), ("x",), ("x1",), ("x", "x1")])
def test_answers_are_raw_where_any_input_is(raw):
    b = Builder((1, 2), (1, 2))
    y = b.op("add", b.inputs, AddAttrs())
    qs = {"x": QParams((0.5,), 0), "x1": QParams((0.25,), 4), y: QParams((2.0,), -1)}
    b.values = {n: replace(v, dtype=DType.INT8, q=qs[n]) for n, v in b.values.items()}
    real = {n: np.array([[7.0, -9.0]], np.float32) for n in b.inputs}
    stored = {"x": np.array([[14, -18]], np.int8), "x1": np.array([[32, -32]], np.int8)}
    net, given = Model(b.graph(y)), real | {n: stored[n] for n in raw}
    for name, array in net.stored_inputs(given).items():
        np.testing.assert_array_equal(array, stored[name], strict=True)
    (found,) = net.run(given).values()
    want = np.array([[6, -10]], np.int8) if raw else np.array([[14, -18]], np.float32)
    np.testing.assert_array_equal(found, want, strict=True)


def test_a_file_is_opened_within_the_memory_that_is_given(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(build(scaled(2)))
    x = np.ones((1, 3), np.float32)
    assert load(path, max_memory=10_000)(x).tolist() == [[2, 2, 2]]
    with pytest.raises(BudgetError) as found:
        load(path, max_memory=1)(x)
    assert found.value.file == str(path)
