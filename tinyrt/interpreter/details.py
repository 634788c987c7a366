"""Tensors as LiteRT's interpreter describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.convert.tflite.directory import TensorEntry
from tinyrt.ir import Shape


def describe(entry: TensorEntry, index: int, shape: Shape) -> dict[str, Any]:
    """The dictionary of ``get_input_details`` and its like.

    Args:
        entry: the tensor.
        index: its number.
        shape: its shape now, which differs from the file's once inputs are resized.

    """
    per_tensor = len(entry.scales) == 1
    return {
        "name": entry.name,
        "index": index,
        "shape": np.array(shape, np.int32),
        "shape_signature": np.array(entry.shape_signature, np.int32),
        "dtype": entry.value.dtype.numpy.type,
        "quantization": (
            (float(entry.scales[0]), int(entry.zero_points[0])) if per_tensor else (0.0, 0)
        ),
        "quantization_parameters": {
            "scales": entry.scales.copy(),
            "zero_points": entry.zero_points.copy(),
            "quantized_dimension": entry.quantized_dimension,
            "block_size": 0,
        },
        "sparsity_parameters": {},
    }
