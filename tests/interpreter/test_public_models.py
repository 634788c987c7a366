"""Models of other projects, as they are published, against tflite-micro's answers."""

import numpy as np
import pytest

from tests.sampling import sampled
from tinyrt.interpreter import Interpreter
from tools.zoo import published

MODELS = [s.file for s in published() if s.file.startswith("models/public/")]
BY_LITERT = {"ai-edge-quantizer__mnist_quantized"}
"""Models with a zero point for each channel, of which TFLM takes the first for all."""


@pytest.mark.parametrize(
    "file", MODELS[:: sampled(2, 1)], ids=lambda f: f.removeprefix("models/public/")[:-7]
)
def test_public_models_answer_what_the_device_does(zoo, file):
    path = zoo / file
    answers = np.load(path.with_suffix(".npz"))
    samples = len({key.split("_")[0] for key in answers.files if key.startswith("in")})
    for sample in range(samples):
        interpreter = Interpreter(path)  # a fresh state
        interpreter.allocate_tensors()
        feeds = [answers[f"in{sample}_{i}"] for i in range(len(interpreter.get_input_details()))]
        found = run(interpreter, feeds)
        expected = [answers[f"tflm{sample}_{o}"] for o in range(len(found))]
        if path.stem in BY_LITERT:
            expected = run(litert_of(path), feeds)
        for mine, theirs in zip(found, expected, strict=True):
            if theirs.dtype.kind == "f":
                largest = float(np.nanmax(np.abs(theirs), initial=0))
                np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5 * largest)
            else:
                np.testing.assert_array_equal(mine, theirs)


def run(interpreter, feeds):
    for detail, x in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def litert_of(path):
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")
    reference = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=reference)
    interpreter.allocate_tensors()
    return interpreter
