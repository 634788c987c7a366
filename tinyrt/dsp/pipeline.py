"""What stands before and behind a network as one value, which a model's file carries.

Samples become rows of features (``LogMel``, ``Motion``). Rows become the network's input, and its
scores become decisions (``Detector``), where there are some. As JSON it is an entry of a .tflite
file's metadata; whoever wrote the file, everything in the entry is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.dsp.anomaly import Anomaly
from tinyrt.dsp.checks import known, require, require_int, require_real
from tinyrt.dsp.detector import Detector
from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.motion import Motion
from tinyrt.dsp.motion_stream import MotionStream
from tinyrt.dsp.options import VERSION, as_json, options_of, require_version
from tinyrt.dsp.standard import GROUPS, standardized
from tinyrt.dsp.stream import LogMelStream

ENTRY = "tinyrt.front_end"
"""Name of the entry."""

MAX_ROWS = 1 << 12
FEATURES = {False: (0, (1 << 16) - 1), True: (-(1 << 15), (1 << 15) - 1)}
"""Whether features have a sign -> the least and the greatest."""

PYMICRO_SCALE = 0.0390625
"""1 / 25.6: by this pymicro-features scales features, and micro-wake-word's models expect it."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """From samples to decisions.

    The network takes ``scale * (feature - offset)``, row after row, a window of rows at a time.
    One scale for each place of a row, and one offset, are normalisation by constants: an offset is
    the mean of that feature in training, a scale is one divided by its standard deviation.
    With ``normalize``, features are first brought to 256ths of deviations from the mean of their
    own window, see ``standard``; scale and offset are of these.

    Attributes:
        log_mel: samples of sound to rows of features.
        scale: real value of one step of a feature; of all, or of each one of a row.
        offset: the feature that stands for 0.0, likewise.
        stride: rows from one window to the next; None for windows side by side, and for models that
            keep state.
        detector: scores of the first output to decisions; None without.
        motion: samples of motion to rows of features, instead of ``log_mel``; None for sound.
        anomaly: how far the first output is from the input to alarms, instead of a detector; None
            without.
        normalize: what of a window has a mean and a deviation of its own: ``window``, all of it, or
            ``features``, each place of its rows; None for features as they are.

    """

    log_mel: LogMel = field(default_factory=LogMel)
    scale: float | tuple[float, ...] = PYMICRO_SCALE
    offset: int | tuple[int, ...] = 0
    stride: int | None = None
    detector: Detector | None = None
    motion: Motion | None = None
    anomaly: Anomaly | None = None
    normalize: str | None = None

    def __post_init__(self) -> None:
        if self.normalize is not None:
            expected = f"{' or '.join(GROUPS)}, or none"
            require(self.normalize in GROUPS, "normalize", self.normalize, expected)
        for scale in self._each("scale"):
            require_real(scale, 2.0**-40, 2.0**20, "scale")
        for offset in self._each("offset"):
            require_int(offset, *FEATURES[self.has_sign], "offset")
        if self.anomaly is not None:
            expected = "none, where there is an anomaly: one of both decides"
            require(self.detector is None, "detector", self.detector, expected)
        if self.stride is not None:
            require_int(self.stride, 1, MAX_ROWS, "stride")

    def _each(self, name: str) -> tuple[Any, ...]:
        """An option of all features, or of each one of a row."""
        value = getattr(self, name)
        if not isinstance(value, tuple):
            return (value,)
        expected = f"one number, or {self.row}: one for each feature of a row"
        require(len(value) == self.row, name, value, expected)
        return value

    @property
    def is_each(self) -> bool:
        """Whether features of a row have scales or offsets of their own."""
        return isinstance(self.scale, tuple) or isinstance(self.offset, tuple)

    @property
    def has_sign(self) -> bool:
        """Whether what scale and offset are of has a sign: int16, else uint16."""
        return self.normalize is not None or self.front.is_signed

    @property
    def front(self) -> LogMel | Motion:
        """What makes features of samples."""
        return self.log_mel if self.motion is None else self.motion

    @property
    def takes(self) -> str:
        """What it takes, as names in C have it: ``audio``, or ``samples`` of several axes."""
        return "audio" if self.motion is None else "samples"

    @property
    def axes(self) -> int:
        """Numbers of a sample."""
        return 1 if self.motion is None else self.motion.axes

    @property
    def row(self) -> int:
        """Features of a row."""
        return self.front.features

    def centred(self, features: NDArray[Any]) -> NDArray[np.int64]:
        """Features (..., features of a row) less their offsets."""
        less: NDArray[np.int64] = features.astype(np.int64) - np.array(self.offset, np.int64)
        return less

    def normal(self, windows: NDArray[Any]) -> NDArray[Any]:
        """Windows of features (n, rows, features of a row), normalized if they are to be."""
        return windows if self.normalize is None else standardized(windows, self.normalize)

    def real(self, features: NDArray[Any]) -> NDArray[np.float32]:
        """What a network of floats takes of features (..., features of a row), normal already."""
        taken: NDArray[np.float32] = np.array(self.scale, np.float32) * (
            self.centred(features).astype(np.float32)
        )
        return taken

    def stream(self) -> LogMelStream | MotionStream:
        """The front end at work, from a new beginning."""
        return LogMelStream(self.log_mel) if self.motion is None else MotionStream(self.motion)

    def as_dict(self) -> dict[str, Any]:
        """The options as plain data, for JSON."""
        return {
            "version": VERSION,
            "log_mel": self.log_mel.as_dict() if self.motion is None else None,
            "scale": list(self.scale) if isinstance(self.scale, tuple) else self.scale,
            "offset": list(self.offset) if isinstance(self.offset, tuple) else self.offset,
            "stride": self.stride,
            "detector": None if self.detector is None else self.detector.as_dict(),
            "motion": None if self.motion is None else self.motion.as_dict(),
            "anomaly": None if self.anomaly is None else self.anomaly.as_dict(),
            "normalize": self.normalize,
        }

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Pipeline:
        """The pipeline of such options; those that are missing have their defaults.

        Raises:
            DataError: an option is unknown or out of range, or of another version.

        """
        made = require_version(options)
        known(cls, made)
        motion = made.get("motion")
        if motion is not None:
            require(isinstance(motion, Mapping), "motion", motion, "options by name, or null")
            heard = made.pop("log_mel", None)
            require(heard is None, "log_mel", heard, "null where there is motion: one of both")
            made["motion"] = Motion.from_dict(motion)
        else:
            log_mel = made.get("log_mel", {})
            require(isinstance(log_mel, Mapping), "log_mel", log_mel, "options by name")
            made["log_mel"] = LogMel.from_dict(log_mel)
        for name in ("scale", "offset"):
            if isinstance(made.get(name), list):
                made[name] = tuple(made[name])
        detector = made.get("detector")
        if detector is not None:
            require(isinstance(detector, Mapping), "detector", detector, "options by name, or null")
            made["detector"] = Detector.from_dict(detector)
        anomaly = made.get("anomaly")
        if anomaly is not None:
            require(isinstance(anomaly, Mapping), "anomaly", anomaly, "options by name, or null")
            made["anomaly"] = Anomaly.from_dict(anomaly)
        return cls(**made)

    def to_json(self) -> bytes:
        """The entry's bytes."""
        return as_json(self.as_dict())

    @classmethod
    def from_json(cls, data: bytes) -> Pipeline:
        """The pipeline that an entry holds.

        Raises:
            DataError: it is no JSON, too long, or says what cannot be.

        """
        return cls.from_dict(options_of(data))
