"""Ops that make no sense on a device or in integers, and why: errors say it, the docs list it."""

from __future__ import annotations

from tinyrt.ops import OPS

NOT_ON_DEVICES = {
    name: spec.traits.not_on_devices for name, spec in OPS.items() if spec.traits.not_on_devices
}
"""Op -> the reason for which it has no C kernel on floats."""

NOT_IN_INTEGERS = {
    name: spec.traits.not_in_integers for name, spec in OPS.items() if spec.traits.not_in_integers
}
"""Op -> the reason for which it has no integer form."""
