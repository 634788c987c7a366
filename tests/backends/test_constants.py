"""Constants that do not lie in memory as kernels read them: turned, or at odd addresses."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.quantised import constant, graph_of, s8
from tinyrt.backends.lanes import SLACK
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate


def turned(data):
    """The same elements, columns first in memory."""
    return np.asfortranarray(data)


def at_odd_address(data):
    """The same elements, as a file may hold them: one byte behind any multiple of their size."""
    memory = np.zeros(data.nbytes + 16, np.uint8)
    start = -memory.ctypes.data % 16 + 1
    view = memory[start : start + data.nbytes].view(data.dtype).reshape(data.shape)
    view[...] = data
    assert data.itemsize == 1 or view.ctypes.data % data.itemsize
    return view


def added():
    """x + c, in int8."""
    c = constant(DType.INT8, 4, 32, scale=0.05)
    return graph_of("add", AddAttrs(), [s8(4, 32), c], [s8(4, 32, scale=0.2)])


def dense():
    w = constant(DType.INT8, 6, 32, scale=0.01)
    bias = constant(DType.INT32, 6, scale=0.001)
    return graph_of(
        "fully_connected", FullyConnectedAttrs(), [s8(4, 32), w, bias], [s8(4, 6, scale=0.5)]
    )


@pytest.mark.parametrize("backend", ["reference", "numba"])
@pytest.mark.parametrize("lying", [turned, at_odd_address])
@pytest.mark.parametrize("build", [added, dense])
def test_answers_do_not_depend_on_where_constants_lie(build, lying, backend):
    graph, rng = build(), np.random.default_rng(0)
    x = rng.integers(-128, 128, (4, 32)).astype(np.int8)
    values = dict(graph.values)
    for name, value in graph.values.items():
        if value.is_constant:
            data = rng.integers(-100, 100, value.shape).astype(value.dtype.numpy)
            values[name] = replace(value, data=lying(data))
    graph = replace(graph, values=values)
    interpreter = Interpreter.from_graph(graph, backend=backend)
    interpreter.allocate_tensors()
    (given,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    plain = replace(
        graph,
        values={
            n: v if v.data is None else replace(v, data=v.data.copy(order="C"))
            for n, v in values.items()
        },
    )
    want = evaluate(plain, {"a": x})["y"]
    np.testing.assert_array_equal(interpreter.get_tensor(answer["index"]), want)
    assert len(np.unique(want)) > 10


def test_scratch_memory_has_room_behind_what_was_asked_for():
    """Vectors of a kernel's last elements are read whole."""
    workspace = Workspace({})
    for nbytes in (100, 1_000, 10):
        workspace.need_scratch(nbytes)
    start = workspace.scratch()
    (memory,) = workspace._alive
    assert start % 64 == 0
    assert memory.nbytes == 1_000 + SLACK
    assert SLACK >= 64, "the longest vector"
