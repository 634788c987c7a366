"""Graphs and parameters that cannot be are refused by name."""

import pytest

from tests.ops.quantised import f32, node_of
from tinyrt.errors import VerifyError
from tinyrt.ir import QParams
from tinyrt.ops.shared.spec import NoAttrs


def test_an_input_that_a_node_lacks_is_refused():
    node = node_of("abs", NoAttrs(), [f32(2)], [f32(2)])
    with pytest.raises(VerifyError) as caught:
        node.input(1)
    assert caught.value.as_dict() == {
        "problem": "input 1 is missing",
        "op": "abs 'op'",
        "expected": "a tensor",
    }


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (lambda: QParams(()), "at least one scale"),
        (lambda: QParams((1.0, 2.0)), "2 scales, but no axis that they belong to"),
        (lambda: QParams((1.0, 2.0), axis=0).scale, "per-channel quantisation has 2 scales"),
    ],
)
def test_parameters_that_cannot_be_are_refused(action, says):
    with pytest.raises(ValueError, match=says):
        action()
