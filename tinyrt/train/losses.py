"""Losses: how far an output is from what it should be, as a tensor of one element."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.errors import ShapeError
from tinyrt.floatmath import elementary
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor, apply


def log_softmax(logits: Tensor) -> Tensor:
    """Logarithm of the probabilities along the last dimension, in the logits' shape."""
    return apply("log_softmax", NoAttrs(), logits)


def cross_entropy(
    logits: Tensor,
    labels: ArrayLike,
    *,
    smoothing: float = 0.0,
    weights: ArrayLike | None = None,
    ignore_index: int | None = None,
) -> Tensor:
    """Mean over the batch of ``-log(softmax(logits)[label])``.

    Args:
        logits: (n, classes), before any softmax.
        labels: (n,), integers in [0, classes).
        smoothing: share of the target that is spread evenly over all classes (Szegedy et al.
            2016, section 7).
        weights: (classes,), how much samples of each class count; the mean is weighted by them.
        ignore_index: a label whose samples do not count, as what fills a batch up has it.

    Raises:
        ShapeError: shapes do not match, a label is not a class, or no label counts.

    """
    classes = np.asarray(labels)
    if logits.ndim != 2 or classes.shape != logits.shape[:1] or not classes.size:
        raise ShapeError(
            f"cross entropy of logits {logits.shape} with labels {classes.shape}",
            expected="logits (n, classes) and labels (n,), at least one",
        )
    n, count = logits.shape
    counts = None if ignore_index is None else classes != ignore_index
    if counts is not None:
        if not counts.any():
            what = f"all {n} labels are {ignore_index}, which is ignored"
            raise ShapeError(what, expected="at least one label that counts")
        classes = np.where(counts, classes, classes[counts][0])
    if classes.dtype.kind not in "iu" or classes.min() < 0 or classes.max() >= count:
        what = f"labels of type {classes.dtype} from {classes.min()} to {classes.max()}"
        raise ShapeError(what, expected=f"integers from 0 to {count - 1}")
    target = np.full(logits.shape, smoothing / count, logits.dtype)
    target[np.arange(n), classes] += 1 - smoothing
    total = float(n if counts is None else counts.sum())
    if counts is not None:
        target *= counts[:, np.newaxis]
    if weights is not None:
        share = np.asarray(weights, logits.dtype)
        if share.shape != (count,):
            raise ShapeError(f"class weights {share.shape}", expected=f"({count},)")
        target *= share[classes, np.newaxis]
        total = float(share[classes if counts is None else classes[counts]].sum())
    return (log_softmax(logits) * target).sum() * (-1 / total)


def mse_loss(output: Tensor, target: ArrayLike) -> Tensor:
    """Mean of the squared differences; target in the output's shape."""
    difference = output - _target(output, target)
    return (difference * difference).mean()


def mae_loss(output: Tensor, target: ArrayLike) -> Tensor:
    """Mean of the differences' magnitudes; target in the output's shape."""
    return (output - _target(output, target)).abs().mean()


def huber_loss(output: Tensor, target: ArrayLike, *, delta: float = 1.0) -> Tensor:
    """Half the square of differences up to ``delta``, beyond it a line (Huber 1964); their mean."""
    distance = (output - _target(output, target)).abs()
    limit = Tensor(np.full(distance.shape, delta, distance.dtype))
    near = apply("minimum", NoAttrs(), distance, limit)
    return (near * near * 0.5 + (distance - near) * delta).mean()


def bce_loss(logits: Tensor, target: ArrayLike) -> Tensor:
    """Binary cross entropy, ``-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x))``; its mean.

    Computed as the cross entropy of two classes with the logits x and 0, which cannot overflow.

    Args:
        logits: any shape, before any sigmoid.
        target: probabilities, in the same shape.

    """
    x, t = logits.reshape(-1, 1), _target(logits, target).reshape(-1, 1)
    pairs = apply("concatenation", ConcatenationAttrs(1), x, x * 0)
    return (log_softmax(pairs) * np.concatenate([t, 1 - t], axis=1)).sum() * (-1 / t.size)


def kl_loss(logits: Tensor, target: ArrayLike) -> Tensor:
    """Kullback-Leibler divergence of the softmax from target probabilities; mean over samples.

    Args:
        logits: (n, classes), before any softmax.
        target: (n, classes), probabilities.

    """
    p = _target(logits, target)
    entropy = float((p * elementary.log(np.where(p > 0, p, 1))).sum())
    return ((log_softmax(logits) * p).sum() * -1 + entropy) * (1 / len(p))


def _target(output: Tensor, target: ArrayLike) -> Array:
    array = np.asarray(target, output.dtype)
    if array.shape != output.shape:
        raise ShapeError(
            f"the target has shape {array.shape}", expected=f"the output's: {output.shape}"
        )
    return array
