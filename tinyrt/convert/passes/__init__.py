"""Graph passes: rules that keep the float results and leave fewer, plainer ops."""

from __future__ import annotations

from tinyrt.convert.passes.fold_affine import FOLD_AFFINE
from tinyrt.convert.passes.fold_batchnorm import FOLD_BATCHNORM, SPLIT_BATCHNORM
from tinyrt.convert.passes.fold_constants import FOLD_CONSTANTS
from tinyrt.convert.passes.fold_transpose import TRANSPOSE_INTO_DENSE, TRANSPOSE_INTO_MEAN
from tinyrt.convert.passes.fuse_activation import FUSE_ACTIVATION
from tinyrt.convert.passes.fuse_pad import FUSE_PAD
from tinyrt.convert.passes.merge_duplicates import MERGE_DUPLICATES
from tinyrt.convert.passes.merge_moves import (
    MERGE_PADS,
    MERGE_RESHAPES,
    MERGE_TRANSPOSES,
    TRANSPOSE_TO_RESHAPE,
)
from tinyrt.convert.passes.prune import REMOVE_DEAD, REMOVE_IDENTITY
from tinyrt.convert.passes.sink_reshape import SINK_PAD, SINK_RESHAPE, SINK_RESHAPES
from tinyrt.convert.passes.to_nhwc import (
    FLIP_INNER_REGIONS,
    FLIP_REGIONS,
    TURN_INPUT,
    TURN_OUTPUT,
)
from tinyrt.ir import BoundNode, Graph, RewriteLog, Rule, Stage, rewrite
from tinyrt.ops import verify

FLOAT_PIPELINE: tuple[Rule, ...] = (
    # Clean up after every step, so that the other rules see no leftovers.
    REMOVE_DEAD,
    REMOVE_IDENTITY,
    FOLD_CONSTANTS,
    # Layout next: until transposes are out of the way, ops that could fuse do not meet.
    MERGE_TRANSPOSES,
    TRANSPOSE_INTO_MEAN,
    TRANSPOSE_INTO_DENSE,
    TURN_INPUT,
    TURN_OUTPUT,
    FLIP_REGIONS,
    # The same for reshapes and pads.
    MERGE_RESHAPES,
    SINK_RESHAPE,
    SINK_RESHAPES,
    SINK_PAD,
    MERGE_PADS,
    # What follows an op with weights goes into its weights, and only then a clamp into the op:
    # nothing folds behind a clamp.
    FOLD_BATCHNORM,
    FOLD_AFFINE,
    FUSE_ACTIVATION,
    FUSE_PAD,
    # Last resorts: they end hopes of cancelling a transpose or folding a batch_norm.
    TRANSPOSE_TO_RESHAPE,
    SPLIT_BATCHNORM,
    # Cheapest on the small graph that is left.
    MERGE_DUPLICATES,
)
"""The passes on float graphs, in order of precedence, for inputs and outputs in NHWC."""

PATCHES_PER_NODE = 50
"""More patches than that mean that two rules undo each other; models need two or three."""

_KEEP_LAYOUT = {id(FLIP_REGIONS): FLIP_INNER_REGIONS, id(TURN_INPUT): None, id(TURN_OUTPUT): None}


def optimise(graph: Graph, *, keep_layout: bool = False, log: RewriteLog | None = None) -> Graph:
    """Apply the passes until none applies any more; results stay within float rounding.

    Args:
        graph: a float graph.
        keep_layout: keep NCHW inputs and outputs; else those that are only read, or only written,
            through a transpose to or from NHWC take that layout.
        log: what was applied and refused is added to it.

    Raises:
        VerifyError: a pass broke an invariant.

    """
    rules = FLOAT_PIPELINE
    if keep_layout:
        turned = (_KEEP_LAYOUT.get(id(rule), rule) for rule in rules)
        rules = tuple(rule for rule in turned if rule is not None)
    limit = PATCHES_PER_NODE * (len(graph.nodes) + 1)
    known: dict[int, BoundNode] = {}
    return rewrite(graph, rules, lambda g: verify(g, Stage.FLOAT, known=known), log, limit)


__all__ = ["FLOAT_PIPELINE", "optimise"]
