"""Ops that make no sense on a device, and why: the exporter refuses them, the docs list them."""

from __future__ import annotations

NOT_ON_DEVICES = {
    "fake_quantize": "it stands for a tensor's parameters while a model is converted; quantise it",
}
"""Op -> the reason for which it has no C kernel."""
