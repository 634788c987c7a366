"""How the ops of TFLM's audio front end, which are custom ops, are written to and read from a file.

State that they keep has no tensors in the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from tinyrt.budget import current
from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import NUMBER, Codec, Decoded, Encoded, Operands, operand
from tinyrt.convert.tflite.schema import custom_name
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, TensorType, Value
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.spec import NoAttrs
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
    delay_states,
    framer_states,
    overlap_add_states,
    stacker_states,
)
from tinyrt.ops.signal_noise import SignalPcanAttrs, SpectralSubtractionAttrs, subtraction_states
from tinyrt.ops.signal_window import SignalWindowAttrs

States = Callable[[Any, TensorType], tuple[TensorType, ...]]
"""``(attributes, input)`` -> types of what the op keeps."""

BANDS = ("frequency_starts", "weight_starts", "widths")
"""A filter bank's constants behind its weights and unweights, as attributes."""


def _no_states(attrs: Any, x: TensorType) -> tuple[TensorType, ...]:
    del attrs, x
    return ()


def _first(node: BoundNode) -> int:
    del node
    return 1


def _codec(
    op: str,
    name: str,
    attrs: type[Any],
    *,
    inputs: int = 1,
    states: States = _no_states,
    typed: bool = False,
) -> Codec:
    """The codec of an op whose attributes are its options.

    Args:
        op: the op's name in the graph.
        name: its name in the file.
        attrs: the class of its attributes: whole numbers, and truth values.
        inputs: how many inputs it has in the file.
        states: the types of what it keeps.
        typed: whether option ``T`` names the element type.

    """
    names = sorted(field.name for field in fields(attrs))
    truths = {field.name for field in fields(attrs) if field.type == "bool"}

    def encode(node: BoundNode) -> Encoded:
        kinds = {"T": schema.TENSOR_TYPE[node.input(0).dtype]} if typed else {}
        kept = tuple(range(inputs, len(node.inputs)))
        options = {key: getattr(node.attrs, key) for key in names}
        return Encoded({**kinds, **options}, variables=kept, hidden=bool(kept))

    def decode(options: Any, given: Operands, output: Value) -> Decoded:
        del output
        _check_count(given, inputs)
        x = operand(given, 0)
        if typed:
            _check_kind(options["T"], x)
        found = attrs(**{n: bool(options[n]) if n in truths else options[n] for n in names})
        return Decoded(found, inputs, hidden=states(found, x.type))

    options = (*(("T",) if typed else ()), *names)
    return Codec(op, custom_name(name.encode()), None, encode, decode, _first, options)


def _check_count(given: Operands, count: int) -> None:
    if len(given) != count or None in given:
        present = sum(value is not None for value in given)
        raise ModelFormatError(f"{present} inputs", expected=f"{count}")


def _check_kind(kind: int, x: Value) -> None:
    if schema.DTYPE.get(kind) is not x.dtype:
        raise ModelFormatError(
            f"option T is {schema.TYPE_NAME.get(kind, kind)}",
            tensor=x.describe(),
            expected="the type of the input's elements",
        )


def _encode_filter_bank(node: BoundNode) -> Encoded:
    bands = asdict(node.attrs_as(SignalFilterBankAttrs))
    extra = tuple((name, np.array(bands[name], np.int16)) for name in BANDS)
    return Encoded({"num_channels": len(bands["widths"]) - 1}, extra)


def _decode_filter_bank(options: Any, given: Operands, output: Value) -> Decoded:
    del output
    _check_count(given, 3 + len(BANDS))
    bands = [_numbers(operand(given, 3 + i), name) for i, name in enumerate(BANDS)]
    count = options["num_channels"] + 1
    if count < 2 or min(map(len, bands)) < count:
        raise ModelFormatError(
            f"num_channels is {count - 1}", expected=f"1 to {min(map(len, bands)) - 1}"
        )
    return Decoded(SignalFilterBankAttrs(*(numbers[:count] for numbers in bands)), 3)


def _numbers(value: Value, name: str) -> tuple[int, ...]:
    """A constant of int16."""
    if value.data is None or value.dtype is not DType.INT16:
        raise UnsupportedError(
            f"a filter bank's {name} are computed at run time, or no int16",
            tensor=value.describe(),
            expected="constant int16",
        )
    current().hold(NUMBER * value.size, f"{name}, {value.describe()},")
    return tuple(int(n) for n in value.data.reshape(-1))


def _decode_delay(options: Any, given: Operands, output: Value) -> Decoded:
    """A delay by nothing is the input itself."""
    if options["delay_length"] or not given or given[0] is None:
        return _DELAY.decode(options, given, output)
    return Decoded(ReshapeAttrs(given[0].shape), 1, op="reshape")


_DELAY = _codec("signal_delay", "SignalDelay", SignalDelayAttrs, states=delay_states)

SIGNAL: tuple[Codec, ...] = (
    replace(_DELAY, decode=_decode_delay),
    _codec("signal_energy", "SignalEnergy", SignalEnergyAttrs),
    _codec("signal_fft_auto_scale", "SignalFftAutoScale", NoAttrs),
    Codec(
        "signal_filter_bank",
        custom_name(b"SignalFilterBank"),
        None,
        _encode_filter_bank,
        _decode_filter_bank,
        _first,
        ("num_channels",),
    ),
    _codec("signal_filter_bank_log", "SignalFilterBankLog", SignalFilterBankLogAttrs),
    _codec(
        "signal_filter_bank_spectral_subtraction",
        "SignalFilterBankSpectralSubtraction",
        SpectralSubtractionAttrs,
        states=subtraction_states,
    ),
    _codec("signal_filter_bank_square_root", "SignalFilterBankSquareRoot", NoAttrs, inputs=2),
    _codec("signal_framer", "SignalFramer", SignalFramerAttrs, states=framer_states),
    _codec("signal_irfft", "SignalIrfft", SignalFftAttrs, typed=True),
    _codec(
        "signal_overlap_add",
        "SignalOverlapAdd",
        SignalOverlapAddAttrs,
        states=overlap_add_states,
        typed=True,
    ),
    _codec("signal_pcan", "SignalPCAN", SignalPcanAttrs, inputs=3),
    _codec("signal_rfft", "SignalRfft", SignalFftAttrs, typed=True),
    _codec("signal_stacker", "SignalStacker", SignalStackerAttrs, states=stacker_states),
    _codec("signal_window", "SignalWindow", SignalWindowAttrs, inputs=2),
)
"""Codecs of these ops."""
