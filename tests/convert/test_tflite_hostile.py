""".tflite files that fit their schema and still make no sense: each is refused by name, in time."""

import numpy as np
import pytest

from tests.convert.hostile_tflite import (
    HANDLE,
    HOSTILE,
    MOST,
    T,
    floats,
    folded,
    model,
    op,
    unary,
    variable,
)
from tests.convert.raw_tflite import Op, Subgraph, build, scaled
from tests.convert.tflite_files import i32, scalar
from tests.sampling import sampled
from tests.work import calls
from tinyrt.budget import limited
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import (
    BudgetError,
    DefectError,
    UnsupportedError,
)
from tinyrt.export import ExportOptions, export_graph
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import quantize_graph
from tinyrt.quantize.config import Scheme, configure
from tinyrt.quantize.ranges import weight_params


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
    short, long = map(chain, sampled((100, 400), (200, 800)))
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
        export_graph(parse_tflite(data), tmp_path / "c", options=ExportOptions(by_rows=by_rows))
    assert not list(tmp_path.iterdir())
