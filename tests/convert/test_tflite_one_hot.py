"""ONE_HOT and RANGE, as LiteRT computes them."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, build
from tests.convert.test_tflite_breadth import agree, litert
from tests.convert.tflite_files import T, i32, scalar
from tinyrt.convert.tflite.one_hot import MAX_CLASSES
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate

TYPES = {
    "FLOAT32": (np.float32, {}),
    "INT32": (np.int32, {}),
    "INT8": (np.int8, {"scale": 0.05, "zero_point": -7}),
}
IDS = np.array([[0, 3, 2], [-1, 4, 2**31 - 2]])


def hot(dtype="FLOAT32", axis=-1, index="INT32", depth=4, **changed):
    """Four classes of six indices, of which some lie outside."""
    kind, q = TYPES[dtype]
    place = 2 if axis == -1 else axis or 0
    shape = (*IDS.shape[:place], max(depth, 1), *IDS.shape[place:])
    tensors = {
        "i": T("i", IDS.shape, index),
        "depth": scalar("depth", depth),
        "on": T("on", (), dtype, np.array(5, kind), **q),
        "off": T("off", (), dtype, np.array(-3, kind), **q),
        "y": T("y", shape, dtype, **q),
    }
    tensors |= changed
    options = () if axis is None else ("OneHotOptions", {"Axis": axis})
    op = Op("ONE_HOT", ["i", "depth", "on", "off"], ["y"], *options)
    fed = [name for name in ("i", "on", "off") if tensors[name].data is None]
    return build(Subgraph(list(tensors.values()), [op], fed, ["y"]))


def peer(data, ids):
    interpreter = litert.Interpreter(
        model_content=data, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    (port,) = interpreter.get_input_details()
    interpreter.set_tensor(port["index"], ids.astype(port["dtype"]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
@pytest.mark.parametrize("index", ["INT32", "INT64"])
def test_rows_are_those_of_litert(dtype, axis, index):
    """As read, and as written anew, within the range and beyond it."""
    data = hot(dtype, axis, index)
    graph = parse_tflite(data)
    again = write_tflite(graph)
    for ids in (IDS, np.maximum(IDS - 1, -(2**31))):
        wanted = peer(data, ids)
        port = graph.input_values[0].dtype.numpy
        found = evaluate(graph, {"i": ids.astype(port)})["y"]
        np.testing.assert_array_equal(found, wanted, strict=True)
        np.testing.assert_array_equal(peer(again, ids), wanted, strict=True)


def test_without_options_classes_are_the_first_dimension():
    """What a file leaves out is 0."""
    found, wanted = (
        evaluate(parse_tflite(hot(axis=axis)), {"i": IDS.astype(np.int32)}) for axis in (None, 0)
    )
    np.testing.assert_array_equal(found["y"], wanted["y"], strict=True)


@pytest.mark.parametrize(("depth", "axis"), [(0, 2), (MAX_CLASSES + 1, 0), (4, 3), (4, -2)])
def test_what_cannot_be_is_refused(depth, axis):
    with pytest.raises(ModelFormatError, match="ONE_HOT of") as caught:
        parse_tflite(hot(depth=depth, axis=axis))
    assert caught.value.problem == f"ONE_HOT of {depth:,} classes along dimension {axis}"
    assert caught.value.expected == "1 to 4,096 classes, and a dimension from 0 to 2, or -1"
    for most in (1, MAX_CLASSES):
        assert parse_tflite(hot(depth=most)).nodes


def test_answers_are_constants_of_the_outputs_type():
    with pytest.raises(UnsupportedError, match="computed at run time") as caught:
        parse_tflite(hot(on=T("on", ())))
    assert caught.value.tensor == "'on' f32[]"
    for off in (
        T("off", (), "INT32", np.array(1, np.int32)),
        T("off", (2,), data=np.zeros(2, "f4")),
    ):
        with pytest.raises(ModelFormatError, match="ONE_HOT answers with 'off'"):
            parse_tflite(hot(off=off))


def ranged(start, limit, step, kind=np.int32, known=True):
    name = {np.int32: "INT32", np.float32: "FLOAT32"}[kind]
    values = {"a": start, "b": limit, "c": step}
    tensors = [
        T(n, (), name, np.array(v, kind) if known or n != "b" else None) for n, v in values.items()
    ]
    count = max(len(np.arange(start, limit, step)), 1) if step else 1
    tensors += [T("r", (count,), name), T("x", (count,), name), T("y", (count,), name)]
    ops = [Op("RANGE", ["a", "b", "c"], ["r"]), Op("ADD", ["x", "r"], ["y"], "AddOptions")]
    return build(Subgraph(tensors, ops, ["x"] if known else ["b", "x"], ["y"]))


@pytest.mark.parametrize("limits", [(0, 6, 1), (2, 9, 3), (5, -4, -2), (7, 8, 5)])
@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_ranges_are_constants(limits, kind):
    data = ranged(*limits, kind)
    assert [node.op for node in parse_tflite(data).nodes] == ["add"]
    agree(data)


def test_real_steps_are_added_up():
    """So that their rounding is LiteRT's, too."""
    data = ranged(0, 100, 0.1, np.float32)
    graph = parse_tflite(data)
    x = np.zeros(graph.value("x").shape, np.float32)
    (found,) = evaluate(graph, {"x": x}).values()
    np.testing.assert_array_equal(found, peer(data, x))
    assert not np.array_equal(found, np.arange(len(x), dtype=np.float32) * np.float32(0.1))


@pytest.mark.parametrize("limits", [(0, 6, 0), (0, 6, -1), (3, 3, 1)])
def test_empty_ranges_are_refused(limits):
    with pytest.raises(ModelFormatError, match="is empty") as caught:
        parse_tflite(ranged(*limits))
    start, limit, step = limits
    assert caught.value.problem == f"RANGE from {start} to {limit} in steps of {step} is empty"


def test_ranges_that_are_computed_are_refused():
    with pytest.raises(UnsupportedError, match="the limit of RANGE is computed at run time"):
        parse_tflite(ranged(0, 6, 1, known=False))
    tensors = [scalar("a", 0), i32("b", 6, 7), scalar("c", 1), T("y", (6,), "INT32")]
    tensors.append(T("x", (6,), "INT32"))
    op = Op("RANGE", ["a", "b", "c"], ["y"])
    with pytest.raises(ModelFormatError, match="the limit of RANGE is 'b'"):
        parse_tflite(build(Subgraph(tensors, [op], ["x"], ["y"])))
