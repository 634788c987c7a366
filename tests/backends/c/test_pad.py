"""Borders around elements of every type."""

import numpy as np
import pytest

from tinyrt.errors import UnsupportedError
from tinyrt.export import export_graph
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.pad import PadAttrs

TYPES = [(DType.FLOAT32, -1.5), (DType.INT32, 7), (DType.INT32, -2), (DType.BOOL, 1)]


def padded(dtype, value):
    """A row of three elements, one more on either side."""
    x, y = Value("x", dtype, (1, 3)), Value("y", dtype, (1, 5))
    node = Node("pad", "pad", ("x",), ("y",), PadAttrs(((0, 0), (1, 1)), value))
    return verify(Graph("border", ("x",), ("y",), {"x": x, "y": y}, (node,)))


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "value"), [*TYPES, (DType.INT64, 0), (DType.INT64, -1)])
def test_the_border_has_the_elements_type(dtype, value):
    interpreter = Interpreter.from_graph(padded(dtype, value), backend="native")
    interpreter.allocate_tensors()
    x = np.array([[0, 1, 1]], dtype.numpy)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (1, 1)), constant_values=value))


def test_a_border_that_c_cannot_write_is_refused(tmp_path):
    with pytest.raises(UnsupportedError, match="a border of 5 around int64 elements"):
        export_graph(padded(DType.INT64, 5), tmp_path / "out")
