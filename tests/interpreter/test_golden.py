"""Every golden file, bit for bit, intermediates included."""

import numpy as np
import pytest

from tinyrt.interpreter import Interpreter, load

MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numba", "reference"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_and_intermediates(zoo, name, backend):
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    seen = {}
    interpreter = Interpreter(
        zoo / "models" / f"{name}_int8.tflite",
        backend=backend,
        on_op=lambda node, output: seen.__setitem__(node.index, output.copy()),
    )
    interpreter.allocate_tensors()
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    for sample, (given, expected) in enumerate(
        zip(golden["inputs"], golden["outputs"], strict=True)
    ):
        interpreter.set_tensor(x["index"], given)
        interpreter.invoke()
        np.testing.assert_array_equal(interpreter.get_tensor(y["index"]), expected)
        if sample == int(golden["intermediate_input_index"]):
            intermediates = {k: golden[k] for k in golden.files if k.startswith("op0") or "_t" in k}
            checked = [k for k in intermediates if k[2:4].isdigit()]
            assert len(checked) == len(interpreter.graph.nodes)
            for key in checked:
                np.testing.assert_array_equal(seen[int(key[2:4])], intermediates[key], key)


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_equals_its_samples(zoo, name):
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    inputs, outputs = golden["inputs"][:, 0], golden["outputs"][:, 0]
    np.testing.assert_array_equal(load(zoo / "models" / f"{name}_int8.tflite")(inputs), outputs)
