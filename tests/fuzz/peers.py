"""The same mutants through other run times: each must refuse them, or run them, and no more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.checks import OPENED, RAN, REFUSED
from tests.fuzz.values import Rng

MAX_ELEMENTS = 1 << 20
"""Of an input: models with larger ones are loaded, and not run."""


def data_for(shape: Any, dtype: Any, rng: Rng) -> np.ndarray | None:
    """Random data for an input, if it is one that can be filled."""
    sizes = [
        n if isinstance(n, int) and n > 0 else 1
        for n in (int(s) if str(s).lstrip("-").isdigit() else 1 for s in shape)
    ]
    kind = np.dtype(dtype)
    if np.prod(sizes, dtype=np.float64) > MAX_ELEMENTS or kind.kind not in "fiub":
        return None
    if kind.kind == "f":
        return rng.standard_normal(sizes).astype(kind)
    return rng.integers(0, 3, sizes).astype(kind)


def litert(resolver: str) -> Callable[[str, bytes, Path, Rng], str]:
    """LiteRT with a resolver of its: ``AUTO`` (compiled kernels) or ``BUILTIN_REF``."""

    def check(kind: str, data: bytes, folder: Path, rng: Rng) -> str:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        try:
            interpreter = Interpreter(
                model_content=data,
                num_threads=1,
                experimental_op_resolver_type=getattr(OpResolverType, resolver),
            )
            interpreter.allocate_tensors()
            for detail in interpreter.get_input_details():
                array = data_for(detail["shape"], detail["dtype"], rng)
                if array is None:
                    return OPENED
                interpreter.set_tensor(detail["index"], array.reshape(detail["shape"]))
            interpreter.invoke()
            for detail in interpreter.get_output_details():
                interpreter.get_tensor(detail["index"])
        except Exception:
            return REFUSED
        return RAN

    return check


MAX_INPUTS = 16
"""Inputs that are fed: tflite-micro tells their number only by refusing the next one."""


def micro(kind: str, data: bytes, folder: Path, rng: Rng) -> str:
    """tflite-micro, with an arena of a megabyte."""
    from tflite_micro.python.tflite_micro import runtime

    try:
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=1 << 20)
        for i in range(MAX_INPUTS):
            try:
                detail = interpreter.get_input_details(i)
            except (IndexError, ValueError):
                break
            array = data_for(detail["shape"], detail["dtype"], rng)
            if array is None:
                return OPENED
            interpreter.set_input(array.reshape(detail["shape"]), i)
        interpreter.invoke()
        interpreter.get_output(0)
    except Exception:
        return REFUSED
    return RAN


def onnxruntime(kind: str, data: bytes, folder: Path, rng: Rng) -> str:
    """onnxruntime on the processor, with its own rewriting."""
    import onnxruntime as ort

    path = folder / "model.onnx"
    path.write_bytes(data)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feeds = {}
        for port in session.get_inputs():
            dtype = TYPES.get(port.type)
            array = None if dtype is None else data_for(port.shape, dtype, rng)
            if array is None:
                return OPENED
            feeds[port.name] = array
        session.run(None, feeds)
    except Exception:
        return REFUSED
    return RAN


TYPES = {
    "tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(int8)": "i1",
    "tensor(uint8)": "u1", "tensor(int16)": "i2", "tensor(int32)": "i4", "tensor(int64)": "i8",
    "tensor(bool)": "?", "tensor(uint16)": "u2", "tensor(uint32)": "u4", "tensor(uint64)": "u8",
}  # fmt: skip

ENGINES: dict[str, tuple[str, str, Callable[[str, bytes, Path, Rng], str]]] = {
    "LiteRT": ("tflite", "ai-edge-litert", litert("AUTO")),
    "LiteRT, reference kernels": ("tflite", "ai-edge-litert", litert("BUILTIN_REF")),
    "tflite-micro": ("tflite", "tflite-micro", micro),
    "onnxruntime": ("onnx", "onnxruntime", onnxruntime),
}
"""Name -> the kind of file that it reads, its package, and how it is tried."""


def version(engine: str) -> str:
    """The version of the package that the engine is in."""
    return metadata.version(ENGINES[engine][1])
