"""Ops that make no sense on a device or in integers, and why: errors say it, the docs list it."""

from __future__ import annotations

NOT_ON_DEVICES = {
    "fake_quantize": "it stands for a tensor's parameters while a model is converted; quantise it",
    "pointwise": "in float, it is only there while a model is quantised; files hold its ops",
}
"""Op -> the reason for which it has no C kernel on floats."""

NOT_IN_INTEGERS = {
    "batch_norm": "it becomes part of its neighbours' weights, or a mul and an add, before that",
    "cast": "what it makes of truth values and places is the same in every model",
    "fake_quantize": "it is what says which integers a model asks for",
    **dict.fromkeys(
        ("logical_and", "logical_not", "logical_or"),
        "truth values have no scale: int8 models have it as it is",
    ),
    "pow": "that of two tensors has none, while by one constant number it is a table",
}
"""Op -> the reason for which it has no integer form."""
