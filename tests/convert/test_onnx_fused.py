"""Ops that onnxruntime fuses, or that ONNX defines by functions, beside onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.convert.onnx_build import OnnxModel, assert_close, assert_matches, expected
from tinyrt.convert.onnx.fused import FUSED
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate

MICROSOFT = "com.microsoft"
I32 = onnx.TensorProto.INT32
CASES = {}


def case(opset=18):
    def register(build):
        CASES[build.__name__] = (build, opset)
        return build

    return register


def fused(m, op, *inputs, **attrs):
    return m.op(op, *inputs, domain=MICROSOFT, **attrs)


def image(m):
    return m.input(1, 3, 7, 5), m.weights(4, 3, 3, 2), m.weights(4)


for activation, parameters in (
    *(("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2])),
    *(("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.2, 0.6])),
):
    attrs = {"activation": activation} | ({"activation_params": parameters} if parameters else {})

    def conv(m, attrs=attrs):
        return fused(m, "FusedConv", *image(m), strides=[2, 1], pads=[1, 0, 1, 1], **attrs)

    conv.__name__ = f"conv_and_{activation}"
    case()(conv)


@case()
def conv_and_a_sum(m):
    return fused(m, "FusedConv", *image(m), m.input(1, 4, 5, 4, name="z"), activation="Relu")


@case()
def conv_and_a_sum_alone(m):
    return fused(m, "FusedConv", *image(m), m.input(1, 4, 5, 4, name="z"))


@case()
def conv_without_a_bias(m):
    x, w, _ = image(m)
    return fused(m, "FusedConv", x, w, activation="Relu")


@case()
def gemm_and_leaky_relu(m):
    attrs = {"transA": 1, "alpha": 0.5, "beta": 2.0, "activation_alpha": 0.3}
    operands = m.input(4, 3), m.weights(4, 5), m.weights(5)
    return fused(m, "FusedGemm", *operands, activation="LeakyRelu", **attrs)


@case()
def gemm_and_hard_sigmoid(m):
    attrs = {"transB": 1, "activation_beta": 0.4, "activation_alpha": 0.3}
    operands = m.input(3, 4), m.weights(5, 4), m.weights(5)
    return fused(m, "FusedGemm", *operands, activation="HardSigmoid", **attrs)


@case()
def gemm_without_an_addend(m):
    return fused(m, "FusedGemm", m.input(3, 4), m.weights(4, 5), activation="Relu")


@case()
def products_of_turned_matrices(m):
    x, y = m.input(2, 4, 3), m.input(2, 4, 5, name="y")
    product = fused(m, "FusedMatMul", x, y, transA=1, alpha=0.5)
    return fused(m, "FusedMatMul", product, m.weights(6, 5), transB=1)


@case()
def gelus(m):
    x, b = m.input(3, 4), m.weights(4)
    plain = m.op("Add", fused(m, "Gelu", x), fused(m, "BiasGelu", x, b))
    fast = m.op("Add", fused(m, "FastGelu", x), fused(m, "FastGelu", x, b))
    quick = m.op("Sub", fused(m, "QuickGelu", x), fused(m, "QuickGelu", x, alpha=1.0))
    return m.op("Concat", plain, fast, quick, axis=0)


def skipped(m, op, *parameters, outputs):
    operands = m.input(2, 3, 4), m.input(2, 3, 4, name="s"), *parameters
    y = fused(m, op, *operands, epsilon=1e-3, outputs=outputs)
    return m.op("Add", y, f"{y}_3") if outputs == 4 else y


@case()
def a_norm_of_a_sum(m):
    return skipped(m, "SkipLayerNormalization", *(m.weights(4) for _ in range(3)), outputs=4)


@case()
def a_norm_of_a_sum_without_a_bias(m):
    return skipped(m, "SkipLayerNormalization", m.weights(4), outputs=1)


@case()
def a_root_mean_square_of_a_sum(m):
    parameters = m.weights(4), m.weights(4)
    return skipped(m, "SkipSimplifiedLayerNormalization", *parameters, outputs=4)


@case()
def norms_of_small_numbers_with_their_own_epsilon(m):
    small = m.const(1e-6)
    x, y = (m.op("Mul", m.input(3, 4, name=name), small) for name in ("x", "s"))
    norm = fused(m, "SkipLayerNormalization", x, y, m.weights(4))
    other = fused(m, "SkipSimplifiedLayerNormalization", x, y, m.weights(4))
    return m.op("Add", norm, other)


@case()
def a_simplified_norm(m):
    return m.op("SimplifiedLayerNormalization", m.input(2, 3, 4), m.weights(4), epsilon=1e-3)


@case()
def a_triangle(m):
    return fused(m, "Trilu", m.input(4, 5), m.const(1, np.int64), upper=0)


@case()
def attention_of_heads(m):
    x, w, b = m.input(1, 3, 8), m.weights(8, 24), m.weights(24)
    return fused(m, "Attention", x, w, b, num_heads=2)


@case()
def attention_of_uneven_parts_to_what_was_before(m):
    x, w, b = m.input(1, 3, 8), m.weights(8, 20), m.weights(20)
    attrs = {"num_heads": 2, "unidirectional": 1, "qkv_hidden_sizes": [8, 8, 4], "scale": 0.3}
    return fused(m, "Attention", x, w, b, **attrs)


@case()
def attention_with_a_bias_on_its_scores(m):
    x, w, b = m.input(1, 3, 8), m.weights(8, 24), m.weights(24)
    return fused(m, "Attention", x, w, b, "", "", m.weights(1, 2, 3, 3), num_heads=2)


@case()
def attention_of_several_inputs(m):
    parts = m.input(1, 3, 8), m.input(1, 5, 8, name="k"), m.input(1, 5, 8, name="v")
    return fused(m, "MultiHeadAttention", *parts, m.weights(24), num_heads=4)


@case()
def attention_of_several_inputs_without_a_bias(m):
    parts = m.input(1, 3, 8), m.input(1, 5, 8, name="k"), m.input(1, 5, 8, name="v")
    return fused(m, "MultiHeadAttention", *parts, num_heads=2)


@case(23)
def attention_of_onnx(m):
    parts = [m.input(1, 2, 3, 4), *(m.input(1, 2, 5, 4, name=name) for name in "kv")]
    return m.op("Attention", *parts, m.weights(3, 5), scale=0.4)


@case(23)
def attention_of_onnx_to_what_was_before(m):
    parts = [m.input(1, 3, 8, name=name) for name in "xkv"]
    return m.op("Attention", *parts, is_causal=1, q_num_heads=2, kv_num_heads=2)


@case(23)
def rotated_places(m):
    angles = m.weights(3, 2), m.weights(3, 2)
    return m.op("RotaryEmbedding", m.input(1, 2, 3, 4), *angles, m.const([[2, 0, 1]], np.int64))


def turned(m, shape, places, pairs=2, **attrs):
    caches = m.weights(9, pairs), m.weights(9, pairs)
    places = m.const(places, np.int64)
    return fused(m, "RotaryEmbedding", m.input(*shape), places, *caches, **attrs)


@case()
def turned_heads(m):
    return turned(m, (2, 3, 12), [[2, 0, 1], [8, 7, 3]])


@case()
def turned_neighbours_from_a_place_on(m):
    return turned(m, (2, 3, 12), [4], interleaved=1)


@case()
def turned_heads_that_come_first(m):
    return turned(m, (1, 2, 3, 4), [5])


@case()
def turned_neighbours_of_some_numbers(m):
    shape = (1, 2, 3, 6)
    return turned(m, shape, [[2, 0, 1]], interleaved=1, num_heads=2, rotary_embedding_dim=4)


@case()
def turned_parts_of_heads(m):
    return turned(m, (2, 3, 12), [[2, 0, 1], [8, 7, 3]], num_heads=2, rotary_embedding_dim=4)


@case(12)
def turns_in_an_older_model(m):
    """What it stands for is read as today, though axes were attributes then."""
    return turned(m, (1, 3, 8), [[2, 0, 1]], interleaved=1, num_heads=2, rotary_embedding_dim=4)


@case(18)
def a_cut_around_the_centre(m):
    return m.op("CenterCropPad", m.input(3, 7), m.ints(5, 4))


@case(18)
def windows(m):
    """Each function's attributes have values by default."""
    found = [m.op(f"{kind}Window", m.const(9, np.int64)) for kind in ("Hann", "Blackman")]
    found.append(m.op("HammingWindow", m.const(9, np.int64), periodic=0))
    return m.op("Sum", m.input(2, 9), *found)


for name in ("Affine", "ParametricSoftplus", "ScaledTanh"):

    def trial(m, name=name):
        return m.op(name, m.input(3, 4), alpha=0.5, beta=0.2)

    trial.__name__ = f"trial_{name}"
    case(7)(trial)


@case(7)
def a_scaled_image(m):
    return m.op("ImageScaler", m.input(1, 3, 4, 5), scale=0.5, bias=[0.1, 0.2, 0.3])


def saved(m, y, tmp_path):
    proto = m.model(y)
    proto.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    if m.opset > 21:
        proto.ir_version = 10
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.mark.parametrize("name", CASES)
def test_it_equals_onnxruntime(name, tmp_path):
    build, opset = CASES[name]
    m = OnnxModel(opset)
    assert_matches(saved(m, build(m), tmp_path), tolerance=2e-5)


def test_embeddings_of_tokens_places_and_segments(tmp_path):
    rng = np.random.default_rng(0)
    for has_segments, places in ((True, ()), (False, ()), (True, (4, 0, 2)), (False, (1, 1, 3))):
        m = OnnxModel(18)
        ids, segments = m.input(1, 3, name="ids", dtype=I32), ""
        tables = [m.weights(6, 4), m.weights(5, 4), ""]
        if has_segments:
            segments, tables[2] = m.input(1, 3, name="segments", dtype=I32), m.weights(2, 4)
        norm = m.weights(4), m.weights(4)
        given = ("", m.const([places], np.int32)) if places else ()
        y = fused(m, "EmbedLayerNormalization", ids, segments, *tables, *norm, *given, outputs=2)
        path = saved(m, y, tmp_path)
        feeds = {"ids": rng.integers(0, 6, (1, 3), np.int32)}
        if has_segments:
            feeds["segments"] = rng.integers(0, 2, (1, 3), np.int32)
        (found,) = evaluate(read_onnx(path), feeds).values()
        assert_close(found, expected(path, feeds)[0])


def test_images_with_channels_last_give_what_others_give(tmp_path):
    m = OnnxModel(18)
    x, w, b = m.input(1, 7, 5, 3), m.weights(4, 3, 3, 2), m.weights(4)
    attrs = {"activation": "Relu", "strides": [2, 1]}
    y = fused(m, "NhwcFusedConv", x, w, b, **attrs)
    data = np.random.default_rng(0).standard_normal((1, 7, 5, 3)).astype(np.float32)
    (found,) = evaluate(read_onnx(saved(m, y, tmp_path)), {"x": data}).values()
    m = OnnxModel(18)
    y = fused(m, "FusedConv", *image(m), **attrs)
    (other,) = expected(saved(m, y, tmp_path), {"x": data.transpose(0, 3, 1, 2)})
    assert_close(found, other.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("given", [{"alpha": 0.3}, {"beta": 0.4}, {}])
def test_a_parameter_that_is_not_given_is_the_activations_own(given, tmp_path):
    m = OnnxModel(18)
    activation = {f"activation_{name}": number for name, number in given.items()}
    operands = m.input(3, 4), m.weights(4, 5), m.weights(5)
    path = saved(
        m, fused(m, "FusedGemm", *operands, activation="HardSigmoid", **activation), tmp_path
    )
    feeds = {"x": np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)}
    (found,) = evaluate(read_onnx(path), feeds).values()
    m = OnnxModel(18)
    operands = m.input(3, 4), m.weights(4, 5), m.weights(5)
    y = m.op("HardSigmoid", m.op("Gemm", *operands), **given)
    assert_close(found, expected(saved(m, y, tmp_path), feeds)[0])


REFUSED = {
    "limits of a product": (
        lambda m: fused(
            m, "FusedGemm", m.input(3, 4), m.weights(4, 5), activation="Clip",
            activation_alpha=-0.2, activation_beta=0.6,
        ),
        "FusedGemm with the activation Clip",
    ),
    "another activation": (
        lambda m: fused(m, "FusedConv", *image(m), activation="Softplus"),
        "FusedConv with the activation Softplus",
    ),
    "one limit": (
        lambda m: fused(m, "FusedConv", *image(m), activation="Clip", activation_params=[0.5]),
        "FusedConv with the activation Clip",
    ),
    "a turned batch": (
        lambda m: fused(m, "FusedMatMul", m.input(2, 3, 4), m.weights(4, 5), transBatchA=1),
        "FusedMatMul that turns the dimensions of the batch",
    ),
    "a mask": (
        lambda m: fused(
            m, "Attention", m.input(1, 3, 8), m.weights(8, 24), m.weights(24),
            m.input(1, 3, name="mask", dtype=I32), num_heads=2,
        ),
        "Attention with the input 'mask'",
    ),
    "packed samples": (
        lambda m: turned(m, (2, 3, 12), [4], is_packed_batching=1),
        "RotaryEmbedding with is_packed_batching or scale",
    ),
    "parts in one": (
        lambda m: fused(m, "MultiHeadAttention", m.input(1, 3, 2, 3, 4), num_heads=2),
        r"MultiHeadAttention of \[\(1, 3, 2, 3, 4\), \(\), \(\)\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_forms_are_refused(name, tmp_path):
    build, says = REFUSED[name]
    m = OnnxModel(18)
    with pytest.raises(UnsupportedError, match=says):
        read_onnx(saved(m, build(m), tmp_path))


def test_heads_smaller_than_their_angles_are_refused(tmp_path):
    m = OnnxModel(18)
    y = turned(m, (2, 3, 3), [4])
    with pytest.raises(ModelFormatError, match=r"RotaryEmbedding of \[2, 3, 3\] by 2 angles"):
        read_onnx(saved(m, y, tmp_path))


def test_a_scale_of_angles_is_refused(tmp_path):
    m = OnnxModel(18)
    with pytest.raises(UnsupportedError, match="is_packed_batching or scale"):
        read_onnx(saved(m, turned(m, (2, 3, 12), [4], scale=2.0), tmp_path))


def test_heads_of_different_size_are_refused(tmp_path):
    m = OnnxModel(18)
    y = fused(m, "Attention", m.input(1, 3, 8), m.weights(8, 24), m.weights(24), num_heads=3)
    with pytest.raises(ModelFormatError, match="3 heads of 8 numbers"):
        read_onnx(saved(m, y, tmp_path))


def test_every_fused_op_is_compared():
    built = set()
    for build, opset in CASES.values():
        m = OnnxModel(opset)
        build(m)
        built |= {(node.domain, node.op_type) for node in m.nodes}
    elsewhere = {(MICROSOFT, "EmbedLayerNormalization"), (MICROSOFT, "NhwcFusedConv")}
    elsewhere |= {("", "DFT"), ("", "STFT")}
    assert FUSED.keys() - built == elsewhere
