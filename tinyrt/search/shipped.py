"""All spaces that ship, by their names."""

from __future__ import annotations

from tinyrt.search.candidate import Space
from tinyrt.search.raw_spaces import camera, motion, sound
from tinyrt.search.spaces import autoencoder, cnn, dscnn, exits, mobilenet, resnet, tcn, transformer

SPACES: dict[str, Space] = {
    "cnn": cnn,
    "dscnn": dscnn,
    "exits": exits,
    "mobilenet": mobilenet,
    "resnet": resnet,
    "tcn": tcn,
    "transformer": transformer,
    "autoencoder": autoencoder,
    "motion": motion,
    "sound": sound,
    "camera": camera,
}
"""Name on the command line -> space."""
