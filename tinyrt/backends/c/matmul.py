"""Products of two matrices computed at run time: batch_matmul."""

from __future__ import annotations

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.kernel import Calls, Fields, Params, Target, call
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.ops import prepared
from tinyrt.ops.batch_matmul import BatchMatmulAttrs, BatchMatmulS8, BatchMatmulS16
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import merge_axes, strides_of


def batch_matmul_s8_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_batch_matmul_s8``: strides, batches and matrices."""
    del target
    p = prepared(node, BatchMatmulS8)
    fields = _walk(node) | {
        "y_mult": p.mult,
        "a_zp": p.a_zp,
        "b_zp": p.b_zp,
        "y_shift": p.shift,
        "y_zp": p.y_zp,
    }
    return _product("tinyrt_batch_matmul_s8", "tinyrt_batch_matmul_s8_params", fields, node)


def batch_matmul_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_batch_matmul_s16`` or ``_s16_s8``, with the parameters for int8."""
    del target
    p = prepared(node, BatchMatmulS16)
    fields = _walk(node) | {"y_mult": p.mult, "y_shift": p.right}
    kernel = "tinyrt_batch_matmul_s16" + ("_s8" if node.input(1).dtype is DType.INT8 else "")
    return _product(kernel, "tinyrt_batch_matmul_s8_params", fields, node)


def batch_matmul_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_batch_matmul_f32``."""
    del target
    params = "tinyrt_batch_matmul_f32_params"
    return _product("tinyrt_batch_matmul_f32", params, _walk(node), node)


def _product(kernel: str, ctype: str, fields: Fields, node: BoundNode) -> Calls:
    return (call(kernel, Params(ctype, fields), node.input(0), node.input(1), node.output),)


def _walk(node: BoundNode) -> Fields:
    """The first fields of the kernels' parameters."""
    a, b, y = node.input(0), node.input(1), node.output
    attrs = node.attrs_as(BatchMatmulAttrs)
    batch = y.shape[:-2]
    rows, columns = y.shape[-2:]
    inner = a.shape[-2 if attrs.adj_x else -1]
    dims, (a_batch, b_batch) = merge_axes(batch, _steps(a.shape, batch), _steps(b.shape, batch))
    return {
        "rank": len(dims),
        "batch": dims,
        "a_batch": a_batch,
        "b_batch": b_batch,
        "rows": rows,
        "inner": inner,
        "columns": columns,
        "a_row": 1 if attrs.adj_x else inner,
        "a_inner": rows if attrs.adj_x else 1,
        "b_inner": 1 if attrs.adj_y else columns,
        "b_column": inner if attrs.adj_y else 1,
    }


def _steps(shape: Shape, batch: Shape) -> tuple[int, ...]:
    """An operand's stride along each batch dimension; 0 where the operand is broadcast."""
    lead = (1,) * (len(batch) - len(shape) + 2) + shape[:-2]
    steps = strides_of((*lead, *shape[-2:]))[:-2]
    return tuple(0 if d == 1 else s for d, s in zip(lead, steps, strict=True))


KERNELS: Choosers = {
    "batch_matmul": {
        Form.INT8: always(batch_matmul_s8_calls),
        Form.INT16X8: always(batch_matmul_s16_calls),
        Form.FLOAT: always(batch_matmul_f32_calls),
    },
}
