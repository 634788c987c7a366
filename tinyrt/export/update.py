"""A new blob for code that is exported already: a field update."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tinyrt import __version__
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.entry import entry
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.export.blob.format import MAX_REVISION, Blob
from tinyrt.export.blob.record import Record, read_record
from tinyrt.export.blob.structure import require_same
from tinyrt.export.bundle import render_model
from tinyrt.export.identity import sha256_of
from tinyrt.files import write_atomic


@dataclass(frozen=True, slots=True)
class MadeBlob:
    """A blob that was written.

    Attributes:
        path: the file.
        name: of the exported model that it is for.
        structure: the digest that both have in common, in hexadecimal.
        revision: the number that it was made with.
        nbytes: of the file.
        model_sha256: of the model that it was made of.

    """

    path: Path
    name: str
    structure: str
    revision: int
    nbytes: int
    model_sha256: str


@entry
def make_blob(
    model_path: str | Path, project: str | Path, output: str | Path, *, revision: int = 0
) -> MadeBlob:
    """Write the blob of a model that takes the place of one that is exported with a blob.

    Args:
        model_path: a .tflite file with the same ops and shapes, and other weights or scales.
        project: the exported folder, or the file ``<name>_blob.json`` in it.
        output: the file to write.
        revision: a number that programs can read from the blob, 0 to 2**32 - 1.

    Raises:
        ModelFormatError: the model or the project's record cannot be read.
        UnsupportedError: the exported code does not fit the model, or is another version's.
        OutputError: the file cannot be written.

    """
    path = Path(model_path)
    if not 0 <= revision <= MAX_REVISION:
        raise UnsupportedError(
            f"a blob cannot have the revision {revision}", expected=f"0 to {MAX_REVISION}"
        )
    record = read_record(Path(project))
    with error_context(file=str(path)):
        blob = _blob_for(record, path)
    packed = replace(blob, revision=revision).packed()
    write_atomic(output, lambda file: file.write(packed))
    sha256 = blob.model_sha256.hex()
    return MadeBlob(Path(output), record.name, record.structure, revision, len(packed), sha256)


def _blob_for(record: Record, path: Path) -> Blob:
    """The model's blob, made as the record's code was."""
    if record.version != __version__:
        raise UnsupportedError(
            f"the code was exported by tinyrt {record.version}, and this is {__version__}",
            expected="the same version, which stores constants as the code reads them",
            hint=f"pip install tinyrt=={record.version}, or export the firmware anew",
        )
    made, _ = render_model(read_tflite(path), Path(), record.request, sha256_of(path))
    assert made.blob is not None  # the record's request has one
    require_same(record.parts, made.blob.parts)
    return made.blob.blob
