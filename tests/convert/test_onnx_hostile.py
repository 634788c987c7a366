"""Files that ask for too much, contradict themselves or point elsewhere are refused by name.

Nothing is computed before the budget is asked: memory is measured, and work is counted.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T

from tests.convert import hostile_files
from tests.convert import hostile_onnx as hostile
from tests.convert.onnx_build import OnnxModel
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.budget import Budget, limited
from tinyrt.convert.onnx.static import STATIC, STATIC_SEVERAL
from tinyrt.convert.passes.common import BINARY, UNARY
from tinyrt.errors import TinyrtError
from tinyrt.ir import BoundNode, DType, Node, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import folded

SAYS = {
    "Range": "ModelFormatError: 't0', the constant result of Range has shape [1099511627776]",
    "Range by a small step": "ModelFormatError: 't0', the constant result of Range has shape [9999",
    "ConstantOfShape": "BudgetError: 't0', the constant result of ConstantOfShape takes",
    "ConstantOfShape in many dimensions": "ModelFormatError: 't0', the constant result of Constant",
    "Expand": "BudgetError: 't0', the constant result of Expand takes",
    "Tile": "BudgetError: 't0', the constant result of Tile takes",
    "Concat of itself": "BudgetError: 't10', the constant result of Concat takes",
    "Add of a column and a row": "BudgetError: 't2', the constant result of Add takes",
    "Div of a column and a row": "BudgetError: 't2', the constant result of Div takes",
    "Where of a column and a row": "BudgetError: 't2', the constant result of Where takes",
    "Max of a column and a row": "BudgetError: 't2', the constant result of Max takes",
    "Pow of a column and a row": "BudgetError: 't2', the constant result of Pow takes",
    "Gather": "BudgetError: 't2', the constant result of Gather takes",
    "NonZero": "BudgetError: 't1', the constant result of NonZero takes",
    "Cast": "BudgetError: 't0', the constant result of ConstantOfShape takes",
    "Trilu": "BudgetError: 't0', the constant result of ConstantOfShape takes",
    "OneHot": "ModelFormatError: OneHot of 2000000000 classes with values [2]",
    "numbers one by one": "BudgetError: 't0', the constant result of ConstantOfShape takes",
    "a loop that gathers": "BudgetError: ",
    "a product of constants": "BudgetError: the tensor 't2.product1' f32[200000,200000] takes",
    "a dense layer of constants": "BudgetError: the tensor 't4' f32[150000,150000] takes",
    "a convolution of constants": "BudgetError: 't0', the constant result of ConstantOfShape takes",
    "a padded constant": "BudgetError: the tensor 't2' f32[1,2000000004] takes",
    "a resized constant": "BudgetError: the tensor 't2.nhwc' f32[1,40000,40000,1] takes",
    "an activation": "BudgetError: the tensor 't0' f32[60000,60000] takes",
    "a constant that is widened by the passes": "BudgetError: the tensor 'x' f32[20000,20000] take",
    "functions that each call the next one twice": "BudgetError: ",
    "functions deeper than any model's": "ModelFormatError: bodies of functions or control flow li",
    "a function that calls itself": "ModelFormatError: bodies of functions or control flow lie 32 ",
    "functions that call each other": "ModelFormatError: bodies of functions or control flow lie 3",
    "loops in loops": "BudgetError: ",
    "loops in loops in loops": "BudgetError: ",
    "bodies inside of bodies": "UnsupportedError: no output depends on the model's input: [",
    "a loop without an end": "BudgetError: ",
    "nodes that nothing needs, again and again": "BudgetError: ",
    "many names around a loop": "BudgetError: ",
    "ops that double their way back": "opened",
    "a negative dimension": "ModelFormatError: a constant has shape [-4, -3]",
    "no elements for huge dimensions": "ModelFormatError: a constant has shape [2147483648, 214748",
    "a product of dimensions that overflows": "ModelFormatError: a constant has shape [4294967296,",
    "huge dimensions beside none": "ModelFormatError: a constant has shape [0, 4611686018427387904",
    "many huge dimensions beside none": "ModelFormatError: a constant has shape [0, 2147483647, ",
    "65 dimensions": "ModelFormatError: a constant has 65 dimensions",
    "a million dimensions": "ModelFormatError: a constant has 1000000 dimensions",
    "too few raw bytes": "ModelFormatError: a constant has 48 bytes",
    "too many raw bytes": "ModelFormatError: a constant has 48 bytes",
    "too few numbers": "ModelFormatError: a constant has 11 elements",
    "numbers in another field": "ModelFormatError: a constant has 0 elements",
    "strings": "UnsupportedError: a constant has element type STRING",
    "bfloat16": "ModelFormatError: a constant has 48 bytes",
    "float8": "UnsupportedError: a constant has element type FLOAT8E4M3FN",
    "int4": "UnsupportedError: a constant has element type INT4",
    "complex numbers": "UnsupportedError: a constant has element type COMPLEX64",
    "no type": "UnsupportedError: a constant has element type UNDEFINED",
    "a type that does not exist": "UnsupportedError: a constant has element type type 99",
    "float64 weights": "opened",
    "a segment": "UnsupportedError: a constant comes in segments",
    "not a number": "ModelFormatError: the constant 'c0' holds NaN",
    "no location": "ModelFormatError: the weights file '' is missing",
    "NUL in the location": "ModelFormatError: the weights file 'weights.bin\u0000.txt' is missing",
    "an over-long location": "ModelFormatError: the weights file 'wwww",
    "an over-long path": "ModelFormatError: the weights file 'd/d/d",
    "a folder": "ModelFormatError: the weights file '.' cannot be read: it is no regular file",
    "a parent folder": "ModelFormatError: the weights file '../outside.bin' is outside the model's",
    "a way out and in again": "ModelFormatError: the weights file '../../../../../../etc/hostname'",
    "an absolute path": "ModelFormatError: the weights file '/etc/hostname' is outside the model's",
    "a link to itself": "ModelFormatError: the weights file 'loop' cannot be read: Too many levels",
    "links to each other": "ModelFormatError: the weights file 'a' cannot be read: Too many levels",
    "a link out of the folder": "ModelFormatError: the weights file 'out' is outside the model's f",
    "a folder that is a link out": "ModelFormatError: the weights file 'up/outside.bin' is outside",
    "a pipe": "ModelFormatError: the weights file 'pipe' cannot be read: it is no regular file",
    "a device": "ModelFormatError: the weights file 'zero' is outside the model's folder",
    "a file that is missing": "ModelFormatError: the weights file 'missing.bin' is missing",
    "a folder that is missing": "ModelFormatError: the weights file 'missing/weights.bin' is missi",
    "a file as a folder": "ModelFormatError: the weights file 'weights.bin/weights.bin' cannot be ",
    "an empty file": "ModelFormatError: a constant has 0 bytes",
    "a negative offset": "ModelFormatError: the weights file 'weights.bin' cannot be read: offset ",
    "an offset beyond the end": "ModelFormatError: a constant has 0 bytes in 'weights.bin'",
    "an offset that overflows": "ModelFormatError: the weights file 'weights.bin' cannot be read: ",
    "an offset that is no number": "ModelFormatError: the weights file 'weights.bin' cannot be rea",
    "an offset of ten thousand digits": "ModelFormatError: the weights file 'weights.bin' cannot b",
    "a length that is too short": "ModelFormatError: a constant has 40 bytes",
    "a length beyond the end": "ModelFormatError: a constant has 4800 bytes",
    "a length that overflows": "ModelFormatError: the weights file 'weights.bin' cannot be read: o",
    "a file of holes": "BudgetError: the constant 'c0'",
    "a name that is defined twice": "ModelFormatError: the node defines [t0]",
    "a name that nothing defines": "ModelFormatError: input 'nowhere' is not defined",
    "a node before its input": "opened",
    "nodes in a circle": "ModelFormatError: input 't2' is not defined",
    "an output that is a constant": "UnsupportedError: no output depends on the model's input: [",
    "one name for everything": "UnsupportedError: no output depends on the model's input: [",
    "two constants of one name": "ModelFormatError: the constants define [c0]",
    "an input twice": "ModelFormatError: two inputs are called 'x'",
    "two outputs of one name": "ModelFormatError: outputs [t2, t2]",
    "no outputs": "ModelFormatError: the file holds no graph with outputs and operator set version",
    "no operator set": "ModelFormatError: the file holds no graph with outputs and operator set ve",
    "operator set 2 ** 62": "UnsupportedError: the model uses ONNX operator set 461168601842738790",
    "operator set -1": "UnsupportedError: the model uses ONNX operator set -1",
    "operator sets that differ": "ModelFormatError: the model uses ONNX operator sets 17 and 99",
    "an input of 65 dimensions": "ModelFormatError: 'x' has 65 dimensions",
    "an input beyond 32 bits": "ModelFormatError: 'x' has shape [1, 2147483648]",
    "an input of 2 ** 62 elements": "ModelFormatError: 'x' has shape [2147483647, 2147483647]",
    "an input of strings": "UnsupportedError: the input 'x' is STRING",
    "a sequence as an input": "UnsupportedError: the input 'x' is no tensor",
    "an optional input": "UnsupportedError: the input 'x' is no tensor",
    "a map as an input": "UnsupportedError: the input 'x' is no tensor",
    "an attribute of another type": "ModelFormatError: attribute 'allowzero' is of type STRING",
    "an attribute given twice": "ModelFormatError: attribute 'allowzero' is given twice",
    "an attribute of a function, outside of any": "ModelFormatError: attribute 'axis' is that of a",
    "graphs as deep as the format allows": "opened",
    "a thousand ops that do not exist": "UnsupportedError: the model uses ops that tinyrt does not",
    "names of 100,000 letters": "UnsupportedError: the model uses ops that tinyrt does not have: ",
    "400,000 empty nodes": "BudgetError: looking through the parts of the file",
    "branches of different shapes": "UnsupportedError: the branches of If answer [1, 8] and [1, ",
    "a state that grows": "BudgetError: the tensor 'b",
    "a transpose of 65 dimensions": "ModelFormatError: 't0' has 65 dimensions",
    "a reshape beyond 32 bits": "ModelFormatError: [1, 4] can't take shape [4611686018427387904, -",
    "a slice by 2 ** 62": "opened",
    "a kernel of 2 ** 40": "ShapeError: ",
    "a dilation of 2 ** 40": "",
    "a transposed convolution of stride 2 ** 40": "ShapeError: ",
    "a dilated transposed convolution": "BudgetError: the dilated weights of shape [1, 1, 40001, 4",
    "an equation of many operands": "ModelFormatError: an equation of 5007 characters",
    "a scan over more than there is": "UnsupportedError: Scan over [100000] elements",
    "a layer of 100,000 steps": "UnsupportedError: 100000 steps",
    "a diagonal that is no number": "ModelFormatError: the diagonal is nan",
    "half a turn of a loop": "ModelFormatError: the trip count of Loop is 0.5",
    "four million scales": "ModelFormatError: 4000000 scales for 4 dimensions",
    "parts of more than there is": "UnsupportedError: parts of [4611686018427387904, -461168601842",
}
"""What is wrong with a file -> how the refusal begins; "opened" for what is only odd."""

FILES = {
    **{name: hostile.built(hostile.joined(build)) for name, build in hostile.FOLDS.items()},
    **{name: hostile.built(build) for name, build in hostile.FOLDED.items()},
    **hostile.EXPANSIONS,
    **hostile_files.TENSORS,
    **hostile_files.EXTERNAL,
    **hostile_files.STRUCTURE,
}

MEMORY, WORK = 32 << 20, 10**8
"""Less than users get, so that the tests are quick: what is refused late is refused sooner."""

OVERHEAD = 24 << 20
"""What the parser and Python's objects take beside arrays."""


REPEATED = {
    *("functions that each call the next one twice", "a loop without an end"),
    *("loops in loops", "loops in loops in loops", "a loop that gathers"),
    *("nodes that nothing needs, again and again", "many names around a loop"),
}
"""Files that go on until the work is spent: a tenth of it tells as much."""


def opened(path: Path, work: int) -> tuple[TinyrtError | None, int]:
    """How a file is refused, if it is, and the memory that it took at its peak."""
    tracemalloc.start()
    refusal = None
    try:
        with limited(memory=MEMORY, work=work):
            open_model(path)
    except TinyrtError as error:
        refusal = error
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return refusal, peak


LONG = "a million dimensions"
"""It takes seconds to write, and is refused as one of 65 dimensions is."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.whole] if n == LONG else []) for n in FILES],
)
def test_hostile_files_are_refused_by_name(name, tmp_path):
    path = FILES[name](tmp_path)
    refusal, peak = opened(path, sampled(WORK // 10, WORK) if name in REPEATED else WORK)
    said = f"{type(refusal).__name__}: {refusal.problem}" if refusal else "opened"
    assert said.startswith(SAYS[name])
    assert peak < MEMORY + OVERHEAD + 8 * path.stat().st_size
    if refusal is not None:
        assert refusal.file == str(path)
        assert str(refusal).count("\n") < 12


SIDE = 400


def views(m: OnnxModel, op: str) -> list[str]:
    """Operands that take no memory, of an op whose result has ``SIDE ** 2`` elements."""

    def spread(dtype: type = np.float32) -> str:
        return m.op("Expand", m.const([1], dtype), m.ints(SIDE, SIDE))

    def crossed(dtype: type = np.float32) -> list[str]:
        return [m.const(np.ones(shape), dtype) for shape in ((SIDE, 1), (1, SIDE))]

    operands: dict[str, Callable[[], list[str]]] = {
        "BitwiseNot": lambda: [spread(np.int64)],
        "CastLike": lambda: [spread(), spread(np.int64)],
        "Concat": lambda: [spread(), spread()],
        "ConstantOfShape": lambda: [m.ints(SIDE, SIDE)],
        "CumSum": lambda: [spread(), m.const(0, np.int64)],
        "Expand": lambda: [m.const([1.0]), m.ints(SIDE, SIDE)],
        "Gather": lambda: [m.const([1.0]), m.op("Expand", m.ints(0), m.ints(SIDE, SIDE))],
        "GatherElements": lambda: [spread(), spread(np.int64)],
        "GatherND": lambda: [m.const([1.0]), m.op("Expand", m.ints(0), m.ints(SIDE, SIDE, 1))],
        "Mod": lambda: [spread(np.int64), m.ints(2)],
        "Not": lambda: [spread(np.bool_)],
        "Range": lambda: [m.const(i, np.int64) for i in (0, SIDE**2, 1)],
        "Reshape": lambda: [spread(), m.ints(-1)],
        "ScatterElements": lambda: [spread(), spread(np.int64), spread()],
        "ScatterND": lambda: [spread(), m.op("Expand", m.ints(0), m.ints(SIDE, 1)), spread()],
        "Slice": lambda: [spread(), m.ints(0), m.ints(9999), m.ints(0), m.ints(1)],
        "Tile": lambda: [m.const([[1.0]]), m.ints(SIDE, SIDE)],
        "Unsqueeze": lambda: [spread(), m.ints(0)],
        "Where": lambda: [m.const([[True]], np.bool_), *crossed()],
    }
    if op in operands:
        return operands[op]()
    if op in ("And", "Or", "Xor"):
        return crossed(np.bool_)
    if op in ("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        return crossed(np.uint64)
    return crossed() if op in TWO_OPERANDS else [spread()]


TWO_OPERANDS = (
    *("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum"),
    *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
)

FREE = {"Constant", "Identity", "Shape", "Size"}
"""Static ops that compute nothing, or next to nothing."""

MOVING = {"ConstantOfShape", "Expand", "Slice", "Split", "Transpose"}
"""They ask for their result alone, so that files with large weights are read."""

SLACK = 64 << 10
"""What operands and results of no size take, as objects."""


@pytest.mark.parametrize("op", sorted(UNARY | BINARY))
def test_every_elementwise_op_asks_for_what_folding_it_takes(op, monkeypatch):
    measured: list[tuple[int, int]] = []

    def computed(budget, what, nbytes, compute, work=None):
        compute()
        tracemalloc.start()
        result = compute()
        measured.append((nbytes, tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
        return result

    monkeypatch.setattr(Budget, "computed", computed)
    operands = [Value.constant(n, np.full((SIDE, SIDE), 0.7, np.float32)) for n in "ab"]
    operands = operands[: 2 if op in BINARY else 1]
    record = OPS[op].attrs
    attributes = {"fake_quantize": (0.1, 0, DType.INT8), "leaky_relu": (0.1,)}.get(op, ())
    outputs = (Value("y", DType.FLOAT32, (SIDE, SIDE)),)
    names = tuple(v.name for v in operands)
    node = Node(op, "n", names, ("y",), record(*attributes))
    folded(BoundNode(0, node, tuple(operands), outputs))
    ((asked, taken),) = measured
    assert taken <= asked + SLACK


@pytest.mark.parametrize("op", sorted((STATIC.keys() | STATIC_SEVERAL.keys()) - FREE))
def test_every_static_op_asks_for_what_it_takes(op, tmp_path, monkeypatch):
    measured: dict[str, tuple[int, int]] = {}

    def computed(budget, what, nbytes, compute, work=None):
        compute()  # what is imported and compiled only once is not counted
        tracemalloc.start()
        result = compute()
        measured[what] = nbytes, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    monkeypatch.setattr(Budget, "computed", computed)
    m = OnnxModel(18)
    attributes = {"Cast": {"to": T.DOUBLE}, "Split": {"axis": 1}, "Concat": {"axis": 0}}
    several = {"outputs": 2} if op in STATIC_SEVERAL else {}
    y = m.op(op, *views(m, op), **attributes.get(op, {}), **several)
    path = m.save(tmp_path, m.op("Relu", m.input(1, 4)), m.op("Cast", y, to=T.FLOAT))
    open_model(path)
    asked, taken = measured[f"'{y}', the constant result of {op}"]
    assert taken <= asked + SLACK
    assert asked >= 8 * SIDE**2 or op == "NonZero" or op.startswith("Reduce")
    assert asked <= 8 * SIDE**2 or op not in MOVING
