"""Integers of 64 bits that fit 32 become int32, and others stay: trees as tensors, and places."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tinyrt
from tests.c.host import build_program, run_program
from tests.convert.onnx_build import OnnxModel, expected
from tests.ops.build import build_f32
from tests.ops.cases import CASES, rng_of
from tests.sampling import sampled
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.convert.passes.narrow import ALIKE, NARROW, _short
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.convert.values.width import ARITHMETIC
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.export import export_graph
from tinyrt.ir import DType, Graph, RewriteLog, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import evaluate

FLOAT, INT32, INT64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
SAMPLES, FEATURES, TREES, DEPTH, CLASSES = 3, 5, 4, 3, 3
INNER = 2**DEPTH - 1


def whole(m: OnnxModel, numbers: object) -> str:
    return m.const(numbers, np.int64)


def places(m: OnnxModel, count: int, *shape: int) -> str:
    return whole(m, m.rng.integers(0, count, shape))


def voted(m: OnnxModel, leaves: str) -> str:
    """The class that most trees choose, of leaves (samples, trees)."""
    votes = m.op("Gather", m.weights(TREES * 2**DEPTH, CLASSES), leaves)
    return m.op("ArgMax", m.op("ReduceSum", votes, whole(m, [1]), keepdims=0), axis=1, keepdims=0)


def perfect_trees(m: OnnxModel) -> str:
    """All trees have all nodes: below place i are 2 * i and 2 * i + 1 of the next row."""
    x = m.input(SAMPLES, FEATURES)
    place = whole(m, np.arange(TREES))
    for row in range(DEPTH):
        features, limits = places(m, FEATURES, TREES << row), m.weights(TREES << row)
        feature = m.op("Reshape", m.op("Gather", features, place), m.ints(-1, TREES))
        number = m.op("GatherElements", x, m.op("Expand", feature, m.ints(SAMPLES, TREES)), axis=1)
        is_right = m.op("GreaterOrEqual", number, m.op("Gather", limits, place))
        place = m.op("Add", m.op("Mul", whole(m, [2]), place), m.op("Cast", is_right, to=INT64))
    return voted(m, place)


def traversed_trees(m: OnnxModel) -> str:
    """Trees have arrays of what lies to the left and to the right of each node."""
    x = m.input(SAMPLES, FEATURES)
    nodes = TREES * INNER
    left, right = places(m, nodes, nodes), places(m, nodes, nodes)
    features, limits = places(m, FEATURES, nodes), m.weights(nodes)
    roots = whole(m, np.tile(np.arange(TREES) * INNER, SAMPLES))
    place = roots
    for _ in range(DEPTH):
        feature = m.op("Reshape", m.op("Gather", features, place), m.ints(SAMPLES, TREES))
        number = m.op("Reshape", m.op("GatherElements", x, feature, axis=1), m.ints(-1))
        is_left = m.op("Less", number, m.op("Gather", limits, place))
        step = m.op("Cast", is_left, to=INT64)
        other = m.op("Sub", whole(m, 1), step)
        lefts = m.op("Mul", m.op("Gather", left, place), step)
        rights = m.op("Mul", m.op("Gather", right, place), other)
        place = m.op("Add", lefts, rights)
    return voted(m, m.op("Reshape", place, m.ints(SAMPLES, TREES)))


def multiplied_trees(m: OnnxModel) -> str:
    """Comparisons and paths as matrices, and the leaf that meets all of its conditions."""
    x = m.input(SAMPLES, FEATURES)
    compared = m.op("Less", m.op("MatMul", x, m.weights(FEATURES, INNER)), m.weights(INNER))
    paths = m.const(m.rng.integers(-1, 2, (INNER, 2**DEPTH)))
    counted = m.op("MatMul", m.op("Cast", compared, to=FLOAT), paths)
    counted = m.op("Cast", m.op("Clip", counted, m.const(-9), m.const(9)), to=INT64)
    met = m.op("Equal", counted, whole(m, [2] * 2**DEPTH))
    scores = m.op("MatMul", m.op("Cast", met, to=FLOAT), m.weights(2**DEPTH, CLASSES))
    labels = whole(m, [30, 10, 20])
    return m.op("Gather", labels, m.op("ArgMax", scores, axis=1, keepdims=0))


def largest(m: OnnxModel, name: str) -> str:
    return m.op("ArgMax", m.input(SAMPLES, FEATURES, name=name), axis=1)


def pairs_of_classes(m: OnnxModel) -> str:
    """A row and a column make one place."""
    row, column = largest(m, "x"), largest(m, "z")
    place = m.op("Add", m.op("Mul", row, whole(m, FEATURES)), column)
    return m.op("Gather", m.weights(FEATURES * FEATURES, 2), place)


def a_column_of_the_largest(m: OnnxModel) -> str:
    """Of a table that lies in a row."""
    place = m.op("ArgMax", m.input(SAMPLES, 12), axis=1)
    column = m.op("Mod", place, whole(m, 4))
    row = m.op("Sub", place, column)
    return m.op("Concat", row, m.op("Mod", m.op("Neg", place), whole(m, 5)), axis=1)


def a_class_and_a_number(m: OnnxModel) -> str:
    """Integers that are the model's output are as wide as they were."""
    return m.op("Add", m.op("Neg", largest(m, "x")), whole(m, 100))


def a_class_in_the_middle(m: OnnxModel) -> str:
    """A choice, comparisons, joins and moves of integers."""
    a, b = largest(m, "x"), largest(m, "z")
    joined = m.op("Concat", a, m.op("Max", b, whole(m, 2)), axis=1)
    turned = m.op("Transpose", joined, perm=[1, 0])
    chosen = m.op("Where", m.op("Greater", turned, whole(m, 1)), turned, whole(m, -1))
    part = m.op("Slice", m.op("Mul", chosen, chosen), m.ints(0), m.ints(1), m.ints(0))
    return m.op("Cast", m.op("Min", part, whole(m, 9)), to=FLOAT)


def a_class_here_and_another_there(m: OnnxModel) -> str:
    """Truth values that are constant stay truth values."""
    first, odd = largest(m, "x"), m.const([[True], [False], [True]], np.bool_)
    return m.op("Cast", m.op("Where", odd, first, m.op("Neg", first)), to=FLOAT)


def held(m: OnnxModel, most: float) -> str:
    """A number as an integer that is no further from 0."""
    x = m.op("Mul", m.input(SAMPLES, FEATURES), m.const(most / 2))
    return m.op("Cast", m.op("Clip", x, m.const(-most), m.const(most)), to=INT64)


def steps_of_a_number(m: OnnxModel) -> str:
    step = held(m, 9)
    return m.op("Cast", m.op("Sub", m.op("Mul", step, step), whole(m, 7)), to=INT32)


SHORT: dict[str, Callable[[OnnxModel], str]] = {
    f.__name__: f
    for f in (
        *(perfect_trees, traversed_trees, multiplied_trees, pairs_of_classes),
        *(a_column_of_the_largest, a_class_and_a_number, a_class_in_the_middle, steps_of_a_number),
        a_class_here_and_another_there,
    )
}


def saved(build: Callable[[OnnxModel], str], folder: Path) -> Path:
    m = OnnxModel(16)
    model = m.model(build(m))
    found = onnx.shape_inference.infer_shapes(
        helper.make_model(
            helper.make_graph(
                model.graph.node, "g", model.graph.input, [], model.graph.initializer
            ),
            opset_imports=model.opset_import,
        )
    )
    kinds = {v.name: v.type.tensor_type.elem_type for v in found.graph.value_info}
    (output,) = model.graph.output
    output.type.tensor_type.elem_type = kinds[output.name]
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def read(path: Path, **options: object) -> tuple[Graph, RewriteLog]:
    log = RewriteLog()
    return optimize(read_onnx(path), keep_layout=True, log=log, **options), log


def feeds_of(graph: Graph, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.input_values}


def in_64_bits(graph: Graph) -> set[str]:
    return {n.op for n in graph.bound() for v in n.outputs if v.dtype is DType.INT64}


@pytest.mark.parametrize("name", SHORT)
def test_what_fits_is_computed_in_32_bits_with_the_same_answers(name, tmp_path):
    path = saved(SHORT[name], tmp_path)
    wide, _ = read(path, skip=[NARROW])
    graph, log = read(path)
    assert in_64_bits(wide) & {*ARITHMETIC, "equal", "cast"}
    assert in_64_bits(graph) <= {"cast", "arg_max"}
    assert {rule for rule, _ in log.applied} >= {NARROW}
    assert "all its integers fit 32 bits, whatever comes" in log.reasons.values()
    again = parse_tflite(write_tflite(graph))
    for seed in range(sampled(2, 5)):
        feeds = feeds_of(wide, seed)
        (want,) = expected(path, feeds)
        for each in (read_onnx(path), wide, graph, again):
            (found,) = evaluate(each, feeds).values()
            assert found.dtype == want.dtype
            np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("name", sampled(["a_class_in_the_middle"], [*SHORT]))
def test_so_does_c_on_this_machine(name, tmp_path):
    path = saved(SHORT[name], tmp_path)
    graph, _ = read(path)
    project = export_graph(graph, tmp_path / "out")
    program = build_program(project, tmp_path)
    for seed in range(3):
        feeds = feeds_of(graph, seed)
        (want,) = expected(path, feeds)
        (found,) = run_program(program, project, feeds).values()
        np.testing.assert_array_equal(found, want)


@pytest.mark.device
@pytest.mark.whole
def test_a_tree_on_a_cortex_m4(tmp_path):
    graph, _ = read(saved(traversed_trees, tmp_path))
    save_tflite(graph, tmp_path / "m.tflite")
    assert tinyrt.run_emulated(tmp_path / "m.tflite", core="cortex-m4").bit_exact


def of_any_number(m: OnnxModel) -> str:
    """A float that is cast may be any integer."""
    return m.op("Cast", m.input(SAMPLES, FEATURES), to=INT64)


def products_that_grow(m: OnnxModel) -> str:
    """(2**20)**2 does not fit; an op behind it that fits again does not help."""
    step = held(m, 2.0**20)
    return m.op("Min", m.op("Mul", step, step), whole(m, 5))


MAY_NEED_64 = {
    "a cast": (
        lambda m: m.op("Add", of_any_number(m), whole(m, 1)),
        "add",
        "t0",
        "from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807",
    ),
    "a product": (
        lambda m: m.op("Add", products_that_grow(m), whole(m, 1)),
        "mul",
        "t3",
        "from -1,099,511,627,776 to 1,099,511,627,776",
    ),
    "a constant": (
        lambda m: m.op("Add", largest(m, "x"), whole(m, 2**31 - FEATURES + 1)),
        "add",
        "t1",
        "from 2,147,483,644 to 2,147,483,648",
    ),
}


@pytest.mark.parametrize("name", MAY_NEED_64)
def test_what_may_not_fit_stays_and_is_named(name, tmp_path):
    build, op, tensor, reach = MAY_NEED_64[name]
    path = saved(build, tmp_path)
    graph, log = read(path)
    assert op in in_64_bits(graph)
    assert f"'{tensor}' may be {reach}" in log.refused.values()
    for seed in range(3):
        feeds = {k: 1e4 * x for k, x in feeds_of(graph, seed).items()}
        (want,) = expected(path, feeds)
        np.testing.assert_array_equal(next(iter(evaluate(graph, feeds).values())), want)
    with pytest.raises(UnsupportedError) as error:
        export_graph(graph, tmp_path / "out")
    assert error.value.problem.startswith(f"{op} has no C kernel for int64 tensors: '{tensor}' may")


def test_a_file_in_which_all_would_fit_is_to_be_converted(tmp_path):
    wide, _ = read(saved(pairs_of_classes, tmp_path), skip=[NARROW])
    with pytest.raises(UnsupportedError, match="would fit 32 bits"):
        export_graph(wide, tmp_path / "out")


UNCHANGED = {
    "a class": lambda m: largest(m, "x"),
    "a class that moves": lambda m: m.op("Transpose", largest(m, "x")),
    "a class that is compared": lambda m: m.op("Where", *both(m), m.const(1), m.const(0)),
}
"""What has a kernel on 64 bits, and would only gain casts."""


def both(m: OnnxModel) -> tuple[str]:
    numbers = of_any_number(m)
    return (m.op("Greater", largest(m, "z"), numbers),)


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_would_only_gain_casts_stays(name, tmp_path):
    _, log = read(saved(UNCHANGED[name], tmp_path))
    assert NARROW not in {rule for rule, _ in log.applied}


@pytest.mark.parametrize("op", sorted(ALIKE & CASES.keys() - {"dequantize"}))
def test_what_takes_64_bits_takes_32(op):
    """Whichever of its inputs are integers: the pass relies on it. Dequantize takes neither."""
    for seed in range(3):
        rng = rng_of(op, seed)
        nodes = build_f32(CASES[op](rng), rng).graph.bound()
        node = next(n for n in nodes if n.op == op)
        given = [None if v is None else v.type for v in node.inputs]
        for wide in product((False, True), repeat=len(given)):
            inputs = [
                TensorType(DType.INT64, t.shape) if t is not None and is_wide else t
                for t, is_wide in zip(given, wide, strict=True)
            ]
            try:
                found = OPS[op].infer(node.attrs, inputs)
            except ShapeError:
                continue
            short = OPS[op].infer(node.attrs, [None if t is None else _short(t) for t in inputs])
            assert short == tuple(map(_short, found))
