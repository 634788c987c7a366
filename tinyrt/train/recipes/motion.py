"""Wearable motion: standing, walking, running, badminton, from six axes at 10 Hz for 10 seconds.

The data are BasicMotions of aeon: acceleration and rotation from a smart watch, 40 series to train
on and 40 to test.
"""

from __future__ import annotations

from tinyrt.train.recipes.along_time import Epochs, Layer, SeriesProblem, Variation

MOTION = SeriesProblem(
    data="BasicMotions",
    steps=100,
    channels=6,
    classes=4,
    layers={
        "stem": Layer(16, kernel=7, stride=2),
        "depthwise": Layer(kernel=5, stride=2),
        "pointwise": Layer(32),
    },
    # Up to a second earlier or later.
    variation=Variation(scale=0.1, noise=0.05, steps=10),
    epochs=Epochs(40, int8=6, int4=12, healing=20),
    batch=8,
).recipe("motion", "standing, walking, running or badminton from 6 axes")
