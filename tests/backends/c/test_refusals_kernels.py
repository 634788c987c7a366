"""Tensors that no C kernel can take are refused when the model is written, op by op."""

import pytest

from tests.ops.quantised import constant, f32, graph_of, s8, s16, weights
from tests.ops.test_refusals_integer import lstm, svdf
from tinyrt.backends.numba.workspace import MAX_SCRATCH, Workspace
from tinyrt.errors import UnsupportedError
from tinyrt.export import export_graph
from tinyrt.interpreter import Interpreter
from tinyrt.ir import DType
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.log_softmax import FIXED_OUTPUT as LOG_SOFTMAX
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import FIXED_OUTPUT as SOFTMAX
from tinyrt.ops.softmax import SoftmaxAttrs

DENSE = FullyConnectedAttrs()
COMPUTED = ["weights or biases are computed while the model runs", "constants", "store them"]


def rows(op, attrs, length, fixed, make=s8):
    return op, attrs, [make(1, length)], [make(1, length, scale=fixed[0], zp=fixed[1])]


def saturated_lstm():
    op, attrs, inputs, outputs = lstm()
    inputs[9:13] = [constant(DType.INT32, 2, fill=2**31 - 1)] * 4
    return op, attrs, inputs, outputs


def biased(fill):
    inputs = [s16(1, 8), weights(4, 8), constant(DType.INT64, 4, fill=fill)]
    return "fully_connected", DENSE, inputs, [s16(1, 4)]


REFUSED = [
    (
        rows("softmax", SoftmaxAttrs(), 4096, SOFTMAX),
        ["softmax over 4096", "'a' s8[1,4096]", "fewer than 4096"],
    ),
    (
        rows("softmax", SoftmaxAttrs(), 32_768, (1 / 32_768, 0), s16),
        ["softmax over 32768", "'a' s16[1,32768]", "fewer than 32768"],
    ),
    (
        rows("log_softmax", NoAttrs(), 4096, LOG_SOFTMAX),
        ["log_softmax over 4096", "'a' s8[1,4096]", "fewer than 4096"],
    ),
    (svdf(features=s8(4, 5)), [*COMPUTED, "'b' s8[4,5]"]),
    (lstm(gate=s8(2, 3)), [*COMPUTED, "'b' s8[2,3]"]),
    (
        biased(1 << 47),
        ["may reach 140737489403904", "'b' s8[4,8]", "less than 140737488355328", "smaller biases"],
    ),
    (
        saturated_lstm(),
        ["may reach 2147484415", "'b' s8[2,3]", "less than 2147483648", "smaller weights"],
    ),
    (
        ("dequantize", NoAttrs(), [weights(4)], [f32(4)]),
        ["stored in integers", "'a' s8[4]", "leave the output out"],
    ),
]


@pytest.mark.parametrize(("parts", "says"), REFUSED)
def test_ops_that_cannot_be_written_are_named(parts, says, tmp_path):
    with pytest.raises(UnsupportedError) as caught:
        export_graph(graph_of(*parts), tmp_path / "model")
    for part in [f"{parts[0]} 'op'", *says]:
        assert part in str(caught.value)


def test_compiled_kernels_refuse_weights_that_are_computed():
    graph = graph_of(*svdf(features=s8(4, 5)))
    with pytest.raises(UnsupportedError) as caught:
        Interpreter.from_graph(graph, backend="native").allocate_tensors()
    for part in [*COMPUTED, "svdf 'op'", "'b' s8[4,5]", "backend 'reference'"]:
        assert part in str(caught.value)


def test_scratch_memory_beyond_its_offsets_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        Workspace({}).need_scratch(MAX_SCRATCH + 1)
    assert "1,073,741,825 bytes of scratch" in caught.value.problem
    assert "at most 1,073,741,824" in str(caught.value)
    assert "choose backend 'reference'" in str(caught.value)
