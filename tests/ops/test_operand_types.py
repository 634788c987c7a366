"""Which types of elements each op takes together: these are listed, all others refused.

``python -m tests.ops.test_operand_types`` writes the list; look at the difference.
"""

from itertools import product
from pathlib import Path

import pytest

from tests.ops.build import build_f32, build_s8, build_s16
from tests.ops.cases import CASES, rng_of
from tinyrt.errors import TinyrtError
from tinyrt.ir import DType, TensorType
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form

LISTED = Path(__file__).with_name("operand_types.txt")
"""``op: inputs -> outputs``, as ``types_of`` finds them."""
BUILDS = {Form.INT8: build_s8, Form.INT16X8: build_s16}


def cases_of(op):
    """Attributes and types of random cases: of floats, and in each integer form of the op."""
    builds = [BUILDS[form] for form in OPS[op].forms]
    if op != "dequantize":
        builds.append(build_f32)
    for build, seed in product(builds, range(6)):
        rng = rng_of(op, seed)
        graph = build(CASES[op](rng), rng).graph
        (node,) = graph.nodes
        yield node.attrs, [graph.value(name).type if name else None for name in node.inputs]


def types_of(op):
    """What the op takes of all that differs from such a case in the type of one input."""
    taken = set()
    for attrs, types in cases_of(op):
        near = [types]
        for i, type_ in enumerate(types):
            if type_ is not None:
                others = (TensorType(dtype, type_.shape) for dtype in DType)
                near += [[*types[:i], other, *types[i + 1 :]] for other in others]
        for inputs in near:
            try:
                outputs = OPS[op].infer(attrs, inputs)
            except TinyrtError:
                continue
            taken.add(f"{op}: {_names(inputs)} -> {_names(outputs)}")
    return sorted(taken)


def _names(types):
    return " ".join(type_.dtype.name.lower() if type_ else "none" for type_ in types)


@pytest.mark.parametrize("op", OPS)
def test_an_op_takes_the_types_that_are_listed_and_no_others(op):
    listed = [line for line in LISTED.read_text().splitlines() if line.startswith(f"{op}: ")]
    assert types_of(op) == listed


if __name__ == "__main__":
    LISTED.write_text("".join(f"{line}\n" for op in OPS for line in types_of(op)))
