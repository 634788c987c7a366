"""Ops of TFLM's audio front end, on plain integers; the transforms take floats as well."""

from __future__ import annotations

import math

import numpy as np

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Target, call
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.fft import Tables, tables
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.signal_fft import SignalFftAttrs
from tinyrt.ops.signal_filter_bank import (
    SignalEnergyAttrs,
    SignalFilterBankAttrs,
    SignalFilterBankLogAttrs,
)
from tinyrt.ops.signal_frames import (
    SignalDelayAttrs,
    SignalFramerAttrs,
    SignalOverlapAddAttrs,
    SignalStackerAttrs,
)
from tinyrt.ops.signal_noise import SignalPcanAttrs, SpectralSubtractionAttrs
from tinyrt.ops.signal_window import SignalWindowAttrs


def window_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_window``."""
    del target
    x, weights, y = node.input(0), node.input(1), node.output
    shift = node.attrs_as(SignalWindowAttrs).shift
    fields: Fields = {"size": x.size, "weights": weights.size, "shift": shift}
    params = Params("tinyrt_signal_window_params", fields)
    return (call("tinyrt_signal_window", params, x, weights, y),)


def auto_scale_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_fft_auto_scale``."""
    del target
    x = node.input(0)
    return (call("tinyrt_signal_fft_auto_scale", x.size, x, *node.outputs),)


def rfft_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_rfft_s16``, or of its like on int32 and float."""
    del target
    x, length = node.input(0), node.attrs_as(SignalFftAttrs).fft_length
    return _fft_calls("rfft", node, x.shape[-1], tables(x.dtype, length, inverse=False))


def irfft_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_irfft_s16``, or of its like on int32 and float."""
    del target
    x, length = node.input(0), node.attrs_as(SignalFftAttrs).fft_length
    return _fft_calls("irfft", node, x.shape[-1], tables(x.dtype, length, inverse=True))


def _fft_calls(kind: str, node: BoundNode, size: int, t: Tables) -> Calls:
    x = node.input(0)
    fields: Fields = {
        "rows": x.size // size,
        "x_size": size,
        "count": len(t.twiddles),
        "stages": len(t.factors),
        "radix": t.factors,
        "step": tuple(math.prod(t.factors[:i]) for i in range(len(t.factors))),
    }
    params = Params("tinyrt_signal_fft_params", fields)
    roots = Data("roots", t.twiddles), Data("split", t.split)
    return (call(f"tinyrt_signal_{kind}_{x.dtype.short}", params, x, *roots, node.output),)


def energy_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_energy``."""
    del target
    attrs, y = node.attrs_as(SignalEnergyAttrs), node.output
    fields: Fields = {"size": y.size, "start": attrs.start_index, "end": attrs.end_index}
    params = Params("tinyrt_signal_energy_params", fields)
    return (call("tinyrt_signal_energy", params, node.input(0), y),)


def filter_bank_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_filter_bank``."""
    del target
    attrs = node.attrs_as(SignalFilterBankAttrs)
    starts, weight_starts, widths = (
        np.array(numbers, np.int16)
        for numbers in (attrs.frequency_starts, attrs.weight_starts, attrs.widths)
    )
    fields: Fields = {
        "channels": node.output.size,
        "frequency_start": Data("frequency_start", starts, "int16_t"),
        "weight_start": Data("weight_start", weight_starts, "int16_t"),
        "width": Data("width", widths, "int16_t"),
    }
    params = Params("tinyrt_signal_filter_bank_params", fields)
    return (call("tinyrt_signal_filter_bank", params, *node.inputs, node.output),)


def square_root_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_filter_bank_square_root``."""
    del target
    kernel = "tinyrt_signal_filter_bank_square_root"
    return (call(kernel, node.output.size, *node.inputs, node.output),)


def log_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_filter_bank_log``."""
    del target
    attrs, x = node.attrs_as(SignalFilterBankLogAttrs), node.input(0)
    numbers = (x.size, attrs.input_correction_bits, attrs.output_scale)
    return (call("tinyrt_signal_filter_bank_log", *numbers, x, node.output),)


def subtraction_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_filter_bank_spectral_subtraction``."""
    del target
    attrs, (y, noise, after) = node.attrs_as(SpectralSubtractionAttrs), node.outputs
    fields: Fields = {
        "size": y.size,
        "smoothing": (attrs.smoothing, attrs.alternate_smoothing),
        "one_minus_smoothing": (
            attrs.one_minus_smoothing,
            attrs.alternate_one_minus_smoothing,
        ),
        "least": attrs.min_signal_remaining,
        "smoothing_bits": attrs.smoothing_bits,
        "bits": attrs.spectral_subtraction_bits,
        "clamping": attrs.clamping,
    }
    params = Params("tinyrt_signal_subtraction_params", fields)
    kernel = "tinyrt_signal_filter_bank_spectral_subtraction"
    return (call(kernel, params, *node.inputs, after, y, noise),)


def pcan_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_pcan``."""
    del target
    shift, y = node.attrs_as(SignalPcanAttrs).snr_shift, node.output
    return (call("tinyrt_signal_pcan", y.size, shift, *node.inputs, y),)


def framer_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_framer``."""
    del target
    attrs, x = node.attrs_as(SignalFramerAttrs), node.input(0)
    y, valid, *after = node.outputs
    fields: Fields = {
        "rows": x.size // x.shape[-1],
        "frames": x.shape[-1] // attrs.frame_step,
        "size": attrs.frame_size,
        "step": attrs.frame_step,
        "window": attrs.window,
        "first": attrs.steps,
    }
    params = Params("tinyrt_signal_framer_params", fields)
    return (call("tinyrt_signal_framer", params, *node.inputs, *after, y, valid),)


def stacker_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_stacker``."""
    del target
    attrs = node.attrs_as(SignalStackerAttrs)
    y, valid, *after = node.outputs
    fields: Fields = {
        "channels": attrs.num_channels,
        "inputs": attrs.inputs,
        "left": attrs.stacker_left_context,
        "step": attrs.stacker_step,
    }
    params = Params("tinyrt_signal_stacker_params", fields)
    return (call("tinyrt_signal_stacker", params, *node.inputs, *after, y, valid),)


def delay_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_delay``."""
    del target
    x, (y, after) = node.input(0), node.outputs
    size, past = x.shape[-1], node.attrs_as(SignalDelayAttrs).delay_length
    rows = x.size // size
    return (call("tinyrt_signal_delay", rows, size, past, *node.inputs, after, y),)


def overlap_add_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_signal_overlap_add_s16``, or of its like on float."""
    del target
    x, (y, after) = node.input(0), node.outputs
    frames, size = x.shape[-2:]
    fields: Fields = {
        "rows": x.size // (frames * size),
        "frames": frames,
        "size": size,
        "step": node.attrs_as(SignalOverlapAddAttrs).frame_step,
    }
    params = Params("tinyrt_signal_overlap_add_params", fields)
    kernel = f"tinyrt_signal_overlap_add_{x.dtype.short}"
    return (call(kernel, params, *node.inputs, after, y),)


KERNELS: Choosers = {
    "signal_delay": {Form.FLOAT: always(delay_calls)},
    "signal_energy": {Form.FLOAT: always(energy_calls)},
    "signal_fft_auto_scale": {Form.FLOAT: always(auto_scale_calls)},
    "signal_filter_bank": {Form.FLOAT: always(filter_bank_calls)},
    "signal_filter_bank_log": {Form.FLOAT: always(log_calls)},
    "signal_filter_bank_spectral_subtraction": {Form.FLOAT: always(subtraction_calls)},
    "signal_filter_bank_square_root": {Form.FLOAT: always(square_root_calls)},
    "signal_framer": {Form.FLOAT: always(framer_calls)},
    "signal_irfft": {Form.FLOAT: always(irfft_calls)},
    "signal_overlap_add": {Form.FLOAT: always(overlap_add_calls)},
    "signal_pcan": {Form.FLOAT: always(pcan_calls)},
    "signal_rfft": {Form.FLOAT: always(rfft_calls)},
    "signal_stacker": {Form.FLOAT: always(stacker_calls)},
    "signal_window": {Form.FLOAT: always(window_calls)},
}
