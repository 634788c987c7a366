"""Spoken vowels: which of nine men said them, from 12 cepstral coefficients over time.

The data are JapaneseVowels of aeon: 270 utterances of 7 to 29 frames to train on, 370 to test.
"""

from __future__ import annotations

from tinyrt.train.recipes.along_time import Epochs, Layer, SeriesProblem, Variation

VOWELS = SeriesProblem(
    data="JapaneseVowels",
    steps=29,
    channels=12,
    classes=9,
    layers={
        "stem": Layer(32, kernel=5),
        "depthwise1": Layer(kernel=5, stride=2),
        "pointwise1": Layer(64),
    },
    variation=Variation(scale=0.05, noise=0.2, steps=2),
    epochs=Epochs(40, int8=6, int4=12, healing=20),
).recipe("vowels", "which of nine speakers said a vowel")
