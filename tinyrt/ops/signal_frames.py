"""signal_framer, signal_stacker, signal_delay, signal_overlap_add: what comes in pieces over time.

TFLM keeps past samples in ring buffers. Here they are windows that are shifted on, so that states
are tensors like others; counts say how much of them has been filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import ShapeError
from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.shapes import operand
from tinyrt.ops.shared.signal import (
    INT32_MAX,
    SAMPLES,
    SIGNAL,
    require_shape,
    require_states,
    require_within,
    tensor,
)
from tinyrt.ops.shared.spec import Array, OpSpec, Quant

COUNT = TensorType(DType.INT32, (1,))
"""The state that counts."""

VALID = TensorType(DType.BOOL, ())
"""The output that says whether the other one is filled."""


@dataclass(frozen=True, slots=True)
class SignalFramerAttrs:
    """TFLM's options of SignalFramer.

    Attributes:
        frame_size: samples of a frame.
        frame_step: samples from one frame to the next.
        prefill: whether zeros stand before the first samples, so that every frame is filled.

    """

    frame_size: int
    frame_step: int
    prefill: bool = False

    @property
    def window(self) -> int:
        """Samples that are kept: whole steps, or a frame where zeros stand before."""
        steps = -(-self.frame_size // self.frame_step)
        return self.frame_size if self.prefill else steps * self.frame_step

    @property
    def steps(self) -> int:
        """Steps until the first frame is filled."""
        return 1 if self.prefill else self.window // self.frame_step


def framer_states(attrs: SignalFramerAttrs, x: TensorType) -> tuple[TensorType, ...]:
    """The window int16 (..., w), and how many steps have been taken, up to those of a frame.

    Raises:
        ShapeError: the attributes are out of range.

    """
    require_within(attrs.frame_size, 1, INT32_MAX, "frame_size")
    longest = attrs.frame_size if attrs.prefill else INT32_MAX
    require_within(attrs.frame_step, 1, longest, "frame_step")
    return TensorType(DType.INT16, (*x.shape[:-1], attrs.window)), COUNT


def infer_framer(
    attrs: SignalFramerAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """int16 (..., n), states -> frames int16 (..., n / frame_step, frame_size).

    Returns:
        The frames, bool () whether all are filled, and the next states.

    """
    x = _samples(inputs)
    kept = require_states(inputs, 1, framer_states(attrs, x))
    frames, rest = divmod(x.shape[-1], attrs.frame_step)
    if rest:
        raise ShapeError(f"input is {x}", expected=f"a multiple of {attrs.frame_step} samples")
    y = TensorType(DType.INT16, (*x.shape[:-1], frames, attrs.frame_size))
    return y, VALID, *kept


def _samples(inputs: Sequence[TensorType | None]) -> TensorType:
    x = tensor(inputs, 0, "input", DType.INT16)
    if not x.shape:
        raise ShapeError(f"input is {x}", expected="rows of samples")
    return x


def ref_framer(
    attrs: SignalFramerAttrs, x: NDArray[np.int16], window: Array, count: Array
) -> tuple[Array, Array, Array, Array]:
    """Frames that overlap. Before the first samples there are zeros, of which TFLM says nothing."""
    frames, step = x.shape[-1] // attrs.frame_step, attrs.frame_step
    joined = np.concatenate([window, x], axis=-1)
    starts = [(i + 1) * step for i in range(frames)]
    y = np.stack([joined[..., at : at + attrs.frame_size] for at in starts], axis=-2)
    # The first of these frames is the last one to be filled.
    filled = np.asarray(int(count[0]) + 1 >= attrs.steps)
    seen = np.minimum(count + frames, attrs.steps)
    return y, filled, joined[..., frames * step :], seen.astype(np.int32)


@dataclass(frozen=True, slots=True)
class SignalStackerAttrs:
    """TFLM's options of SignalStacker.

    Attributes:
        num_channels: elements of an input.
        stacker_left_context: inputs before one that stand beside it.
        stacker_right_context: inputs behind it that do.
        stacker_step: inputs from one output to the next.

    """

    num_channels: int
    stacker_left_context: int
    stacker_right_context: int
    stacker_step: int

    @property
    def inputs(self) -> int:
        """Inputs in an output."""
        return self.stacker_left_context + 1 + self.stacker_right_context


def stacker_states(attrs: SignalStackerAttrs, x: TensorType) -> tuple[TensorType, ...]:
    """The last inputs int16 (n,), and a count of those that wait for an output.

    Raises:
        ShapeError: the attributes are out of range.

    """
    del x
    require_within(attrs.num_channels, 1, INT32_MAX, "num_channels")
    for name in ("stacker_left_context", "stacker_right_context"):
        require_within(getattr(attrs, name), 0, INT32_MAX, name)
    require_within(attrs.stacker_step, 1, attrs.inputs, "stacker_step")
    return TensorType(DType.INT16, (attrs.inputs * attrs.num_channels,)), COUNT


def infer_stacker(
    attrs: SignalStackerAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """int16 (num_channels,), states -> inputs beside each other int16 (n,).

    Returns:
        These, bool () whether there were enough of them, and the next states.

    """
    x = tensor(inputs, 0, "input", DType.INT16)
    kept = require_states(inputs, 1, stacker_states(attrs, x))
    require_shape(x, (attrs.num_channels,), "input")
    return kept[0], VALID, *kept


def ref_stacker(
    attrs: SignalStackerAttrs, x: NDArray[np.int16], window: Array, count: Array
) -> tuple[Array, Array, Array, Array]:
    """The last inputs; the first one stands for all before it.

    The count is 0 before the first input, else one more than the inputs that no output has taken.
    """
    first = not count[0]
    y = np.tile(x, attrs.inputs) if first else np.concatenate([window[len(x) :], x])
    waiting = attrs.stacker_left_context + 1 if first else int(count[0])
    filled = waiting >= attrs.inputs
    left = waiting - attrs.stacker_step if filled else waiting
    return y, np.asarray(filled), y, np.array([left + 1], np.int32)


@dataclass(frozen=True, slots=True)
class SignalDelayAttrs:
    """TFLM's options of SignalDelay.

    Attributes:
        delay_length: by how many samples the output comes later; files may say 0.

    """

    delay_length: int


def delay_states(attrs: SignalDelayAttrs, x: TensorType) -> tuple[TensorType, ...]:
    """The past samples int16 (..., delay_length).

    Raises:
        ShapeError: the attributes are out of range.

    """
    require_within(attrs.delay_length, 1, INT32_MAX, "delay_length")
    return (TensorType(DType.INT16, (*x.shape[:-1], attrs.delay_length)),)


def infer_delay(
    attrs: SignalDelayAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """int16 (..., n), past samples -> int16 (..., n), the next past."""
    x = _samples(inputs)
    return x, *require_states(inputs, 1, delay_states(attrs, x))


def ref_delay(attrs: SignalDelayAttrs, x: NDArray[np.int16], past: Array) -> tuple[Array, Array]:
    """Past samples, then those of the input."""
    del attrs
    joined = np.concatenate([past, x], axis=-1)
    return joined[..., : x.shape[-1]], joined[..., x.shape[-1] :]


@dataclass(frozen=True, slots=True)
class SignalOverlapAddAttrs:
    """TFLM's options of SignalOverlapAdd.

    Attributes:
        frame_step: samples from one frame to the next.

    """

    frame_step: int


def overlap_add_states(attrs: SignalOverlapAddAttrs, x: TensorType) -> tuple[TensorType, ...]:
    """The sums of what overlaps (..., n)."""
    del attrs
    return (TensorType(x.dtype, (*x.shape[:-2], *x.shape[-1:])),)


def infer_overlap_add(
    attrs: SignalOverlapAddAttrs, inputs: Sequence[TensorType | None]
) -> tuple[TensorType, ...]:
    """Frames (..., frames, n) of int16 or float32, sums -> (..., frames * step), the next sums."""
    x = operand(inputs, 0, "input")
    if x.dtype not in (DType.INT16, DType.FLOAT32) or len(x.shape) < 2:
        raise ShapeError(f"input is {x}", expected="frames of int16 or float32")
    *outer, frames, size = x.shape
    require_within(attrs.frame_step, 1, size, "frame_step")
    sums = require_states(inputs, 1, overlap_add_states(attrs, x))
    return TensorType(x.dtype, (*outer, frames * attrs.frame_step)), *sums


def ref_overlap_add(attrs: SignalOverlapAddAttrs, x: Array, sums: Array) -> tuple[Array, Array]:
    """Frames are added where they overlap; int16 saturates at every addition."""
    step, parts = attrs.frame_step, []
    for i in range(x.shape[-2]):
        sums = _sum(sums, x[..., i, :])
        parts.append(sums[..., :step])
        sums = np.concatenate([sums[..., step:], np.zeros_like(sums[..., :step])], axis=-1)
    return np.concatenate(parts, axis=-1), sums


def _sum(a: Array, b: Array) -> Array:
    if a.dtype == np.float32:
        return a + b
    limits = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int32) + b, limits.min, limits.max).astype(a.dtype)


SIGNAL_FRAMER = OpSpec(
    name="signal_framer",
    attrs=SignalFramerAttrs,
    arity=(3, 3),
    infer=infer_framer,
    quant=Quant.STATEFUL,
    ref_f32=ref_framer,
    traits=SIGNAL,
)
SIGNAL_STACKER = OpSpec(
    name="signal_stacker",
    attrs=SignalStackerAttrs,
    arity=(3, 3),
    infer=infer_stacker,
    quant=Quant.STATEFUL,
    ref_f32=ref_stacker,
    traits=SIGNAL,
)
SIGNAL_DELAY = OpSpec(
    name="signal_delay",
    attrs=SignalDelayAttrs,
    arity=(2, 2),
    infer=infer_delay,
    quant=Quant.STATEFUL,
    ref_f32=ref_delay,
    traits=SIGNAL,
)
SIGNAL_OVERLAP_ADD = OpSpec(
    name="signal_overlap_add",
    attrs=SignalOverlapAddAttrs,
    arity=(2, 2),
    infer=infer_overlap_add,
    quant=Quant.STATEFUL,
    ref_f32=ref_overlap_add,
    traits=SAMPLES,
)
