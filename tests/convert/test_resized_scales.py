"""Images resized to a tensor of another scale: runtimes move the integers as they are."""

import warnings

import ai_edge_litert.interpreter as litert
import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tinyrt.convert.tflite.declared import SHOWN
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ConversionWarning

OPS = {
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
}
FILES = [
    *((op, dtype) for op in OPS for dtype in ("INT8", "UINT8")),
    ("RESIZE_NEAREST_NEIGHBOR", "INT16"),
]


def resized(builtin, dtype, times=1, ends=((0.5, 3), (0.25, 7))):
    """An image, resized at the first scale to the other one, and what of it is positive."""
    (a, b), wide = ends, dtype == "INT16"
    grids = [(s, 0 if wide else z) for s, z in (a, b)]
    size = Tensor("size", (2,), "INT32", np.array([4, 5], np.int32))
    tensors = [Tensor("x", (1, 2, 3, 2), dtype, None, *grids[0]), size]
    ops, outputs = [], []
    for i in range(times):
        tensors.append(Tensor(f"y{i}", (1, 4, 5, 2), dtype, None, *grids[1]))
        tensors.append(Tensor(f"z{i}", (1, 4, 5, 2), dtype, None, 0.5, 0))
        ops.append(Op(builtin, ["x", "size"], [f"y{i}"], OPS[builtin]))
        ops.append(Op("RELU", [f"y{i}"], [f"z{i}"]))
        outputs += [f"y{i}", f"z{i}"]
    return build(Subgraph(tensors, ops, ["x"], outputs))


def answers(interpreter, x):
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


@pytest.mark.parametrize(("builtin", "dtype"), FILES)
def test_integers_stay_as_in_the_runtimes(builtin, dtype, tmp_path):
    data, target = resized(builtin, dtype), tmp_path / "out.tflite"
    (tmp_path / "in.tflite").write_bytes(data)
    limits = np.iinfo(dtype.lower())
    x = np.random.default_rng(0).integers(limits.min, limits.max + 1, (1, 2, 3, 2), limits.dtype)
    kind = litert.OpResolverType.BUILTIN_REF
    peer = litert.Interpreter(model_content=data, experimental_op_resolver_type=kind)
    expected = answers(peer, x)
    with pytest.warns(ConversionWarning, match="resized to another scale or zero point: 'y0"):
        tinyrt.convert_model(tmp_path / "in.tflite", target)
    for content in (data, target.read_bytes()):
        for backend in ("reference", "numba", "native"):
            with pytest.warns(ConversionWarning, match="their integers stay"):
                ours = tinyrt.Interpreter(model_content=content, backend=backend)
            for found, wanted in zip(answers(ours, x), expected, strict=True):
                np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("builtin", OPS)
def test_tflm_moves_them_too(builtin):
    tflm = pytest.importorskip("tflite_micro", reason="package tflite-micro is not installed")
    data = resized(builtin, "INT8")
    x = np.random.default_rng(1).integers(-128, 128, (1, 2, 3, 2), np.int8)
    peer = tflm.runtime.Interpreter.from_bytes(data)
    peer.set_input(x, 0)
    peer.invoke()
    with pytest.warns(ConversionWarning):
        ours = tinyrt.Interpreter(model_content=data)
    np.testing.assert_array_equal(answers(ours, x)[0], peer.get_output(0))


@pytest.mark.parametrize("times", [1, SHOWN, SHOWN + 2])
def test_the_warning_names_some_tensors_and_counts_the_rest(times):
    with pytest.warns(ConversionWarning) as caught:
        parse_tflite(resized("RESIZE_BILINEAR", "INT8", times))
    (text,) = (str(w.message) for w in caught)
    assert [f"'y{i}'" in text for i in range(times)] == [i < SHOWN for i in range(times)]
    assert (f"and {times - SHOWN} more tensors" in text) == (" more" in text) == (times > SHOWN)


@pytest.mark.parametrize("builtin", OPS)
def test_one_scale_needs_no_warning(builtin):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_tflite(resized(builtin, "INT8", ends=((0.5, 3), (0.5, 3))))
