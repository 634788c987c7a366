"""Calling a model by the names that its author gave to inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.tflite.directory import Signature
from tinyrt.errors import DataError

if TYPE_CHECKING:
    from tinyrt.interpreter.interpreter import Interpreter


def ports_of(signatures: Mapping[str, Signature]) -> dict[str, dict[str, list[str]]]:
    """Signature key -> names of its ``inputs`` and ``outputs``."""
    return {
        key: {"inputs": list(signature.inputs), "outputs": list(signature.outputs)}
        for key, signature in signatures.items()
    }


def find_signature(signatures: Mapping[str, Signature], key: str | None) -> tuple[str, Signature]:
    """The signature of that key, or the only one where no key is given.

    Raises:
        DataError: there is no such signature.

    """
    if key is None and len(signatures) == 1:
        key = next(iter(signatures))
    if key is None or key not in signatures:
        raise DataError(
            f"there is no signature '{key}'",
            expected=", ".join(signatures) or "nothing: the file has no signatures",
            hint="use set_tensor and invoke where a file has no signatures",
        )
    return key, signatures[key]


class SignatureRunner:
    """``runner(name=array, ...)`` -> dict of outputs by name, as copies.

    Inputs may have another batch size than the model; tensors are allocated as needed.
    """

    def __init__(self, interpreter: Interpreter, key: str, signature: Signature) -> None:
        self._interpreter = interpreter
        self._key = key
        self._signature = signature

    def __call__(self, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Run the model once.

        Raises:
            DataError: names, shapes or dtypes differ from the signature's.

        """
        expected = self._signature.inputs
        if set(inputs) != set(expected):
            raise DataError(
                f"inputs are named {sorted(inputs)}",
                expected=f"{sorted(expected)}, the arguments of signature '{self._key}'",
            )
        arrays = {expected[name]: np.asarray(array) for name, array in inputs.items()}
        for index, array in arrays.items():
            self._interpreter.resize_tensor_input(index, array.shape)
        if not self._interpreter.allocated:
            self._interpreter.allocate_tensors()
        for index, array in arrays.items():
            self._interpreter.set_tensor(index, array)
        self._interpreter.invoke()
        outputs = self._signature.outputs
        return {name: self._interpreter.get_tensor(index) for name, index in outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """Name -> what ``Interpreter.get_input_details`` says."""
        return self._details(self._signature.inputs)

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """Name -> what ``Interpreter.get_output_details`` says."""
        return self._details(self._signature.outputs)

    def _details(self, ports: dict[str, int]) -> dict[str, dict[str, Any]]:
        tensors = self._interpreter.get_tensor_details()
        return {name: tensors[index] for name, index in ports.items()}
