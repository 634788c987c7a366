"""Cases on the ends of every range in the interpreter's compiled kernels."""

import numpy as np
import pytest

from tests.c.programs import one_graph
from tests.ops.corners import FAMILIES, thinned
from tests.sampling import sampled
from tinyrt.interpreter import Interpreter
from tinyrt.ops.shared.evaluate import evaluate


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
def test_answers_equal_the_references(family):
    graph, feeds = one_graph(thinned(FAMILIES[family](), sampled(10, 1)))
    interpreter = Interpreter.from_graph(graph, backend="numba")
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    with np.errstate(all="ignore"):
        interpreter.invoke()
        expected = evaluate(graph, feeds)
    for detail in interpreter.get_output_details():
        name = detail["name"]
        found = interpreter.get_tensor(detail["index"])
        np.testing.assert_array_equal(found, expected[name], err_msg=name, strict=True)
