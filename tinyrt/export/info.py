"""What a program can say of its model: names of tensors, and labels that are packed in the file.

Converters append a ZIP archive to a .tflite file (TFLite's metadata); its text files hold labels.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from tinyrt.errors import ModelFormatError
from tinyrt.export import text as c_text
from tinyrt.export.identity import IDENTITY
from tinyrt.export.ports import Port
from tinyrt.export.rendering import TEMPLATES, CFile, Source, render_c

MAX_LABEL_BYTES = 1 << 20
"""Most bytes of all files of labels together."""

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)
"""What ``zipfile`` raises for an archive that it cannot read."""


def labels_in(model_path: Path) -> tuple[tuple[str, ...], ...]:
    """The lines of each text file that is packed behind the model, in the archive's order.

    Raises:
        ModelFormatError: there is an archive, and it cannot be read, or has too much text.

    """
    try:
        if not zipfile.is_zipfile(model_path):
            return ()
        with zipfile.ZipFile(model_path) as archive:
            texts = [e for e in archive.infolist() if e.filename.lower().endswith(".txt")]
            nbytes = sum(entry.file_size for entry in texts)
            if nbytes > MAX_LABEL_BYTES:
                raise ModelFormatError(
                    f"the text files behind the model take {nbytes:,} bytes",
                    expected=f"labels of at most {MAX_LABEL_BYTES:,} bytes in all",
                    hint="export the model without its labels: leave --info out",
                )
            return tuple(tuple(archive.read(e).decode("utf-8").splitlines()) for e in texts)
    except (*BROKEN, UnicodeDecodeError) as error:
        raise ModelFormatError(
            f"the archive behind the model cannot be read: {error}",
            expected="text files in UTF-8 in a ZIP archive, as TFLite's metadata has them",
            hint="export the model without its labels: leave --info out",
        ) from error


def labels_of(files: Iterable[Sequence[str]], outputs: Sequence[Port]) -> tuple[Sequence[str], int]:
    """The labels of the first output that a file has one line for each class of, and its number.

    No labels, and 0, where there is no such output, or where several files would do.
    """
    by_length: dict[int, list[Sequence[str]]] = {}
    for lines in files:
        by_length.setdefault(len(lines), []).append(lines)
    for i, port in enumerate(outputs):
        fitting = by_length.get(port.shape[-1] if port.shape else 0, [])
        if len(fitting) == 1:
            return fitting[0], i
    return (), 0


def info_files(
    model: str,
    title: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    packed: Iterable[Sequence[str]],
    *,
    has_sha256: bool,
) -> dict[str, CFile]:
    """The header and the source of ``<model>_info``.

    Args:
        model: the prefix of its names.
        title: what the model calls itself.
        inputs: in the model's order.
        outputs: in the model's order.
        packed: lines of the text files that are packed behind the model.
        has_sha256: whether the model's header has the digest of its file.

    """
    labels, labelled = labels_of(packed, outputs)
    lists = {
        "inputs": [port.name for port in inputs],
        "outputs": [port.name for port in outputs],
        "labels": list(labels),
    }
    context = {
        "model": model,
        "MODEL": model.upper(),
        "identity": IDENTITY,
        "title": Source(c_text.string(title)),
        "lists": {name: [Source(c_text.string(s)) for s in of] for name, of in lists.items()},
        "labelled": labelled,
        "has_sha256": has_sha256,
    }
    return {
        f"{model}_info{end}": render_c(TEMPLATES, f"info{end}.j2", context) for end in (".h", ".c")
    }
