"""Ops that run one by one give what a whole run gives: in a plan by rows, and among threads."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.export.test_float import mixed
from tests.graphs import small_cnn
from tests.ir.test_patches import chain
from tests.memory.nets import random_net
from tests.memory.targets import SCALAR
from tests.memory.test_segments import feeds_of, ranges, run_in
from tests.quantize.test_mixed import samples
from tinyrt.budget import Budget
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.interpreter import Interpreter, Model, load
from tinyrt.interpreter.backends import BACKENDS
from tinyrt.interpreter.split import SplitProgram, splits
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.memory import plan_memory, plan_segments
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import evaluate, reference_kernel
from tinyrt.quantize import QuantConfig, quantize_graph


@pytest.fixture(scope="module")
def int8():
    return quantize_graph(small_cnn(), samples(100), QuantConfig())


def fed(interpreter, x):
    """The interpreter, allocated for these samples, with them in its input."""
    (port,) = interpreter.get_input_details()
    interpreter.resize_tensor_input(port["index"], x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(port["index"], x)
    return interpreter


def answer(interpreter):
    (port,) = interpreter.get_output_details()
    return interpreter.get_tensor(port["index"])


@pytest.mark.parametrize(("threads", "count"), [(1, 25), (3, 25), (3, 15)])
def test_ops_of_a_batch_that_threads_share(int8, threads, count):
    """The threads' answers come together after the last op."""
    x = np.random.default_rng(0).integers(-128, 128, (count, 8, 8, 3)).astype(np.int8)
    whole, apart = (
        fed(Interpreter.from_graph(int8, backend="numba", num_threads=threads), x) for _ in range(2)
    )
    whole.invoke()
    for index in range(len(int8.nodes)):
        apart.run_op(index)
    np.testing.assert_array_equal(answer(apart), answer(whole))
    assert len(np.unique(answer(whole), axis=0)) > 1


@pytest.mark.parametrize("threads", [1, 3])
def test_a_model_has_as_many_threads_share_a_batch_as_it_is_told(int8, threads, tmp_path):
    path = save_tflite(int8, tmp_path / "int8.tflite")
    for model in (Model(int8, num_threads=threads), load(path, num_threads=threads)):
        model(np.zeros((32, 8, 8, 3), np.int8))
        (ready,) = model._prepared.values()
        program = ready.interpreter._program
        assert len(program._shares if isinstance(program, SplitProgram) else [1]) == threads


@pytest.mark.parametrize("count", [1, 2])
def test_outputs_of_a_batch_that_threads_share_come_with_the_last_op(count):
    graph = chain(*["neg"] * count)
    tensors, (y,) = place_tensors(rebatch(graph, 4)).tensors, graph.outputs
    shared = SplitProgram(graph, tensors, 4, 2, BACKENDS["reference"], Budget())
    tensors["x"][...] = np.arange(16).reshape(4, 4)
    tensors[y].fill(7)
    for index in range(count):
        assert np.all(tensors[y] == 7)
        shared.run_op(index)
    np.testing.assert_array_equal(tensors[y], tensors["x"] * (-1) ** count)


@pytest.mark.parametrize("broken", range(3))
def test_a_batch_that_threads_share_fails_where_any_of_them_does(broken):
    begun = []

    def run():
        raise ArithmeticError(broken)

    def prepare(graph, tensors):
        begun.append(BACKENDS["reference"](graph, tensors))
        fails = len(begun) == broken + 1
        return SimpleNamespace(packed_bytes=0, run=run if fails else begun[-1].run)

    graph = chain("neg")
    tensors = place_tensors(rebatch(graph, 3)).tensors
    with pytest.raises(ArithmeticError, match=f"^{broken}$"):
        SplitProgram(graph, tensors, 3, 3, prepare, Budget()).run()


@pytest.mark.parametrize("backend", ["auto", "native", "numba", "reference"])
def test_threads_share_batches_of_integers_alone(int8, backend):
    """The last bits of floats depend on the batch."""
    assert splits(int8, backend) is (backend != "reference")
    assert not splits(small_cnn(), backend)
    assert not splits(mixed(), backend)


def test_threads_have_memory_of_their_own_and_no_op_writes_on_what_it_reads(int8):
    """Kernels are free in their order. A reshape moves nothing."""
    x = np.zeros((25, 8, 8, 3), np.int8)
    interpreter = fed(Interpreter.from_graph(int8, backend="numba", num_threads=3), x)
    shares = interpreter._program._shares
    assert [share.rows for share in shares] == [slice(0, 8), slice(8, 16), slice(16, 25)]
    for share in shares:
        for node in (n for n in int8.bound() if n.op != "reshape"):
            written = share.tensors[node.output.name]
            read = [share.tensors[v.name] for v in node.inputs if v is not None]
            others = [s.tensors[node.output.name] for s in shares if s is not share]
            assert not any(np.shares_memory(written, array) for array in (*read, *others))


def test_an_op_behind_a_segment():
    graph = random_net(20)
    segment = max(ranges(graph), key=lambda s: s.stop - s.first)
    last = graph.bind(len(graph.nodes) - 1)
    assert segment.stop < last.index
    plan = plan_segments(graph, SCALAR, (segment,))
    interpreter = Interpreter.from_graph(graph, backend="reference", plan=plan)
    interpreter.allocate_tensors()
    indices = {d["name"]: d["index"] for d in interpreter.get_tensor_details()}
    x = np.random.default_rng(0).integers(-128, 128, last.input(0).shape).astype(np.int8)
    interpreter.set_tensor(indices[last.input(0).name], x)
    interpreter.run_op(last.index)
    np.testing.assert_array_equal(answer(interpreter), reference_kernel(last)(x))


def without_bias(graph):
    """The graph whose layers name no bias, in the place of one."""
    nodes = [replace(n, inputs=(*n.inputs[:2], "")) if "conv2d" in n.op else n for n in graph.nodes]
    return graph.with_nodes(nodes)


@pytest.mark.parametrize("seed", [0, 1, 8])
def test_rows_of_layers_without_a_bias(seed):
    graph = without_bias(random_net(seed))
    segment = max(ranges(graph), key=lambda s: s.stop - s.first)
    feeds = feeds_of(graph, seed)
    want = evaluate(graph, feeds)
    for plan in (plan_memory(graph, SCALAR), plan_segments(graph, SCALAR, (segment,))):
        found = run_in(graph, plan, feeds)
        assert all(np.array_equal(found[name], array) for name, array in want.items())
