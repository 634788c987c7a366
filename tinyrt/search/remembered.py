"""A teacher's answers, which many candidates ask for again and again.

Augmentation often makes few samples of one: an image that moves by a pixel at most is in nine
places. All candidates and all epochs see the same ones, and a teacher costs more than a student.
"""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock

import numpy as np

from tinyrt.ops.shared.spec import Array
from tinyrt.search.teacher import Teacher
from tinyrt.train.distill import logits_of

MOST = 200_000
"""Samples whose answers are remembered."""

DIGEST = 16
"""Bytes that tell samples apart."""


class Remembered:
    """A teacher's logits, (n, ...) -> (n, classes); each different sample is answered once.

    The interpreter answers a sample with the same bits in any company, so that it does not matter
    which ones are known.
    """

    def __init__(self, teacher: Teacher) -> None:
        self.teacher = teacher
        self._answer = logits_of(teacher.model())
        self._known: dict[bytes, Array] = {}
        self._lock = Lock()

    def __call__(self, x: Array) -> Array:
        """Logits of a batch."""
        keys = [blake2b(sample, digest_size=DIGEST).digest() for sample in np.ascontiguousarray(x)]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
            new = {key: i for i, key in enumerate(keys) if key not in found}
            if new:
                answers = self._answer(x[list(new.values())])
                found |= zip(new, answers, strict=True)
                room = MOST - len(self._known)
                self._known |= dict(list(zip(new, answers, strict=True))[:room])
        return np.stack([found[key] for key in keys])


def remembered(teacher: Teacher) -> Remembered:
    """What this process knows of the teacher; of another one before it nothing is kept."""
    with _lock:
        if not _last or _last[0].teacher is not teacher:
            _last[:] = [Remembered(teacher)]
        return _last[0]


_last: list[Remembered] = []
_lock = Lock()
