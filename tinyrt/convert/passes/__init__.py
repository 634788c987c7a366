"""Graph passes: rules that keep the float results and leave fewer, plainer ops."""

from __future__ import annotations

from collections.abc import Collection

from tinyrt.convert.passes.algebra import (
    AS_PRODUCT,
    CANCEL_SIGNS,
    MERGE_CONSTANTS,
    MERGE_SLICES,
    WRITE_OUT_POWER,
    ZERO_PRODUCT,
)
from tinyrt.convert.passes.centre_variance import CENTRE_VARIANCE
from tinyrt.convert.passes.channel_order import ORDER_CHANNELS
from tinyrt.convert.passes.choices import CHOOSE_AS, CHOOSE_SHAPED, SKIP_MONOTONIC
from tinyrt.convert.passes.concatenations import MERGE_CONCATENATIONS, SLICE_CONCATENATION
from tinyrt.convert.passes.conv_as_dense import CONV_AS_DENSE
from tinyrt.convert.passes.cut_before_turn import CUT_BEFORE_TURN
from tinyrt.convert.passes.fold_affine import FOLD_AFFINE
from tinyrt.convert.passes.fold_batchnorm import FOLD_BATCHNORM, SPLIT_BATCHNORM
from tinyrt.convert.passes.fold_before import FOLD_BEFORE
from tinyrt.convert.passes.fold_constants import FOLD_CONSTANTS
from tinyrt.convert.passes.fold_transpose import TRANSPOSE_INTO_DENSE, TRANSPOSE_INTO_MEAN
from tinyrt.convert.passes.fuse_activation import FUSE_ACTIVATION
from tinyrt.convert.passes.fuse_pad import FUSE_PAD
from tinyrt.convert.passes.heads import (
    DROP_BY_RESHAPE,
    HOIST_OVER_PARTS,
    TRANSPOSE_INTO_LEFT,
    TRANSPOSE_INTO_PRODUCT,
    TURN_PRODUCT,
)
from tinyrt.convert.passes.heads_into_layer import HEADS_INTO_LAYER
from tinyrt.convert.passes.hoist_slice import HOIST_OVER_SLICE
from tinyrt.convert.passes.join import SINK_JOIN, SUM_PARTS
from tinyrt.convert.passes.known import KNOWN_PASSES, apply_known
from tinyrt.convert.passes.merge_duplicates import MERGE_DUPLICATES
from tinyrt.convert.passes.merge_moves import (
    MERGE_PADS,
    MERGE_RESHAPES,
    MERGE_TRANSPOSES,
    TRANSPOSE_TO_RESHAPE,
)
from tinyrt.convert.passes.merge_parallel import MERGE_PARALLEL
from tinyrt.convert.passes.merge_siblings import MERGE_SIBLINGS
from tinyrt.convert.passes.merge_through import (
    MERGE_AROUND_JOIN,
    MERGE_AROUND_REGROUP,
    MERGE_AROUND_SPLIT,
)
from tinyrt.convert.passes.mix_heads import MIX_HEADS
from tinyrt.convert.passes.operand_rows import CUT_INTO_PRODUCT, REGROUPED_INTO_PRODUCT
from tinyrt.convert.passes.pair_softmax import PAIR_SOFTMAX
from tinyrt.convert.passes.pixel_shuffle import PIXEL_SHUFFLE
from tinyrt.convert.passes.prune import REMOVE_DEAD, REMOVE_IDENTITY
from tinyrt.convert.passes.quantizers import (
    CLAMP_BEFORE,
    HOIST_QUANTIZER,
    REMOVE_REQUANTIZE,
    has_own_grids,
)
from tinyrt.convert.passes.recognise import (
    DIVIDE_BY_CONSTANT,
    DIVIDE_BY_ROOT,
    RECOGNISE_GELU,
    RECOGNISE_HARD_SWISH,
    RECOGNISE_LOGISTIC,
    RECOGNISE_SOFTMAX,
    SCALE_INTO_SOFTMAX,
    SCALE_THROUGH_PRODUCT,
)
from tinyrt.convert.passes.scale_before_moves import SCALE_BEFORE_MOVES
from tinyrt.convert.passes.shuffle import (
    GATHER_INTO_LAYER,
    GATHER_TO_SLICE,
    MERGE_GATHERS,
    SHUFFLE_ROWS,
    SHUFFLE_TO_GATHER,
)
from tinyrt.convert.passes.sink_reshape import (
    SINK_PAD,
    SINK_RESHAPE,
    SINK_RESHAPES,
    SINK_TRANSPOSE,
)
from tinyrt.convert.passes.to_nhwc import (
    FLIP_INNER_REGIONS,
    FLIP_REGIONS,
    TURN_INPUT,
    TURN_OUTPUT,
)
from tinyrt.convert.passes.truth import (
    CAST_AS_CHOICE,
    CHOOSE_FACTOR,
    FOLD_INTO_CHOICE,
    NEGATE_COMPARISON,
    RECOGNISE_CHOICE,
    SWAP_CHOICES,
)
from tinyrt.convert.passes.turn_heads import MERGE_HEADS, TURN_HEADS
from tinyrt.convert.passes.turn_parts import TURN_PARTS
from tinyrt.convert.passes.unfold import GATHER_TO_TRANSPOSE
from tinyrt.convert.passes.unroll_heads import UNROLL_HEADS
from tinyrt.convert.passes.windows import HEADS_BEFORE_WINDOWS, WINDOWS_BEHIND_LAYERS
from tinyrt.convert.passes.write_out import WRITE_OUT_ERF
from tinyrt.errors import DataError
from tinyrt.ir import BoundNode, Graph, RewriteLog, Rule, Stage, rewrite
from tinyrt.ops import verify
from tinyrt.text import closest

FLOAT_PIPELINE: tuple[Rule, ...] = (
    # Clean-up comes first: it runs after every step, and the other rules see no leftovers.
    REMOVE_DEAD,
    REMOVE_IDENTITY,
    FOLD_CONSTANTS,
    # Formulas of exporters are recognised before anything moves or folds into their parts.
    RECOGNISE_GELU,
    RECOGNISE_HARD_SWISH,
    RECOGNISE_LOGISTIC,
    RECOGNISE_SOFTMAX,
    CENTRE_VARIANCE,
    SCALE_INTO_SOFTMAX,
    SCALE_THROUGH_PRODUCT,
    DIVIDE_BY_ROOT,
    DIVIDE_BY_CONSTANT,
    WRITE_OUT_POWER,
    RECOGNISE_CHOICE,
    # Arithmetic on truth values becomes a choice by them.
    CAST_AS_CHOICE,
    NEGATE_COMPARISON,
    SWAP_CHOICES,
    FOLD_INTO_CHOICE,
    CHOOSE_FACTOR,
    # Identities of arithmetic.
    ZERO_PRODUCT,
    CANCEL_SIGNS,
    AS_PRODUCT,
    # Channels that change places, before transposes take their reshapes apart.
    SHUFFLE_TO_GATHER,
    MERGE_GATHERS,
    GATHER_TO_TRANSPOSE,
    PAIR_SOFTMAX,
    # Layout next: until transposes are out of the way, ops that could fuse do not meet.
    MERGE_TRANSPOSES,
    MERGE_AROUND_SPLIT,
    MERGE_AROUND_JOIN,
    MERGE_AROUND_REGROUP,
    TRANSPOSE_INTO_MEAN,
    TRANSPOSE_INTO_DENSE,
    TRANSPOSE_INTO_PRODUCT,
    HOIST_OVER_PARTS,
    TURN_PARTS,
    TURN_INPUT,
    TURN_OUTPUT,
    FLIP_REGIONS,
    # With the layout settled, channels go where weights want them, or weights where channels are;
    GATHER_INTO_LAYER,
    ORDER_CHANNELS,
    GATHER_TO_SLICE,
    # and arg_max and arg_min only need the order of their inputs.
    SKIP_MONOTONIC,
    CHOOSE_AS,
    # The same for reshapes and pads.
    MERGE_RESHAPES,
    SINK_RESHAPE,
    SINK_RESHAPES,
    SUM_PARTS,
    SINK_JOIN,
    SINK_PAD,
    SINK_TRANSPOSE,
    MERGE_PADS,
    MERGE_SLICES,
    SLICE_CONCATENATION,
    MERGE_CONCATENATIONS,
    # In quantised models: roundings move to right behind the ops whose outputs they round.
    REMOVE_REQUANTIZE,
    CLAMP_BEFORE,
    HOIST_QUANTIZER,
    # What follows an op with weights goes into its weights, and only then a clamp into the op:
    # nothing folds behind a clamp.
    HOIST_OVER_SLICE,
    FOLD_BATCHNORM,
    FOLD_AFFINE,
    SCALE_BEFORE_MOVES,
    MERGE_CONSTANTS,
    MERGE_PARALLEL,
    FUSE_ACTIVATION,
    # Before pads fuse: a sum in front of a convolution must not reach its border of zeros.
    FOLD_BEFORE,
    FUSE_PAD,
    CONV_AS_DENSE,
    # Where transposes stay: layers, products and cuts that read and write in other orders.
    MIX_HEADS,
    HEADS_BEFORE_WINDOWS,
    HEADS_INTO_LAYER,
    TRANSPOSE_INTO_LEFT,
    TURN_PRODUCT,
    REGROUPED_INTO_PRODUCT,
    CUT_INTO_PRODUCT,
    CUT_BEFORE_TURN,
    MERGE_HEADS,
    TURN_HEADS,
    WINDOWS_BEHIND_LAYERS,
    SHUFFLE_ROWS,
    # What no layer reads turned is not turned: heads one by one.
    UNROLL_HEADS,
    # Last resorts: they end hopes of cancelling a transpose or folding a batch_norm.
    PIXEL_SHUFFLE,
    TRANSPOSE_TO_RESHAPE,
    DROP_BY_RESHAPE,
    SPLIT_BATCHNORM,
    WRITE_OUT_ERF,
    CHOOSE_SHAPED,
    # Cheapest on the small graph that is left.
    MERGE_DUPLICATES,
    MERGE_SIBLINGS,
)
"""The passes on float graphs, in order of precedence, for inputs and outputs in NHWC."""

PATCHES_PER_NODE = 50
"""Most patches per node; with more, two rules undo each other. Models need two or three."""

_KEEP_LAYOUT = {id(FLIP_REGIONS): FLIP_INNER_REGIONS, id(TURN_INPUT): None, id(TURN_OUTPUT): None}


def pass_names() -> tuple[str, ...]:
    """The names of the passes, in order of precedence."""
    return (*(rule.name for rule in FLOAT_PIPELINE), *KNOWN_PASSES)


def optimize(
    graph: Graph,
    *,
    keep_layout: bool = False,
    log: RewriteLog | None = None,
    passes: Collection[str] | None = None,
    skip: Collection[str] = (),
) -> Graph:
    """Apply the passes until none applies any more; results stay within float rounding.

    Args:
        graph: a float graph.
        keep_layout: keep NCHW inputs and outputs; else those that are only read, or only written,
            through a transpose to or from NHWC take that layout.
        log: what was applied and refused is added to it.
        passes: names of those that may be applied; all by default.
        skip: names of those that may not.

    Raises:
        DataError: there is no pass of such a name.
        VerifyError: a pass broke an invariant.

    """
    names = _chosen(pass_names() if passes is None else passes, skip)
    rules = tuple(rule for rule in FLOAT_PIPELINE if rule.name in names)
    if keep_layout:
        variants = (_KEEP_LAYOUT.get(id(rule), rule) for rule in rules)
        rules = tuple(rule for rule in variants if rule is not None)
    limit = PATCHES_PER_NODE * (len(graph.nodes) + 1)
    verified: dict[int, BoundNode] = {}
    while True:
        graph = rewrite(
            graph, rules, lambda g: verify(g, Stage.FLOAT, verified=verified), log, limit
        )
        # A graph that brings its own grids is cut when it has integers: biases stay on the grids.
        plainer = graph if has_own_grids(graph) else apply_known(graph, names, log)
        if plainer is graph:
            return graph
        graph = plainer


def _chosen(passes: Collection[str], skip: Collection[str]) -> frozenset[str]:
    unknown = sorted({*passes, *skip} - set(pass_names()))
    if unknown:
        raise DataError(
            f"there is no pass '{unknown[0]}'",
            expected=", ".join(pass_names()),
            hint=closest(unknown[0], pass_names())
            or "correct the name; 'tinyrt convert --explain' shows what each pass did",
        )
    return frozenset(passes) - frozenset(skip)


__all__ = ["FLOAT_PIPELINE", "optimize", "pass_names"]
