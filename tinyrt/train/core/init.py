"""Initial weights, so that neither values nor gradients grow or fade from layer to layer."""

from __future__ import annotations

import math

import numpy as np

from tinyrt.floatmath.products import orthogonalised
from tinyrt.train.core.module import Parameter


def he_normal(rng: np.random.Generator, shape: tuple[int, ...], fan_in: int) -> Parameter:
    """Weights that keep a ReLU network's variance: normal, deviation ``sqrt(2 / fan_in)``.

    He, Zhang, Ren & Sun 2015, "Delving Deep into Rectifiers", equation 10.

    Args:
        rng: draws the values.
        shape: of the weights.
        fan_in: products that are summed into one output.

    """
    return Parameter(rng.normal(0.0, math.sqrt(2 / fan_in), shape).astype(np.float32))


def glorot_uniform(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, fan_out: int
) -> Parameter:
    """Weights that keep the variance of values and gradients alike, for tanh and sigmoid.

    Glorot & Bengio 2010, "Understanding the difficulty of training deep feedforward neural
    networks", equation 16: uniform within ``sqrt(6 / (fan_in + fan_out))``.

    Args:
        rng: draws the values.
        shape: of the weights.
        fan_in: products that are summed into one output.
        fan_out: products that one input goes into.

    """
    limit = math.sqrt(6 / (fan_in + fan_out))
    return Parameter(rng.uniform(-limit, limit, shape).astype(np.float32))


def orthogonal(rng: np.random.Generator, size: int, blocks: int = 1) -> Parameter:
    """Square orthogonal matrices, one below the other: what goes around keeps its length.

    Saxe, McClelland & Ganguli 2014, "Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks".

    Args:
        rng: draws the values.
        size: rows and columns of each matrix.
        blocks: how many there are; the shape is (blocks * size, size).

    """
    matrices = [orthogonalised(rng.normal(size=(size, size))) for _ in range(blocks)]
    return Parameter(np.concatenate(matrices).astype(np.float32))
