"""Ops in sizes around a vector, for cores with MVE, emulated or on this machine."""

from functools import partial

from tests.c.computed import LAYERS, computed
from tests.c.packed_cases import lstm, narrow_lstm, svdf
from tests.c.programs import drawn
from tests.ops.build import Built, Case, build_f32, build_s8, build_s16
from tests.ops.cases import CASES
from tests.ops.cases.windowed import pair
from tests.ops.corners import FAMILIES
from tests.ops.corners.given import Given, corner, q_of, spread
from tinyrt.backends.c.mve import cost
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.softmax import SoftmaxAttrs

ACTIVATIONS = ("NONE", "RELU", "RELU6")


def conv2d(rng):
    """Patches of 1 to 300 bytes, so that first bytes and numbers of blocks take all values."""
    h, w = rng.integers(4, 12, 2)
    kernel = (1, 1) if rng.random() < 0.3 else tuple(rng.integers(1, 5, 2))
    c_in, c_out = rng.integers(1, 20, 2)
    attrs = Conv2dAttrs(
        stride=tuple(int(s) for s in rng.integers(1, 3, 2)),
        padding="SAME" if rng.random() < 0.6 else "VALID",
        activation=str(rng.choice(ACTIVATIONS)),
    )
    return weighted("conv2d", attrs, (1, h, w, c_in), (c_out, *kernel, c_in), c_out)


def depthwise_conv2d(rng):
    """Up to three blocks of channels, windows of one line, of one column, and square ones."""
    h, w = rng.integers(5, 14, 2)
    kernel = [(3, 3), (3, 3), (5, 5), (1, 4), (4, 1), (2, 3)][rng.integers(6)]
    if rng.random() < 0.2:
        w, kernel = 1, (4, 1)
    channels = int(rng.choice([rng.integers(1, 25), 8, 16]))
    attrs = DepthwiseConv2dAttrs(
        stride=tuple(int(s) for s in rng.integers(1, 3, 2)),
        padding="SAME" if w < kernel[1] or rng.random() < 0.6 else "VALID",
        activation=str(rng.choice(ACTIVATIONS)),
    )
    return weighted(
        "depthwise_conv2d", attrs, (1, h, w, channels), (1, *kernel, channels), channels
    )


def depthwise_planes(rng):
    """Windows for the kernel of one channel after the other, in one band and in several."""
    kind = rng.random()
    padding = "SAME" if rng.random() < 0.6 else "VALID"
    if kind < 0.3:
        stride = int(rng.integers(1, 3))
        kernel, stride = (int(rng.integers(1, 17 - stride)), 1), (stride, int(rng.integers(1, 3)))
        h, w = int(rng.integers(kernel[0], 60)), 1
    else:
        kernel, strides = [((3, 3), (1, 2)), ((2, 4), (1,)), ((1, 2), (1,)), ((3, 1), (1,))][
            rng.choice(4, p=(0.7, 0.1, 0.1, 0.1))
        ]
        stride = (int(rng.choice(strides)),) * 2
        h, w = (int(s) for s in rng.integers(4, 50 if kind > 0.9 else 16, 2))
    if w > 1 and rng.random() < 0.5:
        h, w, kernel = w, h, kernel[::-1]
    channels = int(rng.choice([rng.integers(1, 20), 8, 16])) if h * w < 1000 else 9
    attrs = DepthwiseConv2dAttrs(stride, padding, activation=str(rng.choice(ACTIVATIONS)))
    images = int(rng.integers(1, 3)) if h * w < 200 else 1
    return weighted(
        "depthwise_conv2d", attrs, (images, h, w, channels), (1, *kernel, channels), channels
    )


def fully_connected(rng):
    """One to five rows."""
    rows, c_in, c_out = rng.integers(1, (6, 300, 20))
    attrs = FullyConnectedAttrs(activation=str(rng.choice(ACTIVATIONS)))
    return weighted("fully_connected", attrs, (rows, c_in), (c_out, c_in), c_out)


def grouped(rng):
    """Two or three groups, whose channels are whole vectors or not."""
    groups, c_in, c_out = int(rng.integers(2, 4)), *rng.integers(1, 9, 2)
    attrs = Conv2dAttrs(activation=str(rng.choice(ACTIVATIONS)))
    channels = groups * int(rng.choice([c_out, 4, 8]))
    shapes = (1, *rng.integers(2, 7, 2), groups * c_in), (channels, *rng.integers(1, 4, 2), c_in)
    return weighted("conv2d", attrs, *shapes, channels)


def wide_weighted(rng):
    """Convolutions of int16, plain, grouped and depthwise, and dense layers."""
    return (conv2d, grouped, depthwise_conv2d, fully_connected)[rng.integers(4)](rng)


def add(rng):
    """Lengths around four, and repeated operands."""
    y = tuple(rng.integers(1, 9, 3))
    repeated = tuple(int(d) if rng.random() < 0.5 else 1 for d in y)
    shapes = [y, y if rng.random() < 0.5 else repeated]
    return Case(
        "add", AddAttrs(str(rng.choice(ACTIVATIONS))), plain(shapes[:: rng.choice([1, -1])])
    )


def wide_pair(rng):
    """Sums, differences and products of int16: rows around four, and repeated operands."""
    op, attrs = [("add", AddAttrs), ("sub", AddAttrs), ("mul", MulAttrs)][rng.integers(3)]
    return Case(op, attrs(str(rng.choice(ACTIVATIONS))), add(rng).shapes)


def average_pool2d(rng):
    """Windows of up to 400 elements: more than 16 bits hold."""
    h, w = rng.integers(1, 21, 2)
    attrs = Pool2dAttrs(kernel=(int(h), int(w)), padding="VALID")
    return Case(
        "average_pool2d", attrs, plain([(1, h + 1, w + rng.integers(2), rng.integers(1, 20))])
    )


def max_pool2d(rng):
    """Up to three vectors of channels."""
    case = average_pool2d(rng)
    shape = (*case.shapes[0][:3], int(rng.integers(1, 40)))
    attrs = Pool2dAttrs(
        kernel=pair(rng, 1, 3), stride=pair(rng, 1, 2), padding="SAME", activation="RELU6"
    )
    return Case("max_pool2d", attrs, (shape,))


def few_averages(rng):
    """Windows of up to 22 elements, of which some lie outside."""
    window = [pair(rng, 1, 4), (3, 7), (11, 2), (1, 22)][rng.choice(4, p=(0.7, 0.1, 0.1, 0.1))]
    attrs = Pool2dAttrs(window, pair(rng, 1, 3), "SAME", str(rng.choice(ACTIVATIONS)))
    return Case(
        "average_pool2d", attrs, plain([(*rng.integers(1, (3, 8, 8)), rng.integers(1, 30))])
    )


def wide_pool(rng):
    """Pools of int16: up to three vectors of channels, windows of 362 elements, and of more."""
    op = str(rng.choice(["max_pool2d", "average_pool2d"]))
    if rng.random() < 0.3:
        window = [(2, 181), (363, 1), (20, 19)][rng.integers(3)]
        attrs = Pool2dAttrs(window, padding="VALID")
        return Case(op, attrs, plain([(1, *window, rng.integers(1, 10))]))
    case = few_averages(rng)
    return Case(op, case.attrs, case.shapes)


def softmax(rng):
    """Rows around one and two vectors, and longer ones."""
    length = rng.integers(1, 12) if rng.random() < 0.7 else rng.integers(12, 200)
    attrs = SoftmaxAttrs(float(rng.choice([0.25, 1.0, 3.0])))
    return Case("softmax", attrs, plain([(rng.integers(1, 5), length)]))


def batch_matmul(rng):
    """Either operand turned or not; columns around four and sixteen, products around a vector."""
    adj_x, adj_y = (bool(flag) for flag in rng.integers(0, 2, 2))
    rows, columns, inner = (int(n) for n in rng.integers(1, (6, 40, 70)))
    a = (inner, rows) if adj_x else (rows, inner)
    b = (columns, inner) if adj_y else (inner, columns)
    batch = [((), ()), ((2,), (2,)), ((3, 1), (2,)), ((1, 2), (3, 2))][rng.integers(4)]
    return Case("batch_matmul", BatchMatmulAttrs(adj_x, adj_y), (batch[0] + a, batch[1] + b))


def recurrent(rng):
    """An LSTM or an SVDF: units, inputs and memories of one vector, of some, and in between."""
    return lstm(rng) if rng.random() < 0.5 else svdf(rng)


def one_inside(rng):
    """Windows of many elements, of which one or two lie inside."""
    window = int(rng.integers(23, 30)), int(rng.integers(1, 3))
    attrs = Pool2dAttrs(window, padding="SAME", activation=str(rng.choice(ACTIVATIONS)))
    return Case("average_pool2d", attrs, plain([(1, 1, 2, rng.integers(1, 20))]))


def far_apart(rng):
    """Several bands of lines that share none."""
    channels = int(rng.integers(1, 12))
    shapes = (1, 60, 20, channels), (1, 2, 3, channels)
    return weighted("depthwise_conv2d", DepthwiseConv2dAttrs((3, 3), "VALID"), *shapes, channels)


def plain(shapes):
    return tuple(tuple(int(d) for d in shape) for shape in shapes)


def weighted(op, attrs, x, w, channels):
    return Case(op, attrs, plain([x, w, (channels,)]), frozenset({1, 2}))


def _named(*cases):
    return {case.__name__: case for case in cases}


INT8 = _named(
    *(conv2d, depthwise_conv2d, fully_connected, recurrent, grouped, add),
    *(average_pool2d, few_averages, max_pool2d, batch_matmul),
)
INT16 = _named(wide_weighted, wide_pair, wide_pool, softmax, lstm)
SIGNALS = tuple(op for op in CASES if op.startswith("signal_"))
FLOATS = (
    *("conv2d", "depthwise_conv2d", "transpose_conv", "fully_connected", "batch_matmul"),
    *SIGNALS,
)
OTHERS = ("arg_max", "concatenation", "logistic", "mean", "mul", "relu", "softmax", "sub")

_LAYERS = ("conv2d", "depthwise_conv2d", "fully_connected")
_POOLS = ("average_pool2d", "max_pool2d")
CORNERS = {
    "elementwise": ("add", "sub", "mul", "maximum", "minimum", "logistic"),
    "layers": (*_LAYERS, *_POOLS),
    "int4 layers": _LAYERS,
    "moving": ("pad",),
    "reducing": ("arg_max", "batch_matmul", "mean", "softmax", "sum"),
    "wide": ("add", "sub", "mul", "logistic", "tanh", "softmax", *_LAYERS, *_POOLS),
    "floats": (*_LAYERS, "batch_matmul", *SIGNALS),
}
"""Family -> ops that cores with MVE have kernels of their own for."""


WHOLE = {*SIGNALS, "arg_max", "batch_matmul"}
"""Ops with a few cases, most of which take a way of their own."""


def corners(step: int) -> dict[str, Built]:
    """Of each of these ops, every so many-th corner case and the last one; of some, all."""
    made: dict[str, Built] = {}
    for family, ops in CORNERS.items():
        found = FAMILIES[family]()
        for op in ops:
            names = [name for name in found if name.split(":")[0] == op]
            picked = names if op in WHOLE else [*names[::step], *names[-1:]]
            made |= {f"{family} {name}": found[name] for name in picked}
    return made


def columns() -> dict[str, Built]:
    """Columns of two images, whose sums are multiplied by numbers with shifts of 2, 1 and -1."""
    x = Given(spread((2, 3, 4, 9), step=5) // 16, 0.5, -3)
    return {
        f"mean: columns of two images, {factor} of their sums": corner(
            "mean", MeanAttrs((1, 2)), [x], q_of(0.5 / 12 / factor, 7)
        )
        for factor in (1.5, 0.75, 0.25)
    }


def two_blocks(rng):
    """Two blocks of sixteen columns, and one column more."""
    del rng
    return Case("batch_matmul", BatchMatmulAttrs(), ((2, 3, 5), (2, 5, 33)))


def of_mve(count: int, step: int) -> dict[str, Built]:
    """So many random cases of each kind, and every so many-th corner case."""
    return {
        **drawn("int8", INT8, range(count), build_s8),
        **drawn("more", _named(one_inside, far_apart), range(2), build_s8),
        **drawn("int4", _named(lstm), range(count), narrow_lstm),
        **drawn("int16", INT16, range(count + 1), build_s16),
        **drawn("float", {op: CASES[op] for op in FLOATS}, range(3), build_f32),
        **drawn(
            "computed", {op: CASES[op] for op in LAYERS}, range(2), partial(computed, build_s8)
        ),
        **drawn("others", {op: CASES[op] for op in OTHERS}, range(2), build_s8),
        **corners(step),
        **columns(),
        **drawn("blocks", _named(two_blocks), range(1), build_s8),
    }


def of_planes(count: int) -> dict[str, Built]:
    """Layers one channel after the other, once ``by_planes`` has them so."""
    return drawn("planes", _named(depthwise_planes), range(count), build_s8)


def by_planes(patched) -> None:
    """Have layers computed one channel after the other, faster or not."""
    patched.setattr(cost, "eights_cost", lambda node, window: 2**31)
