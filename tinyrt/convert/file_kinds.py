"""Files that users take for models, and what to do with each."""

from __future__ import annotations

from pathlib import Path

from tinyrt.errors import ModelFormatError

_KERAS = "tf.lite.TFLiteConverter.from_keras_model(model).convert() writes a .tflite file"
_TORCH = "torch.onnx.export(model.eval(), (example,), 'model.onnx') writes an ONNX file"

BEGINNINGS: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "run 'git lfs pull'"),
    (b"<!doctype html", "a web page", "download the file itself: pages show it behind a link"),
    (b"<html", "a web page", "download the file itself: pages show it behind a link"),
    (b"\x89hdf\r\n", "an HDF5 file, as Keras writes", _KERAS),
    (b"pk\x03\x04", "a ZIP archive, as PyTorch and Keras write", f"{_TORCH}; {_KERAS}"),
    (b"\x80\x02", "a pickle, as PyTorch writes", _TORCH),
    (b"\x1f\x8b", "a gzip archive", "unpack it"),
)  # fmt: skip
"""How a file begins, in lower case; what it is; what to do."""

LONGEST = max(len(beginning) for beginning, _, _ in BEGINNINGS)


def refuse_foreign(path: Path, beginning: bytes) -> None:
    """Raise ``ModelFormatError`` for files that are known to be no models of either format.

    Args:
        path: a file, or a folder.
        beginning: its first bytes, ``LONGEST`` of them; none of what is no file.

    """
    if path.exists() and not path.is_dir() and not path.is_file():
        raise ModelFormatError(
            "this is a device, a pipe or a socket",
            file=str(path),
            expected="a .tflite file, or a file named *.onnx",
            hint="write the model to a file",
        )
    if path.is_dir():
        saved = (path / "saved_model.pb").exists()
        raise ModelFormatError(
            "this is a TensorFlow SavedModel" if saved else "this is a folder",
            file=str(path),
            expected="a .tflite file, or a file named *.onnx",
            hint="tf.lite.TFLiteConverter.from_saved_model(folder).convert() writes a .tflite file"
            if saved
            else "give the model in it",
        )
    for signature, what, hint in BEGINNINGS:
        if beginning.lower().startswith(signature):
            raise ModelFormatError(
                f"this is {what}",
                file=str(path),
                expected="a .tflite file, or a file named *.onnx",
                hint=hint,
            )
