"""How kernels for x86 hosts take layers that are laid out otherwise."""

import numpy as np
import pytest

from tests.ops.build import Case, build_s8
from tinyrt.export import export_graph
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs


def calls_of(shape, kernel, folder):
    """The code of a depthwise convolution, without the comments that tell shapes and identity."""
    channels = shape[3]
    shapes = (shape, (1, *kernel, channels), (channels,))
    attrs = DepthwiseConv2dAttrs(padding="SAME")
    case = Case("depthwise_conv2d", attrs, shapes, frozenset({1, 2}))
    graph = build_s8(case, np.random.default_rng(3)).graph
    folder.mkdir()
    export_graph(graph, folder, core="host-avx2")
    code = "\n".join(path.read_text() for path in sorted(folder.rglob("case*.c")))
    comments = "depthwise_conv2d 'op'", ", export "
    return [line for line in code.splitlines() if not any(text in line for text in comments)]


@pytest.mark.parametrize("size", [3, 5])
def test_a_column_of_elements_is_computed_as_a_row(tmp_path, size):
    row = calls_of((1, 1, 9, 8), (1, size), tmp_path / "row")
    assert any("tinyrt_depthwise_x86(" in line for line in row)
    assert calls_of((1, 9, 1, 8), (size, 1), tmp_path / "column") == row
