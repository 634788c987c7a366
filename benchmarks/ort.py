"""Sessions of onnxruntime whose products of integers are exact on every processor."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def exact_session(path: str | Path, rewriting: bool = True) -> Any:
    """An ``InferenceSession`` of one thread, on the CPU.

    Processors without VNNI (before AVX512-VNNI and AVX-VNNI) add pairs of products of uint8 and
    int8 in 16 bits. onnxruntime lets them saturate there, unless it is asked for exact sums, which
    it gives where it may rewrite the graph:
    https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html

    Args:
        path: the model.
        rewriting: whether onnxruntime may rewrite the graph.

    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4
    # Others would wait for work, and keep a processor busy.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if not rewriting:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
