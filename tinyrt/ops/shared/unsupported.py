"""Ops without C kernels or integer forms, with the reasons that errors and the docs give."""

from __future__ import annotations

from tinyrt.ops import OPS

NOT_ON_DEVICES = {
    name: spec.traits.not_on_devices for name, spec in OPS.items() if spec.traits.not_on_devices
}
"""Op -> the reason why it has no C kernel on floats."""

NOT_IN_INTEGERS = {
    name: spec.traits.not_in_integers for name, spec in OPS.items() if spec.traits.not_in_integers
}
"""Op -> the reason why it has no integer form."""
