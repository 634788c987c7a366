"""What is said about ops of .tflite files that are not read."""

import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.advice import OTHERS
from tinyrt.convert.tflite.expand import EXPANSIONS
from tinyrt.convert.tflite.ops import DECODERS
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import UnsupportedError

ADVICE = {
    "CONV_3D": "2-D convolutions",
    "ATAN2": "what the angle is computed from",
    "NON_MAX_SUPPRESSION_V5": "up to the boxes and scores",
    "WHERE": "how large its result is depends on the input",
    "RFFT2D": "tinyrt front-end",
    "HASHTABLE_LOOKUP": "let the model take numbers",
    "MULTINOMIAL": "make random numbers an input",
    "CUSTOM (FlexErf)": "without SELECT_TF_OPS",
    "CUSTOM (ethos-u)": "before the chip's own compiler",
    "CUSTOM (Mine)": "convert the part before them",
    "BITCAST": "convert the part before them",
}


def refusal(*builtins):
    ports = [Tensor("x", (1, 3)), Tensor("y", (1, 3))]
    ops = [Op(builtin, ["x"], ["y"]) for builtin in builtins]
    with pytest.raises(UnsupportedError) as caught:
        parse_tflite(build(Subgraph(ports, ops, ["x"], ["y"])))
    return caught.value


@pytest.mark.parametrize("builtin", ADVICE)
def test_each_has_its_advice(builtin):
    error = refusal(builtin)
    assert error.problem == f"the model uses ops that tinyrt does not have: {builtin}"
    assert ADVICE[builtin] in error.hint


def test_code_for_a_chip_comes_first():
    assert "before the chip's own compiler" in refusal("ATAN2", "CUSTOM (ethos-u)").hint


def test_advice_is_on_builtins_that_are_not_read():
    assert OTHERS.keys() <= schema.OP_CODE.keys()
    assert not OTHERS.keys() & {*DECODERS, *EXPANSIONS}
