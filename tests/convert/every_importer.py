"""Cases of every ONNX importer: those that ``test_every_importer_is_tested`` looks through."""

from tests.convert import test_onnx_breadth, test_onnx_forms, test_onnx_ops

CASES = {
    **{name: (build, opsets[-1]) for name, (build, opsets) in test_onnx_ops.CASES.items()},
    **test_onnx_breadth.CASES,
    **test_onnx_forms.CASES,
}
"""Name -> what builds the model, and the newest operator set that it is built for."""
