"""ONNX ops beyond the common ones against onnxruntime, each in the forms that exporters write."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest

from tests.convert.onnx_build import OnnxModel, assert_matches
from tinyrt.convert.onnx.pointwise import PLAIN

Case = Callable[[OnnxModel], str]

CASES: dict[str, tuple[Case, int]] = {}


def case(build: Case, opset: int = 18, name: str = "") -> Case:
    CASES[name or build.__name__] = (build, opset)
    return build


def at(opset: int) -> Callable[[Case], Case]:
    return lambda build: case(build, opset)


def one_input(op: str, positive: bool = False, opset: int = 18, **attrs) -> None:
    def build(m):
        x = m.op("Mul", m.input(2, 3, 4), m.const(2.0))
        x = m.op("Add", m.op("Abs", x), m.const(0.1)) if positive else x
        return m.op(op, x, **attrs)

    case(build, opset, "_".join([op, *map(str, attrs.values())]))


POSITIVE = ("Log", "Reciprocal", "Sqrt")
WRITTEN_OUT = ("Asinh", "Atan", "Cosh", "Mish", "Selu", "Sinh", "Softplus", "Softsign", "Tan")
for simple in sorted({*PLAIN, *WRITTEN_OUT, *POSITIVE}):
    one_input(simple, positive=simple in POSITIVE)
one_input("Celu", alpha=2.0)
one_input("Elu")
one_input("Elu", alpha=0.3)
one_input("Gelu", opset=20)
one_input("Gelu", opset=20, approximate="tanh")
one_input("HardSigmoid", alpha=0.3, beta=0.4)
one_input("LeakyRelu", alpha=0.3)
one_input("Selu", alpha=1.5, gamma=1.2)
one_input("Shrink", bias=0.2, lambd=0.7)
one_input("ThresholdedRelu", alpha=0.5)
one_input("LogSoftmax", axis=1)
one_input("LpNormalization", axis=1, p=1)
one_input("LpNormalization", axis=-1, p=2)

REDUCTIONS = ("L1", "L2", "LogSumExp", "Max", "Min", "Prod", "Sum", "SumSquare")
for kind in REDUCTIONS:
    case(
        lambda m, kind=kind: m.op(f"Reduce{kind}", m.input(2, 3, 4), m.ints(1, -1), keepdims=0),
        18,
        f"Reduce{kind}",
    )
    case(lambda m, kind=kind: m.op(f"Reduce{kind}", m.input(2, 3, 4)), 18, f"Reduce{kind}_all")
one_input("ReduceLogSum", positive=True)


@case
def places_of_extrema(m):
    x = m.input(2, 3, 4)
    most, least = m.op("ArgMax", x, axis=1), m.op("ArgMin", x, axis=-2)
    return m.op("Sub", m.op("Cast", most, to=1), m.op("Cast", least, to=1))


@case
def largest_of_rows(m):
    return m.op("TopK", m.input(2, 3, 7), m.ints(3), outputs=2)


@case
def smallest_of_columns(m):
    return m.op("TopK", m.input(2, 7, 3), m.ints(7), axis=1, largest=0, outputs=2)


@case
def places_of_the_largest(m):
    values = m.op("TopK", m.input(2, 7, 3), m.ints(2), axis=-2, outputs=2)
    return m.op("Add", values, m.op("Cast", f"{values}_1", to=1))


@case
def pow_of_two_and_others(m):
    x = m.op("Abs", m.input(2, 5))
    powers = [m.op("Pow", x, m.const(e)) for e in (1.0, 2.0, 3.0, 0.5, 1.7)]
    return m.op("Sum", *powers)


@case
def pow_with_whole_exponents(m):
    return m.op("Pow", m.input(2, 5), m.ints(2))


@case
def pow_of_activations(m):
    return m.op("Pow", m.op("Exp", m.input(2, 5)), m.input(2, 5, name="y"))


@case
def division_of_activations(m):
    return m.op("Div", m.input(2, 5), m.op("Exp", m.input(2, 5, name="y")))


@case
def division_of_a_constant(m):
    return m.op("Div", m.weights(5), m.op("Exp", m.input(2, 5)))


@case
def mean_of_three(m):
    return m.op("Mean", m.input(2, 5), m.input(2, 5, name="y"), m.weights(5))


@case
def prelu_per_channel(m):
    return m.op("PRelu", m.input(1, 3, 5, 4), m.weights(3, 1, 1))


@case
def prelu_after_conv(m):
    x = m.op("Conv", m.input(1, 3, 6, 7), m.weights(5, 3, 3, 3))
    return m.op("PRelu", x, m.weights(5, 1, 1))


@case
def comparisons(m):
    x, y = m.input(2, 5), m.input(2, 5, name="y")
    either = m.op("Or", m.op("Less", x, y), m.op("GreaterOrEqual", x, m.const(0.7)))
    both = m.op("And", either, m.op("Not", m.op("Equal", x, y)))
    third = m.op("And", m.op("Greater", x, m.const(-2.0)), m.op("LessOrEqual", y, x))
    return m.op("Where", m.op("Or", both, third), x, m.op("Neg", y))


@case
def where_with_a_known_condition(m):
    condition = m.const([True, False, True, True, False], bool)
    return m.op("Where", condition, m.input(2, 5), m.const(-3.0))


@case
def where_between_doubles(m):
    x = m.op("Cast", m.input(2, 5), to=onnx.TensorProto.DOUBLE)
    below = m.op("Less", x, m.const(0.25, np.float64))
    return m.op("Cast", m.op("Where", below, m.const(-3.0, np.float64), x), to=1)


@case
def where_between_known_doubles(m):
    above = m.op("Greater", m.input(2, 5), m.const(0.0))
    y = m.op("Where", above, m.const(5.0, np.float64), m.const(3.0, np.float64))
    return m.op("Cast", y, to=1)


@case
def cast_of_a_comparison(m):
    return m.op("Cast", m.op("Greater", m.input(2, 5), m.const(0.0)), to=1)


@case
def what_is_no_number(m):
    x = m.input(2, 5)
    log, far = m.op("Log", x), m.op("Div", m.const(1.0), m.op("Relu", x))
    near = m.op("Where", m.op("IsInf", far, detect_negative=0), m.const(5.0), far)
    far_both = m.op("Cast", m.op("IsInf", far), to=1)
    kept = m.op("Where", m.op("IsNaN", log), m.const(-1.0), log)
    return m.op("Add", m.op("Add", kept, near), far_both)


@case
def leaky_relu_written_out(m):
    x = m.op("Conv", m.input(1, 3, 6, 7), m.weights(5, 3, 3, 3))
    above = m.op("Greater", x, m.const(0.0))
    return m.op("Where", above, x, m.op("Mul", x, m.const(0.1)))


@case
def mask_of_zeros_and_ones(m):
    x, mask = m.input(2, 5), m.input(2, 5, name="y")
    there = m.op("Cast", m.op("Greater", mask, m.const(0.0)), to=1)
    hidden = m.op("Mul", m.op("Sub", m.const(1.0), there), m.const(-100.0))
    return m.op("Add", m.op("Mul", x, there), hidden)


@case
def slices(m):
    x = m.input(3, 8, 9)
    return m.op("Slice", x, m.ints(1, -1), m.ints(100, -9), m.ints(1, 2), m.ints(2, -3))


@at(9)
def slices_by_attribute(m):
    return m.op("Slice", m.input(3, 8), starts=[1, -4], ends=[3, -1])


@at(18)
def split_in_two(m):
    first = m.op("Split", m.input(2, 7), m.ints(3, 4), outputs=2, axis=1)
    return m.op("Concat", first + "_1", first, axis=1)


@at(11)
def split_by_attribute(m):
    first = m.op("Split", m.input(2, 6), outputs=3, axis=1)
    return m.op("Sub", first + "_2", first + "_1")


@at(18)
def split_with_a_shorter_last_part(m):
    return m.op("Split", m.input(2, 7), outputs=3, axis=1, num_outputs=3) + "_2"


@case
def gather_scattered(m):
    return m.op("Gather", m.input(3, 5, 4), m.const([[0, -1], [3, 0]], np.int64), axis=1)


@case
def gather_places(m):
    places = m.const([[0, 1, 2], [1, -1, 0]], np.int64)
    return m.op("GatherND", m.input(2, 3, 4, 5), places)


@at(18)
def scatter_rows(m):
    return m.op("ScatterND", m.input(4, 5), m.const([[-2], [0]], np.int64), m.weights(2, 5))


@at(18)
def scatter_sums(m):
    places = m.const([[0, 1, 1], [0, 2, 1]], np.int64)
    return m.op("ScatterElements", m.input(3, 4), places, m.weights(2, 3), reduction="add")


@at(10)
def scatter(m):
    return m.op("Scatter", m.input(3, 4), m.const([[0, 2]], np.int64), m.weights(1, 2))


@case
def gather_one(m):
    return m.op("Gather", m.input(3, 5, 4), m.const(-2, np.int64), axis=1)


@case
def gather_every_other(m):
    return m.op("Gather", m.input(3, 5, 4), m.ints(0, 2, 4), axis=1)


@case
def expand(m):
    return m.op("Expand", m.input(3, 1, 4), m.ints(2, 1, 5, 1))


@case
def tile(m):
    return m.op("Tile", m.input(3, 4), m.ints(2, 3))


@case
def depth_to_space(m):
    return m.op("DepthToSpace", m.input(1, 12, 3, 5), blocksize=2)


@case
def depth_to_space_crd(m):
    return m.op("DepthToSpace", m.input(1, 12, 3, 5), blocksize=2, mode="CRD")


@case
def space_to_depth(m):
    return m.op("SpaceToDepth", m.input(1, 3, 4, 6), blocksize=2)


def resize(name: str, mode: str, scales: tuple[float, float], **attrs) -> None:
    def build(m):
        return m.op("Resize", m.input(1, 3, 4, 6), "", m.const([1, 1, *scales]), mode=mode, **attrs)

    case(build, 18, f"resize_{name}")


for coordinates in ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"):
    key = "coordinate_transformation_mode"
    resize(f"linear_{coordinates}", "linear", (2, 1.5), **{key: coordinates})
    for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
        attrs = {key: coordinates, "nearest_mode": rounding}
        resize(f"nearest_{coordinates}_{rounding}", "nearest", (2, 1.5), **attrs)


@case
def resize_to_sizes(m):
    return m.op("Resize", m.input(1, 3, 4, 6), "", "", m.ints(1, 3, 7, 3), mode="linear")


@at(10)
def resize_of_opset_10(m):
    return m.op("Resize", m.input(1, 3, 4, 6), m.const([1, 1, 2, 3.0]))


@at(9)
def upsample(m):
    return m.op("Upsample", m.input(1, 3, 4, 6), m.const([1, 1, 2, 3.0]))


@at(17)
def layer_normalization(m):
    return m.op("LayerNormalization", m.input(2, 3, 8), m.weights(8), m.weights(8))


@at(17)
def layer_normalization_of_two_dimensions(m):
    return m.op("LayerNormalization", m.input(2, 3, 8), m.weights(3, 8), axis=1)


@case
def instance_normalization(m):
    return m.op("InstanceNormalization", m.input(2, 3, 5, 4), m.weights(3), m.weights(3))


@at(21)
def group_normalization(m):
    x = m.input(2, 6, 5, 4)
    return m.op("GroupNormalization", x, m.weights(6), m.weights(6), num_groups=3)


@at(23)
def rms_normalization(m):
    return m.op("RMSNormalization", m.input(2, 3, 8), m.weights(8))


@case
def mean_variance_normalization(m):
    return m.op("MeanVarianceNormalization", m.input(2, 3, 5, 4))


@case
def local_response_normalization(m):
    return m.op("LRN", m.input(1, 7, 5, 4), size=3, alpha=0.1, beta=0.6, bias=1.2)


@case
def lp_pool(m):
    window = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 0, 1]}
    x = m.input(1, 3, 8, 6)
    return m.op("Sum", *(m.op("LpPool", x, p=p, **window) for p in (1, 2, 3)))


@case
def products_of_activations(m):
    x, y = m.input(2, 3, 4), m.input(2, 4, 5, name="y")
    return m.op("MatMul", x, y)


@case
def products_with_many_matrices(m):
    return m.op("MatMul", m.input(2, 3, 4), m.weights(2, 4, 5))


@case
def product_of_two_vectors(m):
    return m.op("MatMul", m.input(2, 3, 4), m.input(4, name="y"))


@case
def gemm_of_activations(m):
    x, y = m.input(4, 3), m.input(5, 4, name="y")
    return m.op("Gemm", x, y, m.weights(5), transA=1, transB=1, alpha=0.5)


@case
def attention(m):
    q, k = m.input(1, 2, 5, 4), m.input(1, 2, 6, 4, name="k")
    scores = m.op("MatMul", q, m.op("Transpose", k, perm=[0, 1, 3, 2]))
    return m.op("MatMul", m.op("Softmax", m.op("Mul", scores, m.const(0.5))), k)


@pytest.mark.parametrize("name", CASES)
def test_matches_onnxruntime(name, tmp_path):
    build, opset = CASES[name]
    model = OnnxModel(opset)
    # erf by a formula, and quotients of small differences, lose a digit.
    assert_matches(model.save(tmp_path, build(model)), tolerance=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
def test_layer_normalization_gives_its_statistics(axis, tmp_path):
    m = OnnxModel(17)
    attrs = {"outputs": 3, "axis": axis}
    y = m.op("LayerNormalization", m.input(2, 3, 8), m.weights(*(2, 3, 8)[axis:]), **attrs)
    assert_matches(m.save(tmp_path, y, y + "_1", y + "_2"), tolerance=1e-4)
