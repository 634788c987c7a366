"""The training core, on NumPy.

Read in this order: ``function`` (what can be differentiated), ``tensor`` (the tape and the
backward pass), ``arithmetic`` and ``functional`` (what the op table lacks), ``nn`` (layers),
``optim``, ``data``, ``trace`` (from a trained module to a graph), ``recipes`` (all of it at work).
"""

from tinyrt.train.functional import cross_entropy
from tinyrt.train.optim import SGD, Adam, cosine_lr
from tinyrt.train.tensor import Tensor, apply, no_grad
from tinyrt.train.trace import trace

__all__ = ["SGD", "Adam", "Tensor", "apply", "cosine_lr", "cross_entropy", "no_grad", "trace"]
