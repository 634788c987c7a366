"""The tables of kernels, which have one shape: op -> form -> what computes it."""

import pytest

from tinyrt.backends.support import TABLES
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form


@pytest.mark.parametrize("backend", TABLES)
def test_tables_name_forms_that_ops_have(backend):
    for op, forms in TABLES[backend].items():
        floats = {Form.FLOAT} if OPS[op].ref_f32 is not None else set()
        assert set(forms) <= floats | set(OPS[op].forms), op


@pytest.mark.parametrize("backend", ["reference", "numba", "cuda"])
def test_every_integer_form_is_in_the_table(backend):
    table = TABLES[backend]
    for op, spec in OPS.items():
        assert set(table.get(op, {})) - {Form.FLOAT} == set(spec.forms), op


def test_numba_alone_leaves_ops_to_numpy():
    left = {op for op, forms in TABLES["numba"].items() if forms.get(Form.INT8, op) is None}
    assert {"arg_max", "div"} <= left
    assert not left & {"conv2d", "add", "softmax"}
    for backend in TABLES.keys() - {"numba"}:
        assert all(None not in forms.values() for forms in TABLES[backend].values())
