"""ONNX control flow that can be resolved on import: branches are chosen, loops unrolled.

Where an ``If`` is decided by what the model computes, both branches run, and one is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import onnx
import onnx.helper

from tinyrt import budget
from tinyrt.convert.onnx.call import Builder, Call, Operand
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.convert.onnx.shapes import normal_axes
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Value

Bodies = Callable[[onnx.GraphProto, Sequence[Operand]], list[Operand]]
"""Imports a body for its inputs and gives its outputs."""

MAX_ITERATIONS = 4096
"""A loop that runs longer is refused, as it would be unrolled."""

_FOREVER = np.iinfo(np.int64).max


def if_(call: Call, run: Bodies) -> list[Operand]:
    """The branch that a known condition chooses; both, and a choice, where it is computed.

    Where only integers decide, as a sampling rate does, they are to be fixed: nobody wants both.
    """
    condition = call.operand(0)
    if isinstance(condition, Value) and _hangs_on_numbers(call.builder, condition):
        return _either(call, run, condition)
    chosen = _decision(_known(call, 0, "the condition of If"))
    return run(call.node.get_graph("then_branch" if chosen else "else_branch"), ())


def _hangs_on_numbers(builder: Builder, value: Value) -> bool:
    behind = _inputs_behind(builder, value)
    return any(builder.values[name].dtype is DType.FLOAT32 for name in behind)


def _either(call: Call, run: Bodies, condition: Value) -> list[Operand]:
    """What both branches answer, and of it what the condition chooses.

    Raises:
        ModelFormatError: the branches have different numbers of outputs, or there is no one
            condition.
        UnsupportedError: they answer in different shapes.

    """
    _check_one(condition.shape)
    flat = call.reshape(condition, (), f"{call.result}.condition")
    branches = [run(call.node.get_graph(f"{which}_branch"), ()) for which in ("then", "else")]
    counts = [len(results) for results in branches]
    if counts[0] != counts[1]:
        raise ModelFormatError(
            f"the branches of If have {counts[0]} and {counts[1]} outputs", expected="as many"
        )
    chosen: list[Operand] = []
    for results in zip(*branches, strict=True):
        shapes = [tuple(result.shape) for result in results]
        if shapes[0] != shapes[1]:
            raise UnsupportedError(
                f"the branches of If answer {list(shapes[0])} and {list(shapes[1])}",
                tensor=condition.describe(),
                expected="one shape, where the condition is computed",
                hint=f"fix what it depends on ({_options(call.builder, condition)}), or export "
                "the model without control flow",
            )
        chosen += run(CHOICE, (flat, *results))
    return chosen


def _choice() -> onnx.GraphProto:
    names = ("condition", "then", "else", "chosen")
    *inputs, output = (onnx.helper.make_empty_tensor_value_info(name) for name in names)
    node = onnx.helper.make_node("Where", names[:3], names[3:])
    return onnx.helper.make_graph([node], "choice", inputs, [output])


CHOICE = _choice()
"""The body that chooses between two tensors."""


def loop(call: Call, run: Bodies) -> list[Operand]:
    """The body, repeated; the trip count and the condition must be constant."""
    body = call.node.get_graph("body")
    trips = _trip_count(call)
    go_on: Operand = np.array(True)
    if call.has(1):
        go_on = _known(call, 1, "the condition of Loop")
    state = [call.operand(i) for i in range(2, len(call.node.inputs))]
    scans: list[list[Operand]] = [[] for _ in range(len(body.output) - 1 - len(state))]
    count = 0
    while count < trips and _decision(_constant_condition(go_on)):
        if count == MAX_ITERATIONS:
            raise UnsupportedError(
                f"the loop runs more than {MAX_ITERATIONS} times",
                expected="fewer iterations, which are unrolled",
                hint="export one iteration of the loop and run it as often as needed",
            )
        go_on, *rest = run(body, [np.asarray(count, np.int64), go_on, *state])
        state = rest[: len(state)]
        for scan, element in zip(scans, rest[len(state) :], strict=True):
            scan.append(element)
        count += 1
    return [*state, *(_stacked(call, scan, 0) for scan in scans)]


def scan(call: Call, run: Bodies) -> list[Operand]:
    """The body, once for each element of the sequences along their axes."""
    node, body = call.node, call.node.get_graph("body")
    count = node.get_int("num_scan_inputs", 0)
    operands = call.operands()
    if call.opset < 9 or not 1 <= count <= len(operands):
        raise UnsupportedError(f"Scan of {count} sequences", expected="opset 9 or later, 1 or more")
    state_count = len(operands) - count
    state, sequences = list(operands[:state_count]), operands[state_count:]
    axes = node.get_ints("scan_input_axes", count) or (0,) * count
    backwards = node.get_ints("scan_input_directions", count) or (0,) * count
    axes = tuple(normal_axes([a], len(s.shape))[0] for a, s in zip(axes, sequences, strict=True))
    lengths = {s.shape[a] for a, s in zip(axes, sequences, strict=True)}
    if len(lengths) != 1 or max(lengths) > MAX_ITERATIONS:
        raise UnsupportedError(
            f"Scan over {sorted(lengths)} elements",
            expected=f"sequences of one length, at most {MAX_ITERATIONS}",
        )
    (length,) = lengths
    outputs: list[list[Operand]] = [[] for _ in range(len(body.output) - state_count)]
    for i in range(length):
        elements = [
            _element(call, s, a, length - 1 - i if back else i)
            for s, a, back in zip(sequences, axes, backwards, strict=True)
        ]
        results = run(body, [*state, *elements])
        state = results[:state_count]
        for sequence, element in zip(outputs, results[state_count:], strict=True):
            sequence.append(element)
    directions = node.get_ints("scan_output_directions", len(outputs)) or (0,) * len(outputs)
    places = node.get_ints("scan_output_axes", len(outputs)) or (0,) * len(outputs)
    stacked = (
        _stacked(call, sequence[::-1] if back else sequence, axis)
        for sequence, back, axis in zip(outputs, directions, places, strict=True)
    )
    return [*state, *stacked]


def _trip_count(call: Call) -> int:
    if not call.has(0):
        return _FOREVER
    _known(call, 0, "the trip count of Loop")
    return call.whole(0, "the trip count of Loop")


def _known(call: Call, i: int, what: str) -> np.ndarray:
    """Input ``i``, which decides the course of the model and so must be known.

    Raises:
        UnsupportedError: it depends on the model's input; which one is said.

    """
    operand = call.operand(i)
    if not isinstance(operand, Value):
        return call.array(i, what)
    options = _options(call.builder, operand)
    raise UnsupportedError(
        f"{what} depends on the model's input",
        tensor=operand.describe(),
        expected="a constant",
        hint=f"fix what it depends on ({options}), or export the model with fixed shapes",
    )


def _options(builder: Builder, value: Value) -> str:
    """Options that fix all that a value is computed from."""
    return " ".join(f"--value {name}=NUMBER" for name in _inputs_behind(builder, value))


def _inputs_behind(builder: Builder, value: Value) -> list[str]:
    """The model's inputs from which a value is computed."""
    found: dict[str, None] = {}
    seen, pending = {value.name}, [value.name]
    while pending:
        name = pending.pop()
        maker = builder.producers.get(name)
        if maker is None and not builder.values[name].is_constant:
            found[name] = None
        new = {n for n in (maker.inputs if maker is not None else ()) if n} - seen
        seen |= new
        pending += sorted(new)
    return sorted(found)


def _constant_condition(condition: Operand) -> np.ndarray:
    if isinstance(condition, Value | Quantized):
        raise UnsupportedError(
            "whether the loop goes on depends on the model's input",
            tensor=condition.describe() if isinstance(condition, Value) else None,
            expected="a trip count that is known",
            hint="export the model with a fixed number of iterations",
        )
    return condition


def _decision(condition: np.ndarray) -> bool:
    _check_one(condition.shape)
    return bool(condition.reshape(-1)[0])


def _check_one(shape: Sequence[int]) -> None:
    if math.prod(shape) != 1:
        raise ModelFormatError(f"a condition of shape {list(shape)}", expected="a scalar")


def _element(call: Call, sequence: Operand, axis: int, i: int) -> Operand:
    """One element of a sequence, without the sequence's axis."""
    if isinstance(sequence, Quantized):
        raise UnsupportedError(
            "a scan over integers", expected="numbers", hint="quantise the model in QDQ form"
        )
    if not isinstance(sequence, Value):
        what, nbytes = f"'{call.result}', element {i}", sequence.nbytes // sequence.shape[axis]
        return budget.current().computed(
            what, nbytes, lambda: np.asarray(np.take(sequence, i, axis))
        )
    shape = sequence.shape
    begin = tuple(i if a == axis else 0 for a in range(len(shape)))
    size = tuple(1 if a == axis else d for a, d in enumerate(shape))
    name = f"{call.result}.element{i}"
    part = call.emit("slice", sequence, name=name, begin=begin, size=size, strides=(1,) * len(size))
    return call.reshape(part, shape[:axis] + shape[axis + 1 :], f"{name}.squeezed")


def _stacked(call: Call, elements: Sequence[Operand], axis: int) -> Operand:
    """Elements along a new axis."""
    arrays = [e for e in elements if not isinstance(e, Value | Quantized)]
    if any(isinstance(e, Quantized) for e in elements):
        raise UnsupportedError(
            "a loop gathers integers", expected="numbers", hint="quantise the model in QDQ form"
        )
    if not elements:
        raise UnsupportedError(
            "the loop never runs, and its outputs are empty",
            expected="one iteration at least",
            hint="remove the loop from the model",
        )
    (axis,) = normal_axes([axis], len(elements[0].shape) + 1)
    if len(arrays) == len(elements):
        nbytes = sum(array.nbytes for array in arrays)
        what = f"'{call.result}', what the loop gathers,"
        return budget.current().computed(what, nbytes, lambda: np.stack(arrays, axis))
    rows = []
    for i, element in enumerate(elements):
        name = f"{call.result}.stacked{i}"
        assert not isinstance(element, Quantized)
        value = element if isinstance(element, Value) else call.constant(name, element)
        shape = (*element.shape[:axis], 1, *element.shape[axis:])
        rows.append(call.reshape(value, shape, name))
    return rows[0] if len(rows) == 1 else call.emit("concatenation", *rows, axis=axis)


FLOW: dict[str, Callable[[Call, Bodies], Sequence[Operand]]] = {
    "If": if_,
    "Loop": loop,
    "Scan": scan,
}
"""ONNX op type -> its importer, which gets a function that imports bodies."""
