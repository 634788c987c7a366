"""What ops of TFLM's audio front end do not take: attributes of files, types of tensors."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import strategies as st

from tinyrt.ir import DType, TensorType
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.signal_fft import SignalFftAttrs
from tinyrt.ops.signal_filter_bank import (
    SignalEnergyAttrs,
    SignalFilterBankAttrs,
    SignalFilterBankLogAttrs,
)
from tinyrt.ops.signal_frames import (
    COUNT,
    SignalDelayAttrs,
    SignalFramerAttrs,
    SignalOverlapAddAttrs,
    SignalStackerAttrs,
)
from tinyrt.ops.signal_noise import SignalPcanAttrs, SpectralSubtractionAttrs
from tinyrt.ops.signal_window import SignalWindowAttrs


def f32(*shape):
    return TensorType(DType.FLOAT32, shape)


def s16(*shape):
    return TensorType(DType.INT16, shape)


def s32(*shape):
    return TensorType(DType.INT32, shape)


def u32(*shape):
    return TensorType(DType.UINT32, shape)


def u64(*shape):
    return TensorType(DType.UINT64, shape)


WEIGHTS = SpectralSubtractionAttrs(1, 1, False, 1, 4, 1, 1, 10, 14)
"""Of four channels."""
BANK = [u32(9), s16(8), s16(8)]


def bank(frequency=0, weight=0, width=2, bands=2):
    return SignalFilterBankAttrs((0, frequency), (0, weight), (1, width)[:bands])


WINDOW, SUBTRACTION = "signal_window", "signal_filter_bank_spectral_subtraction"
ROOT, LOG = "signal_filter_bank_square_root", "signal_filter_bank_log"
FRAMER, STACKER, OVERLAP = "signal_framer", "signal_stacker", "signal_overlap_add"
KEPT = (s16(4), COUNT)

SIGNAL_REFUSED = [
    (WINDOW, SignalWindowAttrs(32), [s16(1, 4), s16(4)], "shift is 32"),
    (WINDOW, SignalWindowAttrs(-1), [s16(1, 4), s16(4)], "shift is -1"),
    (WINDOW, SignalWindowAttrs(), [f32(1, 4), s16(4)], "input is f32[1,4]"),
    (WINDOW, SignalWindowAttrs(), [s16(1, 4), f32(4)], "weights is f32[4]"),
    (WINDOW, SignalWindowAttrs(), [s16(1, 4), s16(1, 4)], "weights is s16[1,4]"),
    (WINDOW, SignalWindowAttrs(), [s16(1, 4), s16(3)], "input s16[1,4], weights s16[3]"),
    (WINDOW, SignalWindowAttrs(), [s16(), s16(1)], "input s16[], weights s16[1]"),
    ("signal_fft_auto_scale", NoAttrs(), [s16(1, 4)], "input is s16[1,4]"),
    ("signal_fft_auto_scale", NoAttrs(), [s32(4)], "input is s32[4]"),
    *(
        ("signal_rfft", SignalFftAttrs(n), [s16(1)], f"fft_length is {n}")
        for n in (-4, 0, 2, 5, 14, 1 << 17)
    ),
    ("signal_rfft", SignalFftAttrs(8), [s16(9)], "signal is s16[9]"),
    ("signal_rfft", SignalFftAttrs(8), [u32(8)], "signal is u32[8]"),
    ("signal_rfft", SignalFftAttrs(8), [s16()], "signal is s16[]"),
    ("signal_irfft", SignalFftAttrs(7), [s16(9)], "fft_length is 7"),
    ("signal_irfft", SignalFftAttrs(8), [s16(2, 9)], "spectrum is s16[2,9]"),
    ("signal_irfft", SignalFftAttrs(8), [u32(10)], "spectrum is u32[10]"),
    ("signal_energy", SignalEnergyAttrs(5), [s16(8)], "end_index is 5"),
    ("signal_energy", SignalEnergyAttrs(2, 3), [s16(8)], "start_index is 3"),
    ("signal_energy", SignalEnergyAttrs(2, -1), [s16(8)], "start_index is -1"),
    ("signal_energy", SignalEnergyAttrs(2), [s16(7)], "spectrum is s16[7]"),
    ("signal_energy", SignalEnergyAttrs(2), [s32(8)], "spectrum is s32[8]"),
    ("signal_filter_bank", bank(), [s32(9), *BANK[1:]], "input is s32[9]"),
    ("signal_filter_bank", bank(), [BANK[0], s32(8), BANK[2]], "weights is s32[8]"),
    ("signal_filter_bank", bank(), [*BANK[:2], s32(8)], "unweights is s32[8]"),
    ("signal_filter_bank", bank(bands=1), BANK, "2 first frequencies, 2 first weights, 1 widths"),
    ("signal_filter_bank", SignalFilterBankAttrs((0,), (0,), (1,)), BANK, "1 widths"),
    ("signal_filter_bank", bank(8), BANK, "band 1 takes 2 frequencies from 8"),
    ("signal_filter_bank", bank(-1), BANK, "band 1 takes 2 frequencies from -1"),
    ("signal_filter_bank", bank(0, 7), BANK, "by weights from 7"),
    ("signal_filter_bank", bank(0, 7), [u32(9), s16(9), s16(8)], "by weights from 7"),
    ("signal_filter_bank", bank(0, 7), [u32(9), s16(8), s16(9)], "by weights from 7"),
    ("signal_filter_bank", bank(0, -2), BANK, "by weights from -2"),
    ("signal_filter_bank", bank(0, 0, -1), BANK, "band 1 takes -1 frequencies"),
    (ROOT, NoAttrs(), [u32(4), s32()], "input is u32[4]"),
    (ROOT, NoAttrs(), [u64(4), s32(1)], "scale_bits is s32[1]"),
    (ROOT, NoAttrs(), [u64(4), s16()], "scale_bits is s16[]"),
    (LOG, SignalFilterBankLogAttrs(32, 1), [u32(4)], "input_correction_bits is 32"),
    (LOG, SignalFilterBankLogAttrs(-1, 1), [u32(4)], "input_correction_bits is -1"),
    (LOG, SignalFilterBankLogAttrs(0, -1), [u32(4)], "output_scale is -1"),
    (LOG, SignalFilterBankLogAttrs(0, 1 << 31), [u32(4)], "output_scale is 2147483648"),
    (LOG, SignalFilterBankLogAttrs(0, 1), [s32(4)], "input is s32[4]"),
    *(
        (SUBTRACTION, replace(WEIGHTS, **{f.name: -1}), [u32(4), u32(4)], f"{f.name} is -1")
        for f in fields(WEIGHTS)
    ),
    (SUBTRACTION, replace(WEIGHTS, smoothing_bits=32), [u32(4)] * 2, "smoothing_bits is 32"),
    (SUBTRACTION, replace(WEIGHTS, spectral_subtraction_bits=64), [u32(4)] * 2, "_bits is 64"),
    (SUBTRACTION, replace(WEIGHTS, smoothing=1 << 31), [u32(4)] * 2, "smoothing is 2147483648"),
    (SUBTRACTION, WEIGHTS, [s32(4), u32(4)], "input is s32[4]"),
    (SUBTRACTION, WEIGHTS, [u32(5), u32(5)], "input is u32[5]"),
    (SUBTRACTION, WEIGHTS, [u32(4), u32(5)], "state is u32[5]"),
    ("signal_pcan", SignalPcanAttrs(64), [u32(4), u32(4), s16(125)], "snr_shift is 64"),
    ("signal_pcan", SignalPcanAttrs(6), [s32(4), u32(4), s16(125)], "input is s32[4]"),
    ("signal_pcan", SignalPcanAttrs(6), [u32(4), u32(5), s16(125)], "estimate of noise is u32[5]"),
    ("signal_pcan", SignalPcanAttrs(6), [u32(4), s32(4), s16(125)], "estimate of noise is s32[4]"),
    ("signal_pcan", SignalPcanAttrs(6), [u32(4), u32(4), s16(124)], "gains is s16[124]"),
    ("signal_pcan", SignalPcanAttrs(6), [u32(4), u32(4), s32(125)], "gains is s32[125]"),
    (FRAMER, SignalFramerAttrs(0, 1), [s16(4), *KEPT], "frame_size is 0"),
    (FRAMER, SignalFramerAttrs(4, 0), [s16(4), *KEPT], "frame_step is 0"),
    (FRAMER, SignalFramerAttrs(4, 5, prefill=True), [s16(5), *KEPT], "frame_step is 5"),
    (FRAMER, SignalFramerAttrs(3, 2), [s16(5), *KEPT], "input is s16[5]"),
    (FRAMER, SignalFramerAttrs(3, 2), [s16(), *KEPT], "input is s16[]"),
    (FRAMER, SignalFramerAttrs(3, 2), [s32(4), *KEPT], "input is s32[4]"),
    (FRAMER, SignalFramerAttrs(5, 2), [s16(4), *KEPT], "state is s16[4]"),
    (FRAMER, SignalFramerAttrs(3, 2), [s16(4), s16(4), s32(2)], "state is s32[2]"),
    (STACKER, SignalStackerAttrs(0, 1, 0, 1), [s16(2), *KEPT], "num_channels is 0"),
    (STACKER, SignalStackerAttrs(2, -1, 0, 1), [s16(2), *KEPT], "stacker_left_context is -1"),
    (STACKER, SignalStackerAttrs(2, 1, -1, 1), [s16(2), *KEPT], "stacker_right_context is -1"),
    (STACKER, SignalStackerAttrs(2, 1, 0, 3), [s16(2), *KEPT], "stacker_step is 3"),
    (STACKER, SignalStackerAttrs(2, 1, 0, 0), [s16(2), *KEPT], "stacker_step is 0"),
    (STACKER, SignalStackerAttrs(2, 1, 0, 1), [s16(3), *KEPT], "input is s16[3]"),
    (STACKER, SignalStackerAttrs(2, 1, 0, 1), [s32(2), *KEPT], "input is s32[2]"),
    (STACKER, SignalStackerAttrs(2, 1, 1, 1), [s16(2), *KEPT], "state is s16[4]"),
    ("signal_delay", SignalDelayAttrs(0), [s16(4), s16(4)], "delay_length is 0"),
    ("signal_delay", SignalDelayAttrs(4), [s32(4), s16(4)], "input is s32[4]"),
    ("signal_delay", SignalDelayAttrs(3), [s16(4), s16(4)], "state is s16[4]"),
    (OVERLAP, SignalOverlapAddAttrs(5), [s16(2, 4), s16(4)], "frame_step is 5"),
    (OVERLAP, SignalOverlapAddAttrs(0), [s16(2, 4), s16(4)], "frame_step is 0"),
    (OVERLAP, SignalOverlapAddAttrs(1), [s32(2, 4), s32(4)], "input is s32[2,4]"),
    (OVERLAP, SignalOverlapAddAttrs(1), [s16(4), s16(4)], "input is s16[4]"),
    (OVERLAP, SignalOverlapAddAttrs(1), [s16(2, 4), f32(4)], "state is f32[4]"),
]
"""Op, attributes, types, what is said."""

_number = st.integers(-2, 6) | st.sampled_from([31, 63, 2**31])
_numbers = st.lists(st.integers(-1, 6), max_size=3).map(tuple)

SIGNAL_FIELDS = {
    **dict.fromkeys(
        (
            *("shift", "end_index", "start_index", "snr_shift", "input_correction_bits"),
            *("output_scale", "frame_size", "frame_step", "delay_length", "num_channels"),
            *("stacker_left_context", "stacker_right_context", "stacker_step", "smoothing"),
            *("alternate_smoothing", "one_minus_smoothing", "alternate_one_minus_smoothing"),
            *("min_signal_remaining", "smoothing_bits", "spectral_subtraction_bits"),
        ),
        _number,
    ),
    "fft_length": _number | st.sampled_from([8, 10, 12]),
    **dict.fromkeys(("frequency_starts", "weight_starts", "widths"), _numbers),
    **dict.fromkeys(("clamping", "prefill"), st.booleans()),
}
"""Attribute -> what it may be drawn as."""
