"""Tensors that nearly are what a step between files and graphs looks for."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.quantised import constant, f32, graph_of, s8, s16
from tinyrt.convert.indices import places_in_integers
from tinyrt.convert.onnx.call import Builder
from tinyrt.ir import DType, Node, QParams, Value
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.shared.spec import NoAttrs

SHAPE = (2, 4)
READERS = {"arg_max": ArgAttrs(-1), "arg_min": ArgAttrs(0), "abs": NoAttrs()}
GREATEST = float(np.finfo(np.float32).max) / 2**16
ORDERED = {
    "bytes": (s8(*SHAPE), ("arg_max",), True),
    "words": (s16(*SHAPE), ("arg_min",), True),
    "both ways": (s8(*SHAPE), ("arg_max", "arg_min"), True),
    "read otherwise, too": (s8(*SHAPE), ("arg_max", "abs"), False),
    "read by nobody": (s8(*SHAPE), (), False),
    "constants": (constant(DType.INT8, *SHAPE), ("arg_max",), False),
    "columns of several scales": (s8(*SHAPE, scale=(0.1,) * 4, axis=1), ("arg_max",), False),
    "halves": (replace(f32(*SHAPE), dtype=DType.FLOAT16), ("arg_max",), False),
    "the greatest scale": (s8(*SHAPE, scale=GREATEST), ("arg_max",), True),
    "one beyond, whose products are infinite": (
        s8(*SHAPE, scale=GREATEST * 1.001),
        ("arg_max",),
        False,
    ),
    "the least scale": (s8(*SHAPE, scale=float(np.finfo(np.float32).tiny)), ("arg_max",), True),
    "one below, whose products are equal": (s8(*SHAPE, scale=1e-39), ("arg_max",), False),
}


@pytest.mark.parametrize("name", ORDERED)
def test_places_of_real_values_are_those_of_integers_in_the_same_order(name):
    x, readers, moved = ORDERED[name]
    graph = graph_of("dequantize", NoAttrs(), [x], [f32(*SHAPE)])
    nodes, values = [*graph.nodes], dict(graph.values)
    for op in readers:
        nodes.append(Node(op, op, ("y",), (op,), READERS[op]))
        values[op] = Value(op, DType.FLOAT32, SHAPE)
    graph = replace(graph, nodes=tuple(nodes), values=values, outputs=readers)
    found = places_in_integers(graph)
    assert [n.op for n in found.nodes] == [*([] if moved else ["dequantize"]), *readers]
    assert all(n.inputs == ("a" if moved else "y",) for n in found.nodes if n.op in readers)


SQUARE = np.arange(9, dtype=np.float32).reshape(3, 3)
ENTERED = {
    "itself": (lambda held: held, None, True),
    "a copy": (lambda held: held.copy(), None, True),
    "itself, turned": (lambda held: held.T, None, False),
    "others": (lambda held: held + 1, None, False),
    "a row of it": (lambda held: held[0], None, False),
    "itself, in another type": (lambda held: held.view(np.int32), None, False),
    "itself, on a grid": (lambda held: held, QParams((0.5,), 0), False),
}


@pytest.mark.parametrize("name", ENTERED)
def test_a_constant_that_is_entered_again_has_its_numbers_in_their_order(name):
    """Arrays that begin at one place of memory may be read in another order."""
    changed, q, found = ENTERED[name]
    builder = Builder()
    value = builder.add_value(Value.constant("w", SQUARE))
    assert builder.entered("w", changed(value.data), q) is (value if found else None)
