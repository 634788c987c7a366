"""Blocks of public architectures: how many transposes and ops are left of them."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from tests.convert.bodies import BODIES, Body, H, W
from tests.convert.onnx_build import assert_matches, count
from tests.docs.pages import rows_of
from tinyrt.api import open_model
from tinyrt.convert.passes.merge_through import MOST_DIMENSIONS
from tinyrt.ir import Graph
from tinyrt.ops import OPS
from tinyrt.ops.transpose import TransposeAttrs


@pytest.mark.parametrize("name", BODIES)
def test_no_more_moves_than_it_needs(name, tmp_path):
    block, transposes, ops = BODIES[name]
    model = Body()
    x = model.relu(model.conv(model.input(1, 3, H, W), 3, 8, 3))
    graph, _ = assert_matches(model.save(tmp_path, block(model, x)))
    found = [node.op for node in graph.nodes]
    assert count(graph, "transpose") <= transposes, found
    assert len(found) <= ops, found


ROWS = {blocks: count for blocks, count, _ in rows_of("convert.md", "block | transposes")}
BLOCKS = {
    "ViT": ("ViT", "LeViT", "MultiheadAttention"),
    "BERT": ("BERT", "GPT-2", "Llama"),
    "SegFormer": ("PVTv2 of two heads",),
    "MobileViT": ("MobileViT",),
    "MobileViTv2": ("MobileViTv2",),
    "Swin": ("Swin",),
    "CoaT": ("CoaT",),
    "YOLO11": ("YOLO11's attention",),
    "EfficientFormerV2": ("EfficientFormerV2",),
    "MLP-Mixer": ("MLP-Mixer",),
    "YOLOv5's head": ("YOLOv5's head",),
    "SKNet and ResNeSt of three branches or more": (
        *("SKNet of three branches", "ResNeSt of two groups"),
    ),
}
"""What a row of the page begins with -> the blocks that stand for it here."""


def left_of(name: str, folder: Path) -> Graph:
    """The block, converted."""
    block, _, _ = BODIES[name]
    model = Body()
    x = model.relu(model.conv(model.input(1, 3, H, W), 3, 8, 3))
    return open_model(model.save(folder, block(model, x)))


def moves_of(name: str, folder: Path) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shape and the permutation of each transpose that is left of a block."""
    graph = left_of(name, folder)
    nodes = [node for node in graph.nodes if node.op == "transpose"]
    return [(graph.value(n.inputs[0]).shape, n.attrs_as(TransposeAttrs).perm) for n in nodes]


@pytest.mark.parametrize("row", ROWS)
def test_the_page_has_what_is_left(row, tmp_path):
    names = BLOCKS[row if row in BLOCKS else row.split(",")[0]]
    own, a_stage, *_ = [*(int(n) for n in re.findall(r"\d", ROWS[row])), 0]
    if "stage" in ROWS[row]:
        own, a_stage = (own, a_stage) if "," in ROWS[row] else (0, own)
    for name in names:
        assert len(moves_of(name, tmp_path)) == own + a_stage == BODIES[name][1], name


def dimensions(order: np.ndarray) -> int:
    """The fewest dimensions of a transpose that brings 0, 1, 2, ... into the order."""
    count = 0
    while len(order) > 1:
        step = order[1] - order[0]
        steps = np.diff(order) == step
        run = len(order) if steps.all() else int(np.argmin(steps)) + 1
        assert (order.reshape(-1, run) == order[::run, None] + step * np.arange(run)).all()
        order, count = order[::run], count + 1
    return count


def both(first, second) -> np.ndarray:
    """The order that two moves make together, with a reshape in between."""
    (shape, perm), (then, last) = first, second
    count = math.prod(then)
    widened = (*shape[:-1], count // math.prod(shape[:-1]))  # a layer in between changes channels
    moved = np.arange(count).reshape(widened).transpose(perm)
    return moved.reshape(then).transpose(last).ravel()


@pytest.mark.parametrize("name", ["Swin", "MobileViT"])
def test_one_move_for_both_would_have_more_dimensions_than_litert_moves(name, tmp_path):
    windows, heads, back = moves_of(name, tmp_path)
    assert dimensions(both(windows, heads)) == 7 > MOST_DIMENSIONS
    for shape, perm in (windows, heads, back):
        assert dimensions(np.arange(math.prod(shape)).reshape(shape).transpose(perm).ravel()) <= 5


def test_queries_are_of_another_length_than_keys_and_values(tmp_path):
    queries, others = moves_of("PVTv2 of two heads", tmp_path)
    assert {H * W, H * W // 4} == {shape[1] for shape, _ in (queries, others)}


@pytest.mark.parametrize("name", ["YOLO11's attention", "EfficientFormerV2"])
def test_a_move_back_costs_less_than_the_layer_behind_it_once_more(name, tmp_path):
    graph = left_of(name, tmp_path)
    back = [node for node in graph.nodes if node.op == "transpose"][-1]
    reader = graph.consumers(graph.consumers(back.output)[0].output)[0]
    assert reader.op == "add", "taps are added behind a reshape"
    layer = next(n for n in graph.bound() if n.input(0).name == reader.output)
    while layer.op != "conv2d":
        layer = next(n for n in graph.bound() if n.input(0).name == layer.output.name)
    assert OPS["conv2d"].macs(layer) == 8 * math.prod(graph.value(back.output).shape)


@pytest.mark.parametrize("name", ["CoaT", "EfficientFormerV2"])
def test_thirds_that_are_moved_apart_are_read_as_images_too(name, tmp_path):
    graph = left_of(name, tmp_path)
    *thirds, _ = [node for node in graph.nodes if node.op == "transpose"]
    assert len(thirds) == 3
    sources = {third.inputs[0] for third in thirds}
    makers = [graph.producer(source) for source in sources]
    sources |= {n.inputs[0] for n in makers if n is not None and n.op == "reshape"}
    readers = {n.op for source in sources for n in graph.consumers(source)}
    assert readers & {"slice", "depthwise_conv2d"}


@pytest.mark.slow
def test_whole_networks_of_torch_need_no_more(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'tinyrt[torch]'")
    from tests import onnx_torch
    from tests.convert.torch_bodies import BODIES as NETWORKS

    for name, (make, transposes) in NETWORKS.items():
        path = tmp_path / f"{name}.onnx"
        onnx_torch.export(make, path, dynamo=False)
        graph, _ = assert_matches(path)
        assert count(graph, "transpose") <= transposes, name
