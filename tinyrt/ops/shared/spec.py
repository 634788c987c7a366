"""The record that describes one op to every part of the toolchain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import partial
from typing import Any, Concatenate, Generic, TypeVar

import numpy as np

from tinyrt.errors import VerifyError
from tinyrt.floatmath.function import Array as Array
from tinyrt.floatmath.function import Gradient
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.shared.rows import RowOp, elementwise_rows
from tinyrt.ops.shared.traits import NO_TRAITS, Traits

Outputs = Any
"""An array, or a tuple of arrays where an op has several outputs."""

AttrsT = TypeVar("AttrsT")
"""An op's attributes."""

PreparedT = TypeVar("PreparedT")
"""The precomputed constants of an integer form."""

Infer = Callable[[AttrsT, Sequence[TensorType | None]], tuple[TensorType, ...]]

Vjp = Callable[[AttrsT, Sequence[Array], Array, Array], tuple[Gradient, ...]]


@dataclass(frozen=True, slots=True)
class NoAttrs:
    """Attributes of an op that has none."""


class Quant(Enum):
    """How an op's tensors get their quantisation parameters."""

    WEIGHTED = "weighted"
    """Constant weights (input 1) symmetric, bias (input 2) int32, output with its own range."""
    OWN_RANGE = "own range"
    """The output's range is calibrated."""
    SAME_AS_INPUT = "same as input"
    """Inputs and output share scale and zero point: the op only moves or selects data."""
    FIXED = "fixed"
    """The output's parameters are prescribed by the op's form (``IntegerForm.fixed_output``)."""
    INPUTS_ONLY = "inputs only"
    """Each input has its own quantisation parameters. The output holds indices or truth values, of
    the same dtype in float and integer graphs, and has no parameters."""
    BOUNDARY = "boundary"
    """quantize and dequantize, which convert between float and integers."""
    STATEFUL = "by its file"
    """The model file gives the scales of states and of intermediate results. Only LSTMs whose state
    starts anew with each run are calibrated: as weighted ops, and their cell states too."""
    BY_TABLE = "by table"
    """The op has no int8 form. It is quantised as a step of ``pointwise``, alone or with others."""
    PLAIN = "plain integers"
    """The op works on integers that stand for themselves, in float and integer models alike."""
    FLOAT_ONLY = "float only"
    """Must be folded or replaced before quantisation."""


CONSTANT_WEIGHTS = frozenset({Quant.WEIGHTED, Quant.STATEFUL})
"""Kinds of ops whose only data input is input 0."""


class Form(StrEnum):
    """What an op computes in, where its activations are quantised."""

    INT8 = "int8"
    """int8 activations; weights, where there are any, int8 or int4, biases int32."""
    INT16X8 = "int16x8"
    """int16 activations with zero point 0; weights int8, biases int64 (int32 in some files)."""
    FLOAT = "float"
    """Activations that are not quantised: float32, indices and truth values."""


def no_macs(node: BoundNode) -> int:
    """Multiply-accumulates of an op that has none."""
    del node
    return 0


def no_rows(node: BoundNode) -> None:
    """For element-wise ops that never run row by row, such as ops on truth values."""
    del node


@dataclass(frozen=True, slots=True)
class IntegerForm(Generic[PreparedT]):
    """The form of an op on activations of one integer dtype.

    Attributes:
        prepare: computes all integer constants before the first inference: multipliers, clamps,
            tables. Raises ``VerifyError`` if quantisation parameters break the op's rules.
        ref: ``(prepared, *arrays) -> array``, the specification of every backend. An op with
            several outputs returns a tuple of arrays.
        fixed_output: scale and zero point of the output if the op's ``quant`` is FIXED.

    """

    prepare: Callable[[BoundNode], PreparedT]
    ref: Callable[Concatenate[PreparedT, ...], Outputs]
    fixed_output: tuple[float, int] | None = None


def both_forms(
    prepare: Callable[[BoundNode], PreparedT], ref: Callable[Concatenate[PreparedT, ...], Outputs]
) -> dict[Form, IntegerForm[PreparedT]]:
    """The forms of an op whose int8 and int16 kernels are the same."""
    form = IntegerForm(prepare, ref)
    return {Form.INT8: form, Form.INT16X8: form}


@dataclass(frozen=True, slots=True)
class OpSpec(Generic[AttrsT]):
    """One op, for every part of the toolchain.

    Attributes:
        name: the op's name, in snake case (``conv2d``).
        attrs: the frozen dataclass of its attributes.
        arity: least and most number of inputs.
        infer: output types from attributes and input types; raises ``ShapeError``.
        quant: how its tensors get their quantisation parameters.
        ref_f32: ``(attrs, *arrays) -> array``, the float specification. An op with several outputs
            returns a tuple of arrays.
        train_f32: a faster ``ref_f32`` for training, which gives the first output alone; None to
            use ``ref_f32``.
        vjp: ``(attrs, inputs, output, grad) -> gradients``, as in ``Function``; None if the op
            cannot be trained.
        forms: the op's integer forms.
        int4_weights: whether the weights (input 1) of the int8 form may be int4.
        weight_axis: the output channels' axis of the weights where ``quant`` is WEIGHTED.
        macs: multiply-accumulates of one inference.
        work: element operations of the float reference beyond one for each byte that it reads or
            writes, and beyond ``macs``: what computing it ahead spends of the budget.
        rows: gives the row-by-row form of a node, or None if it has none. Element-wise ops need no
            such function.
        traits: properties of the op that do not depend on its tensors.
        rebatch: ``(attrs, old, new) -> attrs`` for another batch size, if the attributes depend on
            it.

    """

    name: str
    attrs: type[AttrsT]
    arity: tuple[int, int]
    infer: Infer[AttrsT]
    quant: Quant
    ref_f32: Callable[Concatenate[AttrsT, ...], Outputs] | None = None
    train_f32: Callable[Concatenate[AttrsT, ...], Array] | None = None
    vjp: Vjp[AttrsT] | None = None
    forms: Mapping[Form, IntegerForm[Any]] = field(default_factory=dict)
    int4_weights: bool = False
    weight_axis: int = 0
    macs: Callable[[BoundNode], int] = no_macs
    work: Callable[[BoundNode], int] = no_macs
    rows: Callable[[BoundNode], RowOp | None] | None = None
    rebatch: Callable[[AttrsT, int, int], AttrsT] | None = None
    traits: Traits = NO_TRAITS

    def form(self, node: BoundNode) -> IntegerForm[Any]:
        """The form that a quantised node takes.

        Raises:
            VerifyError: the op has no such form.

        """
        form, forms = _integer_form(node), self.forms
        if form not in forms:
            raise VerifyError(
                f"{self.name} has no {form if forms else 'integer'} form",
                expected=", ".join(forms) or None,
                hint="keep this op in float",
            )
        return forms[form]

    @property
    def float_only(self) -> bool:
        """Whether the op must be folded or replaced before the graph is quantised."""
        return self.quant in (Quant.BY_TABLE, Quant.FLOAT_ONLY)

    @property
    def plain_integers(self) -> bool:
        """Whether the op also takes integers that stand for themselves."""
        return self.traits.plain_integers

    @property
    def pointwise(self) -> bool:
        """Whether the op may be a step of ``pointwise``; files hold the steps as float ops."""
        return (
            self.traits.elementwise and self.traits.in_tflite and self.quant is not Quant.BOUNDARY
        )

    def row_op(self, node: BoundNode) -> RowOp | None:
        """The row-by-row form of the node; None if it has none or is a float op."""
        if not is_integer(node):
            return None
        if self.rows is not None:
            return self.rows(node)
        return elementwise_rows(node) if self.traits.elementwise else None

    def check_quant(self, node: BoundNode) -> None:
        """Raise ``VerifyError`` if quantisation parameters break the op's rules."""
        self.prepared(node)

    def prepared(self, node: BoundNode) -> Any:
        """The precomputed constants of a quantised node; they are computed once and kept.

        Raises:
            VerifyError: the op has no such form, or parameters break its rules.

        """
        return node.noted("prepared", partial(self._prepared, node))

    def _prepared(self, node: BoundNode) -> Any:
        return self.form(node).prepare(node)


def is_integer(node: BoundNode) -> bool:
    """Whether the node takes the integer path: it has a quantised activation.

    A dequantize op on constant weights takes it too, though it has no quantised activation.
    """
    values = (*node.inputs, *node.outputs)
    quantized = any(v is not None and v.q is not None and not v.is_constant for v in values)
    return quantized or node.op == "dequantize"


def form_of(node: BoundNode) -> Form:
    """The node's form; backends have a kernel for each op and form."""
    return _integer_form(node) if is_integer(node) else Form.FLOAT


def _integer_form(node: BoundNode) -> Form:
    """The integer form by the dtypes of the node's activations; states may be wider."""
    inputs = node.inputs[:1] if len(node.outputs) > 1 else node.inputs
    activations = (v for v in (*inputs, node.output) if v is not None and not v.is_constant)
    wide = any(v.dtype is DType.INT16 for v in activations)
    # int32 without a scale are places; those with one stand for real numbers, as int16 do.
    ends = (node.optional(0), node.output)
    widened = any(v is not None and v.dtype is DType.INT32 and v.q is not None for v in ends)
    return Form.INT16X8 if wide or widened else Form.INT8


def limits_of(dtype: DType) -> tuple[int, int]:
    """Least and greatest value of an integer dtype."""
    if dtype is DType.INT4:
        return -8, 7
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


ZERO_POINTS = {DType.INT8: (-128, 127), DType.UINT8: (0, 255)}
"""Dtype -> least and greatest zero point; 0 is the only zero point of other dtypes."""


def qparams(value: Value, *, shifted: bool = False) -> tuple[np.float32, int]:
    """Per-tensor scale (float32, as stored in the file) and zero point of an activation.

    Args:
        value: the activation.
        shifted: whether the op's kernel takes int16 whose zero point is not 0.

    Raises:
        VerifyError: the tensor is not quantised per tensor, or its parameters are out of range.

    """
    q = value.q
    if q is None or len(q.scales) != 1:
        raise VerifyError(
            "the tensor is not quantised per tensor",
            tensor=value.describe(),
            expected="one scale and one zero point",
        )
    limits = np.finfo(np.float32)
    fits = float(limits.smallest_subnormal) <= q.scale <= float(limits.max)
    # int16 activations are symmetric: their kernels have no zero point.
    low, high = ZERO_POINTS.get(value.dtype, (0, 0))
    if shifted and value.dtype is DType.INT16:
        low, high = limits_of(DType.INT16)
    if not fits or not low <= q.zero_point <= high:
        raise VerifyError(
            f"scale {q.scale}, zero point {q.zero_point}",
            tensor=value.describe(),
            expected=f"a float32 scale and a zero point in [{low}, {high}]",
        )
    return np.float32(q.scale), q.zero_point


def require_same_q(node: BoundNode, *values: Value) -> None:
    """Raise ``VerifyError`` unless all the values have the first one's scale and zero point."""
    scale, zero_point = qparams(values[0])
    for value in values[1:]:
        found = qparams(value)
        if found != (scale, zero_point):
            raise VerifyError(
                f"scale and zero point ({found[0]}, {found[1]}) differ from"
                f" ({scale}, {zero_point})",
                tensor=value.describe(),
                expected=f"those of {values[0].describe()}: {node.op} only moves data",
            )


def prepare_moved(node: BoundNode, inputs: Sequence[int]) -> NoAttrs:
    """No constants; checks that these inputs and the output share dtype, scale and zero point."""
    values = (*(node.input(i) for i in inputs), node.output)
    require_alike(*values)
    require_same_q(node, *values)
    return NoAttrs()


def require_fixed(value: Value, fixed: tuple[float, int]) -> None:
    """Raise ``VerifyError`` unless the value has the scale and zero point its op prescribes."""
    scale, zero_point = qparams(value)
    if (scale, zero_point) != (np.float32(fixed[0]), fixed[1]):
        raise VerifyError(
            f"scale and zero point are ({scale}, {zero_point})",
            tensor=value.describe(),
            expected=f"{fixed}, which the op prescribes",
        )


def require_alike(*values: Value) -> None:
    """Raise ``VerifyError`` unless the values are all int8 or all int16."""
    dtypes = {v.dtype for v in values}
    if len(dtypes) != 1 or not dtypes <= {DType.INT8, DType.INT16}:
        raise VerifyError(
            "the integer kernel takes one dtype",
            tensor=", ".join(v.describe() for v in values),
            expected="all int8 or all int16",
        )


def require_s8(*values: Value) -> None:
    """Raise ``VerifyError`` unless all the values are int8."""
    for value in values:
        if value.dtype is not DType.INT8:
            raise VerifyError(
                "the integer kernel takes int8", tensor=value.describe(), expected="int8"
            )
