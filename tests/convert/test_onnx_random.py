"""Random networks: the passes keep their results, and leave nothing of the other layout."""

import pytest

from tests.convert.onnx_build import assert_matches, count
from tests.convert.random_cnn import RandomCnn
from tests.sampling import sampled
from tinyrt.convert.passes import FLOAT_PIPELINE

RARE = (15, 20, 22, 42, 49, 68, 85, 87)
"""Networks that the rarest rules apply to."""

SEEDS = sampled([*range(8), *RARE], [*range(100)])
NETWORKS = [(rank, seed) for rank in (1, 2) for seed in SEEDS]

NEVER = {
    "as_product",
    "cancel_signs",
    "cast_as_choice",
    "centre_variance",
    "choose_as",
    "choose_factor",
    "choose_shaped",
    "clamp_before_quantiser",
    "conv_as_dense",
    "cut_before_turn",
    "cut_into_product",
    "divide_by_constant",
    "divide_by_root",
    "drop_by_reshape",
    "fold_before",
    "fold_constants",
    "fold_into_choice",
    "gather_into_layer",
    "gather_to_slice",
    "gather_to_transpose",
    "heads_before_windows",
    "heads_into_layer",
    "hoist_over_parts",
    "hoist_over_slice",
    "hoist_quantiser",
    "merge_around_join",
    "merge_around_regroup",
    "merge_around_split",
    "merge_concatenations",
    "merge_duplicates",
    "merge_gathers",
    "merge_heads",
    "merge_parallel",
    "merge_siblings",
    "merge_slices",
    "mix_heads",
    "negate_comparison",
    "order_channels",
    "pair_softmax",
    "pixel_shuffle",
    "recognise_choice",
    "recognise_gelu",
    "recognise_hard_swish",
    "recognise_logistic",
    "recognise_softmax",
    "regrouped_into_product",
    "remove_requantise",
    "scale_before_moves",
    "scale_into_softmax",
    "scale_through_product",
    "shuffle_rows",
    "shuffle_to_gather",
    "sink_join",
    "sink_transpose",
    "skip_monotonic",
    "slice_concatenation",
    "sum_parts",
    "swap_choices",
    "transpose_into_left",
    "transpose_into_product",
    "transpose_to_reshape",
    "turn_heads",
    "turn_parts",
    "turn_product",
    "unroll_heads",
    "windows_behind_layers",
    "write_out_erf",
    "write_out_power",
    "zero_product",
}
"""Rules that these networks give no occasion for."""


@pytest.mark.slow
def test_networks_end_without_transposes_and_batch_norms(tmp_path):
    applied = set()
    for rank, seed in NETWORKS:
        net = RandomCnn(seed, rank)
        graph, log = assert_matches(net.model.save(tmp_path, net.output()), tolerance=5e-5)
        for op in ("transpose", "batch_norm"):
            assert count(graph, op) == 0, f"{op} in seed {seed} of rank {rank}"
        applied.update(rule for rule, _ in log.applied)
    assert {rule.name for rule in FLOAT_PIPELINE} - applied <= NEVER
