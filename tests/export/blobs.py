"""Pairs of models with the same structure, and blobs that are broken on purpose."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from tinyrt.api import quantize_model
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.ir import DType

HEADER = 128


def trained_twice(zoo: Path, name: str, folder: Path) -> tuple[Path, Path]:
    """The zoo's float model quantised to int8, and again with other weights and other data."""
    source, paths = zoo / "models" / f"{name}_float.tflite", []
    for i, kind in enumerate("ab"):
        rng = np.random.default_rng(i)
        graph = read_tflite(source)
        values = {n: _shaken(v, rng, 0.3 * i) for n, v in graph.values.items()}
        changed = folder / f"{name}_{kind}_float.tflite"
        save_tflite(replace(graph, values=values), changed)
        (x,) = graph.input_values
        data = ((1 + i) * rng.standard_normal((16, *x.shape[1:])) + i).astype(np.float32)
        paths.append(folder / f"{name}_{kind}.tflite")
        quantize_model(changed, {x.name: data}, paths[-1], keep_channels=True)
    one, other = paths
    return one, other


def _shaken(value, rng, share):
    if not value.is_constant or value.dtype is not DType.FLOAT32 or value.size == 1:
        return value
    factors = 1 + share * rng.standard_normal(value.shape)
    return replace(value, data=(np.asarray(value.data) * factors).astype(np.float32))


def with_word(blob: bytes, at: int, word: int) -> bytes:
    """The blob with another word in its header, which is whole otherwise."""
    start = bytearray(blob[: HEADER - 4])
    struct.pack_into("<I", start, at, word)
    return bytes(start) + struct.pack("<I", zlib.crc32(start)) + blob[HEADER:]


def without_sha256(blob: bytes) -> bytes:
    """The blob with a SHA-256 that is not its body's."""
    return with_word(blob, 40, 0)
