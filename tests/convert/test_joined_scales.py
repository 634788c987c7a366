"""Concatenations on uint8 of inputs on other scales than their output, against LiteRT's kernel."""

import ai_edge_litert.interpreter as litert
import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import ConversionWarning, VerifyError

CODES = np.arange(256, dtype=np.uint8)
GRIDS = [
    *((0.5, 128), (0.5, 0), (0.25, 128), (1.0, 255), (0.1, 3), (0.3, 200), (1 / 3, 77)),
    *((0.0078125, 128), (0.00392157, 0), (40.0, 17), (1e-6, 99), (0.125, 1), (0.75, 254)),
]
"""Scales and zero points of inputs: powers of two, which make ties, and others."""

OUTPUTS = [(0.5, 128), (0.25, 7), (0.0234, 0), (1.7, 255), (0.1, 128)]


def joined(inputs, output, length=256, dtype="UINT8", constants=()):
    """Rows of several scales, one behind the other."""
    tensors = [
        Tensor(f"x{i}", (1, length), dtype, CODES[None] if i in constants else None, *grid)
        for i, grid in enumerate(inputs)
    ]
    tensors.append(Tensor("y", (1, length * len(inputs)), dtype, None, *output))
    names = [t.name for t in tensors[:-1]]
    op = Op("CONCATENATION", names, ["y"], "ConcatenationOptions", {"Axis": 1})
    fed = [n for i, n in enumerate(names) if i not in constants]
    return build(Subgraph(tensors, [op], fed, ["y"]))


def answer(interpreter, x):
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], x.reshape(detail["shape"]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def litert_answer(data, x):
    kind = litert.OpResolverType.BUILTIN_REF
    return answer(litert.Interpreter(model_content=data, experimental_op_resolver_type=kind), x)


def random_grids(count, seed):
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.uniform(-6, 3, count))
    return list(zip(scales.tolist(), rng.integers(0, 256, count).tolist(), strict=True))


@pytest.mark.parametrize("output", [*OUTPUTS, *random_grids(sampled(1, 10), 0)])
def test_every_code_of_many_scales_is_rescaled_as_in_litert(output):
    data = joined([*GRIDS, *random_grids(sampled(50, 120), 1), output], output)
    ours = answer(tinyrt.Interpreter(model_content=data), CODES)
    np.testing.assert_array_equal(ours, litert_answer(data, CODES), strict=True)
    np.testing.assert_array_equal(ours[0, -256:], CODES)


@pytest.mark.parametrize("backend", ["reference", "numba", "native"])
def test_converting_changes_no_answer_on_any_backend(backend, tmp_path):
    """One input twice, one on the output's scale, one constant, whose rescaling is known."""
    source, target = tmp_path / "unsigned.tflite", tmp_path / "signed.tflite"
    source.write_bytes(
        joined([GRIDS[4], GRIDS[5], OUTPUTS[0], GRIDS[6]], OUTPUTS[0], constants=[1])
    )
    tinyrt.convert_model(source, target)
    expected = litert_answer(source.read_bytes(), CODES)
    for path in (source, target):
        found = answer(tinyrt.Interpreter(path, backend=backend), CODES)
        np.testing.assert_array_equal(found, expected, strict=True)


def test_only_inputs_on_other_scales_are_rescaled():
    graph = parse_tflite(joined([GRIDS[4], OUTPUTS[0], (0.5, 127)], OUTPUTS[0]))
    *_, join, _ = graph.nodes
    assert join.op == "concatenation"
    assert [graph.producer(name).attrs.legacy for name in join.inputs] == [True, False, True]


def test_scales_that_cannot_be_right_are_refused():
    with pytest.raises(VerifyError, match="scales of inputs and output differ by a factor"):
        parse_tflite(joined([(1e20, 1)], (1e-10, 1)))


def test_int8_is_not_rescaled_and_refused():
    """LiteRT refuses it too; its numbers would be wrong."""
    with pytest.raises(VerifyError, match="differ from"):
        parse_tflite(joined([(0.5, 1), (0.25, 1)], (0.5, 1), dtype="INT8"))


OTHERS = {
    "PACK": ("PackOptions", {"ValuesCount": 2, "Axis": 0}),
    "REVERSE_SEQUENCE": ("ReverseSequenceOptions", {"SeqDim": 1, "BatchDim": 0}),
}
"""Ops that become joins: LiteRT refuses the one, and copies integers in the other."""


@pytest.mark.parametrize("builtin", OTHERS)
def test_other_ops_that_become_joins_rescale_nothing(builtin):
    table, fields = OTHERS[builtin]
    tensors = [
        Tensor("a", (2, 4), "UINT8", None, 0.5, 3),
        Tensor("b", (2, 4), "UINT8", None, 0.5, 3),
    ]
    shape = (2, 2, 4) if builtin == "PACK" else (2, 4)
    if builtin != "PACK":
        tensors[1] = Tensor("b", (2,), "INT32", np.array([2, 4], np.int32))
    tensors.append(Tensor("y", shape, "UINT8", None, 0.25, 3))
    fed = [t.name for t in tensors[:2] if t.data is None]
    op = Op(builtin, ["a", "b"], ["y"], table, fields)
    data = build(Subgraph(tensors, [op], fed, ["y"]))
    x = np.arange(100, 108, dtype=np.uint8)
    with pytest.warns(ConversionWarning, match="integers move to another scale"):
        found = answer(tinyrt.Interpreter(model_content=data), x)
    if builtin == "PACK":
        np.testing.assert_array_equal(found, np.stack([x.reshape(2, 4)] * 2))
    else:
        np.testing.assert_array_equal(found, litert_answer(data, x))
