"""Gestures with a game controller, ten of them, from its vertical acceleration alone.

The data are PickupGestureWiimoteZ of aeon: 50 series of up to 361 samples to train on and 50 to
test, by ten people: five of each gesture to learn from.
"""

from __future__ import annotations

from tinyrt.train.recipes.along_time import Epochs, Layer, SeriesProblem, Variation

GESTURE = SeriesProblem(
    data="PickupGestureWiimoteZ",
    steps=361,
    channels=1,
    classes=10,
    layers={
        "stem": Layer(16, kernel=9, stride=4),
        "depthwise1": Layer(kernel=7, stride=2),
        "pointwise1": Layer(32),
        "depthwise2": Layer(kernel=7, stride=2),
        "pointwise2": Layer(48),
    },
    variation=Variation(scale=0.1, noise=0.05, steps=20),
    epochs=Epochs(80, int8=10, int4=20, healing=80, healing_rate=1e-2),
    batch=8,
).recipe("gesture", "ten gestures from one axis of acceleration")
