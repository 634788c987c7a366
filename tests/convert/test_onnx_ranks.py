"""Every operator on operands of every rank: an answer, or an error that a check foresaw."""

from itertools import product

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.sampling import sampled
from tinyrt.api.reading import open_model
from tinyrt.errors import DefectError, TinyrtError

OPSET = 18
SCHEMAS = {
    schema.name: onnx.defs.get_schema(schema.name, OPSET)
    for schema in onnx.defs.get_all_schemas_with_history()
    if schema.domain == "" and schema.since_version <= OPSET and not schema.deprecated
}
RANKS = (0, 1, 3)
LEAST = sampled(500, 2_000)
MAX_VARIED = 2
"""Operands whose ranks vary; the ones behind are vectors."""
NEEDED = {"Cast": {"to": 1}, "Concat": {"axis": 0}, "Einsum": {"equation": "ij->i"}}


def operand(model, number, rank, is_constant):
    if not is_constant:
        return model.input(*(2,) * rank, name=f"x{number}")
    # Behind the first come shapes, places and axes more often than weights.
    return model.const(np.ones((2,) * rank), np.float32 if rank > 1 else np.int64)


def ranks_of(count):
    """All of them, or every second."""
    every = [*product(RANKS, repeat=count)]
    return every[:: sampled(2, 1)] if count > 1 else every


def models(op):
    schema = SCHEMAS[op]
    attributes = dict(NEEDED.get(op, {}))
    attributes |= {"kernel_shape": [2, 2]} if "kernel_shape" in schema.attributes else {}
    for count in range(max(schema.min_input, 1), min(schema.max_input, 4) + 1):
        for ranks in ranks_of(min(count, MAX_VARIED)):
            both = (False, True)
            # In a sample, operands that are known and those that are not take turns.
            for is_constant in sampled((sum(ranks) % 2 == 0,), both) if count > 1 else both:
                m = OnnxModel(OPSET)
                every = (*ranks, *(1,) * (count - len(ranks)))
                operands = [operand(m, i, r, is_constant and i > 0) for i, r in enumerate(every)]
                m.op(op, *operands, outputs=max(schema.min_output, 1), **attributes)
                yield every, m


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_rank_is_unforeseen(tmp_path):
    tried = refused = 0
    unforeseen = []
    for op in SCHEMAS:
        for ranks, m in models(op):
            tried += 1
            try:
                open_model(m.save(tmp_path, "t0"))
            except DefectError as error:
                unforeseen.append(f"{op} on ranks {ranks}: {error.problem}")
            except TinyrtError:
                refused += 1
    assert tried > LEAST
    assert 0 < refused < tried
    assert not unforeseen, "\n".join(unforeseen)
