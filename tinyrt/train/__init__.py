"""The training core, on NumPy.

Read in this order: ``tinyrt.floatmath.function`` (what can be differentiated, and how once is
enough for every order); of ``core``: ``function`` (the op table as such functions), ``tape`` (the
backward pass), ``tensor``, ``arithmetic`` and ``normalise`` (what the op table lacks), ``autograd``
(derivatives as values), ``module``, ``init``; then ``functional``, ``products`` (with Jacobians and
Hessians), ``calls``, ``gradcheck``, ``losses``, ``activations``, ``nn`` and ``sequence`` (layers),
``front_end`` (features of raw samples), ``checkpoint`` (memory for time), ``custom`` (derivatives
of one's own), ``optim`` and ``schedules``, ``data``, ``fit`` with ``fit_state`` and ``history``
(the loop), ``trace`` (from a trained module to a graph), ``graph_model`` (and back), ``qat`` with
``fake_quant`` and ``qat_weights`` (training for int8), ``prune``, ``channels`` and ``cluster``
(less of it), ``distill`` (from great to small), ``pipeline`` (an imported model's way through all
that), ``recipes`` (all of it at work).
"""

from tinyrt.train.calls import functional_call, vmap
from tinyrt.train.checkpointing import (
    checkpoint,
    checkpoint_cheap_layers,
    checkpoint_sequential,
)
from tinyrt.train.core.autograd import grad
from tinyrt.train.core.tensor import Tensor, apply, no_grad
from tinyrt.train.custom import CustomFunction
from tinyrt.train.forward_mode import jvp
from tinyrt.train.gradcheck import gradcheck, gradgradcheck
from tinyrt.train.losses import cross_entropy
from tinyrt.train.optim import SGD, Adam
from tinyrt.train.products import hvp, parameter_hvp
from tinyrt.train.schedules import cosine_lr
from tinyrt.train.tracing import trace

__all__ = [
    "SGD",
    "Adam",
    "CustomFunction",
    "Tensor",
    "apply",
    "checkpoint",
    "checkpoint_cheap_layers",
    "checkpoint_sequential",
    "cosine_lr",
    "cross_entropy",
    "functional_call",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "hvp",
    "jvp",
    "no_grad",
    "parameter_hvp",
    "trace",
    "vmap",
]
