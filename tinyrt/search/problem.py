"""What a search is for: samples, what they should give, and which of them choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.data import LABELS, load_npz
from tinyrt.dsp import Camera, Vision
from tinyrt.dsp.pixels import FORMATS
from tinyrt.dsp.windows import FrontEnd, shape_behind
from tinyrt.errors import DataError
from tinyrt.ir import Graph, Shape
from tinyrt.search.frames import PIXELS, frames_of, pixels_in
from tinyrt.search.teacher import Teacher
from tinyrt.train.core.function import Array
from tinyrt.train.pipeline.lessons import Kind, Lesson
from tinyrt.train.pipeline.samples import digest, split

INPUT, RATE = "x", "rate"


@dataclass(frozen=True, slots=True)
class View:
    """What a network is for, behind a front end.

    Attributes:
        input_shape: of a sample, without the batch.
        outputs: how many numbers it gives for a sample.
        has_classes: whether these are scores of classes.

    """

    input_shape: Shape
    outputs: int
    has_classes: bool


@dataclass(frozen=True)
class Problem:
    """Samples and what a network should give for them.

    Attributes:
        x: samples, (n, ...), float32; or a camera's frames, uint8 (n, height, line_bytes).
        y: classes as integers, (n,); or values, (n, ...), float32: for an autoencoder, ``x``.
        validation: share of the samples that candidates are judged by, and never trained on.
        seed: draws which.
        rate: raw samples in a second, where ``x`` has windows of them; None where it is not told.
        fold: which samples those are; None to train on all of them, and judge by all.
        teacher: a model of such samples, whose answers candidates learn from, too; None for none.
        pixels: how frames store a pixel, a name in ``FORMATS``; None where samples are no frames.
        told: logits of a teacher to each sample, float32 (n, classes), where it does not know the
            samples that candidates see; else None.

    Raises:
        DataError: samples and labels differ in number, are not finite, or too few; the rate is no
            number above 0; or a teacher does not answer such samples with scores of the classes.

    """

    x: Array
    y: Array
    validation: float = 0.2
    seed: int = 0
    rate: float | None = None
    fold: int | None = 0
    teacher: Teacher | None = None
    pixels: str | None = None
    told: Array | None = None

    def __post_init__(self) -> None:
        if self.x.ndim < 2 or len(self.x) != len(self.y):
            raise DataError(
                f"samples {list(self.x.shape)} and labels {list(self.y.shape)}",
                expected="[n, ...] and [n, ...]",
            )
        if not (np.isfinite(self.x).all() and np.isfinite(self.y).all()):
            raise DataError("not all samples and labels are finite", expected="finite numbers")
        if self.rate is not None and not 0 < self.rate < float("inf"):
            raise DataError(
                f"{self.rate:g} samples in a second",
                expected="a number above 0",
                hint="np.savez(..., rate=100) says that of a sensor",
            )
        if not 0 < self.validation < 1:
            raise DataError(
                f"{self.validation:g} of the samples are to choose by",
                expected="a share above 0 and below 1",
                hint="0.2 holds out a fifth",
            )
        if self.has_classes and (self.y.ndim != 1 or self.y.min() < 0 or self.classes < 2):
            raise DataError(
                f"labels are {self.y.dtype}{list(self.y.shape)} from {self.y.min()} to "
                f"{self.y.max()}",
                expected="integers from 0, one for each sample, of two classes or more",
                hint="y.astype(float) makes values of them",
            )
        if self.teacher is not None:
            self._require_teacher(self.teacher)
        _ = self.parts

    def _require_teacher(self, teacher: Teacher) -> None:
        """Refuse what cannot teach these classes."""
        if not self.has_classes:
            raise DataError(
                f"labels are {self.y.dtype}{list(self.y.shape)}, and there is a teacher",
                expected="labels that are classes, whose scores it gives",
                hint="leave out --teacher",
            )
        teacher.require(self.input_shape, self.classes)
        carried = teacher.front_end
        if isinstance(carried, Vision):
            self._require_pixels(carried.camera, "the teacher's camera")
        elif carried is not None and self.rate not in (None, carried.front.sample_rate):
            raise DataError(
                f"the teacher's front end takes {carried.front.sample_rate:g} samples a second",
                expected=f"{self.rate:g}, as the data have",
            )

    @classmethod
    def of(
        cls,
        data: str | Path | Mapping[str, ArrayLike],
        validation: float = 0.2,
        seed: int = 0,
        teacher: Teacher | Graph | None = None,
    ) -> Problem:
        """The problem in a data file, or in arrays by name: ``x`` and, for other than x, ``y``.

        ``rate`` is the number of raw samples in a second, for front ends; ``pixels`` says how the
        frames of a camera store a pixel.

        Raises:
            DataError: there is no ``x``, or the arrays make no problem.

        """
        named = load_npz(data, text=True) if isinstance(data, str | Path) else data
        arrays = {name: np.asarray(array) for name, array in named.items()}
        if INPUT not in arrays:
            raise DataError(
                "there are no samples among " + (", ".join(arrays) or "nothing"),
                file=str(data) if isinstance(data, str | Path) else None,
                expected=f"'{INPUT}', and '{LABELS}' unless an autoencoder is sought",
            )
        pixels, x = pixels_in(arrays), arrays[INPUT]
        x = x.astype(np.float32) if pixels is None else frames_of(x, pixels)
        y = x
        if LABELS in arrays:
            given = arrays[LABELS]
            y = given.astype(np.int64 if given.dtype.kind in "iub" else np.float32, copy=False)
        rate = arrays.get(RATE)
        if rate is not None and (rate.size != 1 or rate.dtype.kind not in "iuf"):
            raise DataError(
                f"the rate is {rate.dtype}{list(rate.shape)}",
                expected="one number: samples in a second",
            )
        told = None if rate is None else float(rate.item())
        taught = Teacher(teacher) if isinstance(teacher, Graph) else teacher
        return cls(x, y, validation, seed, told, teacher=taught, pixels=pixels)

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes."""
        return self.y.dtype.kind == "i"

    @cached_property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1

    @property
    def input_shape(self) -> Shape:
        """Of a sample, without the batch."""
        return self.x.shape[1:]

    @property
    def outputs(self) -> int:
        """How many numbers a network gives for a sample: a score of each class, or all values."""
        return self.classes if self.has_classes else int(np.prod(self.y.shape[1:]))

    def behind(self, front_end: FrontEnd | None) -> View:
        """What a network is for that sees features by a front end instead of ``x``.

        Raises:
            DataError: samples are a camera's frames and it is none, or the other way round.
            ShapeError: the front end does not take such windows.

        """
        if isinstance(front_end, Camera):
            self._require_pixels(front_end, "the camera")
        elif self.pixels is not None:
            raise DataError(
                f"samples are a camera's frames of {self.pixels}",
                expected="a camera before the network, which makes images of them",
                hint="search in the space camera, or in one with Candidate(front_end=Camera(...))",
            )
        shape = self.input_shape if front_end is None else shape_behind(front_end, self.input_shape)
        outputs = self.outputs if self.y is not self.x else int(np.prod(shape))
        return View(shape, outputs, self.has_classes)

    @property
    def frame(self) -> tuple[int, int]:
        """Lines of a camera's frame, and pixels of a line.

        Raises:
            DataError: samples are no frames.

        """
        if self.pixels is None:
            raise DataError(
                "the data do not say how a camera's pixels are stored",
                expected=f"'{PIXELS}' beside '{INPUT}' and '{LABELS}'",
                hint="np.savez(FILE, x=frames, y=y, pixels='rgb565')",
            )
        height, line_bytes = self.input_shape
        return height, line_bytes // FORMATS[self.pixels].nbytes

    def _require_pixels(self, camera: Camera, who: str) -> None:
        """Refuse a camera of other frames."""
        height, width = self.frame
        if (camera.height, camera.width, camera.pixels) != (height, width, self.pixels):
            raise DataError(
                f"{who} has frames of {camera.width} x {camera.height} pixels of {camera.pixels}",
                expected=f"{width} x {height} pixels of {self.pixels}, as the data have",
            )

    def with_x(self, x: Array, told: Array | None) -> Problem:
        """The same labels and parts, of other samples; an autoencoder gives these back.

        Args:
            x: what a network sees, (n, ...).
            told: what a teacher has answered to the samples as they were; None without one.

        """
        y = x if self.y is self.x else self.y
        return replace(self, x=x, y=y, rate=None, teacher=None, pixels=None, told=told)

    @cached_property
    def parts(self) -> tuple[Array, Array]:
        """Indices of samples to train on, and of those to choose by; each class has its share."""
        if self.fold is None:
            everything = np.arange(len(self.x))
            return np.random.default_rng([self.seed, 1]).permutation(everything), everything
        kind = Kind.CLASSES if self.has_classes else Kind.VALUES
        lesson = Lesson(LABELS, kind, False, self.y, None)
        return split([lesson], len(self.x), self.validation, self.seed, self.fold)

    @cached_property
    def digest(self) -> str:
        """A few hexadecimal digits that tell this problem from others."""
        rate = "" if self.rate is None else f" {self.rate:g}"
        fold = "" if self.fold == 0 else f" fold {self.fold}"
        taught = "" if self.teacher is None else f" taught by {self.teacher.digest}"
        pixels = "" if self.pixels is None else f" {self.pixels}"
        said = f"{rate}{fold}{taught}{pixels}"
        told = () if self.told is None else (self.told,)
        return f"{digest([self.x, self.y, *told])} {self.validation:g} {self.seed}{said}"


Purpose = Problem | View
"""What a network is for: its samples are those of the problem, or features of them."""
