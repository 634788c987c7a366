"""Blobs under sanitizers: what opens, what is refused and how, and what handles hold then."""

import hashlib
import shutil
import subprocess

import numpy as np
import pytest

from tests.c.host import (
    CFLAGS,
    RUNNING_HEADER,
    SANITIZE,
    build_library,
    link,
)
from tests.export.blobs import HEADER, trained_twice, with_word, without_sha256
from tests.export.models import dense, layer_of
from tests.sampling import sampled
from tinyrt import load
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import ExportOptions, export_c, export_graph, make_blob

pytestmark = pytest.mark.slow

CHECKED = f"-O0 {SANITIZE} -include {RUNNING_HEADER}"
"""Options of a model's code where its own functions have every check, too."""

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mo.h"
#include "tinyrt/tinyrt_blob.h"
#include "tinyrt/tinyrt_types.h"

/* The model says which op runs, as in other programs. */
void tinyrt_op_begins(int op) { (void)op; }
void tinyrt_op_ends(void) {}

static _Alignas(16) uint8_t arena[MO_ARENA_BYTES];
static const mo_handle_t untouched = {0xA5A5A5A5U, arena};

/* A file in memory of exactly its size, or of a little more in front. */
static uint8_t *loaded(const char *name, size_t *size, size_t before) {
    FILE *const file = fopen(name, "rb");
    uint8_t *bytes = NULL;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        exit(2);
    }
    *size = (size_t)ftell(file);
    bytes = malloc(before + *size);
    rewind(file);
    if (fread(bytes + before, 1, *size, file) != *size) {
        exit(2);
    }
    fclose(file);
    return bytes;
}

static void expect(const char *what, long at, int found, int wanted) {
    if (found != wanted) {
        printf("%s %ld: %d, not %d\n", what, at, found, wanted);
        exit(1);
    }
}

/* What opening gives; a handle is written only if it opens. */
static int opened(const void *blob, size_t size) {
    mo_handle_t handle = untouched;
    const int status = mo_open(&handle, blob, size);
    const int is_same = handle.mark == untouched.mark && handle.blob == untouched.blob;
    expect("written", status, is_same, status != TINYRT_OK);
    return status;
}

static int code_of_byte(size_t at) {
    return at < 4 ? TINYRT_NOT_A_BLOB
           : at < 8 ? TINYRT_BLOB_VERSION
           : at < sizeof(tinyrt_blob_header) ? TINYRT_BROKEN_HEADER : TINYRT_BROKEN_BODY;
}

static void flip(const char *name) {
    size_t size;
    uint8_t *const blob = loaded(name, &size, 0);
    uint32_t random = 7;
    for (size_t i = 0; i < sizeof(tinyrt_blob_header) + 1000; ++i) {
        random = random * 1664525U + 1013904223U;
        const size_t behind = sizeof(tinyrt_blob_header);
        const size_t at = i < behind ? i : behind + (random >> 8) % (size - behind);
        const uint8_t bit = (uint8_t)(1U << (random >> 29));
        blob[at] ^= bit;
        expect("flipped", (long)at, opened(blob, size), code_of_byte(at));
        blob[at] ^= bit;
    }
    expect("whole", 0, opened(blob, size), TINYRT_OK);
    for (size_t less = 1; less < size; less += 97) {
        uint8_t *const shorter = malloc(size - less);
        memcpy(shorter, blob, size - less);
        expect("cut", (long)less, opened(shorter, size - less), TINYRT_SHORT_BLOB);
        free(shorter);
    }
    free(blob);
}

static void misuse(const char *name) {
    size_t size;
    uint8_t *const blob = loaded(name, &size, 0);
    mo_handle_t handle = {0};
    const mo_io_t io = {0};
    expect("null handle", 0, mo_open(NULL, blob, size), TINYRT_NULL_HANDLE);
    expect("null blob", 0, opened(NULL, size), TINYRT_NULL_BLOB);
    for (size_t before = 1; before < MO_BLOB_ALIGNMENT; ++before) {
        size_t other;
        uint8_t *const odd = loaded(name, &other, before);
        expect("misaligned", (long)before, opened(odd + before, other), TINYRT_MISALIGNED_BLOB);
        free(odd);
    }
    expect("not open", 0, mo_invoke(&handle, &io, arena), TINYRT_NOT_OPEN);
    expect("no handle", 0, mo_invoke(NULL, &io, arena), TINYRT_NULL_HANDLE);
    expect("no sum", 0, mo_check_sha256(&handle), TINYRT_NOT_OPEN);
    expect("no number", 0, (int)mo_revision(&handle), 0);
    expect("no model", 0, mo_model_sha256(&handle) != NULL, 0);
    expect("no scale", 0, mo_input_scale(&handle, 0) != 0.0F, 0);
    expect("no zero point", 0, mo_output_zero_point(&handle, 0), 0);
    expect("opens", 0, mo_open(&handle, blob, size), TINYRT_OK);
    expect("no such input", 0, mo_input_scale(&handle, 1) != 0.0F, 0);
    expect("no such output", 0, mo_output_zero_point(&handle, 1), 0);
    expect("null io", 0, mo_invoke(&handle, NULL, arena), TINYRT_NULL_IO);
    free(blob);
}

/* file code ... for blobs; a code of -1 asks for the SHA-256 */
static void check_codes(int count, char **words) {
    for (int i = 0; i + 1 < count; i += 2) {
        size_t size;
        uint8_t *const blob = loaded(words[i], &size, 0);
        const int wanted = atoi(words[i + 1]);
        mo_handle_t handle = {0};
        if (wanted < 0) {
            expect(words[i], 0, mo_open(&handle, blob, size), TINYRT_OK);
            expect(words[i], 1, mo_check_sha256(&handle), -wanted);
        } else {
            expect(words[i], 0, opened(blob, size), wanted);
        }
        free(blob);
    }
}

static void run(const char *name, const char *inputs, const char *outputs) {
    size_t size, bytes;
    uint8_t *const blob = loaded(name, &size, 0);
    uint8_t *const x = loaded(inputs, &bytes, 0);
    FILE *const file = fopen(outputs, "wb");
    mo_handle_t handle;
    expect("opens", 0, mo_open(&handle, blob, size), TINYRT_OK);
    expect("sum", 0, mo_check_sha256(&handle), TINYRT_OK);
    for (size_t at = 0; at < bytes; at += MO_INPUT_0_BYTES) {
        int8_t y[MO_OUTPUT_0_BYTES];
        const mo_io_t io = {(const int8_t *)x + at, y};
        expect("runs", (long)at, mo_invoke(&handle, &io, arena), TINYRT_OK);
        fwrite(y, 1, sizeof y, file);
    }
    fclose(file);
    printf("%.9g %d %.9g %d %u ", (double)mo_input_scale(&handle, 0),
           (int)mo_input_zero_point(&handle, 0), (double)mo_output_scale(&handle, 0),
           (int)mo_output_zero_point(&handle, 0), (unsigned)mo_revision(&handle));
    for (int i = 0; i < 32; ++i) {
        printf("%02x", mo_model_sha256(&handle)[i]);
    }
    free(x);
    free(blob);
}

int main(int count, char **words) {
    const char *const what = words[1];
    if (strcmp(what, "flip") == 0) {
        flip(words[2]);
    } else if (strcmp(what, "misuse") == 0) {
        misuse(words[2]);
    } else if (strcmp(what, "codes") == 0) {
        check_codes(count - 2, words + 2);
    } else {
        run(words[2], words[3], words[4]);
    }
    return 0;
}
"""

NOT_A_BLOB, VERSION, STRUCTURE, SHA256, SHORT = 69, 70, 72, 74, 68


@pytest.fixture(scope="module")
def made(zoo, tmp_path_factory):
    """The folder with a program of model a, and the blobs of a and b."""
    folder = tmp_path_factory.mktemp("blobs")
    one, other = trained_twice(zoo, "dscnn_kws", folder)
    project = export_c(one, folder / "mo", core="host", options=ExportOptions(name="mo", blob=True))
    make_blob(other, project.directory, folder / "b.blob", revision=7)
    shutil.copy(project.directory / "mo.blob", folder / "a.blob")
    build(folder, project, CHECKED)
    return folder


def build(folder, project, cflags=CFLAGS):
    """A program that does what its first argument says with blobs for this project.

    Args:
        folder: where.
        project: what to build.
        cflags: options for its code.

    """
    main = folder / "main.c"
    main.write_text(MAIN)
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")
    link(build_library(project, folder, cflags=cflags), project, main, "-std=c11", *warnings)


def run(folder, *words):
    command = [folder / "program", *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_every_byte_counts(made):
    for blob in sampled(["a.blob"], ["a.blob", "b.blob"]):
        run(made, "flip", blob)


def test_misuse_is_a_status(made):
    run(made, "misuse", "a.blob")


def test_blobs_of_others_are_refused(made, tmp_path):
    blob = (made / "a.blob").read_bytes()
    export_graph(dense(), tmp_path / "other", core="host", options=ExportOptions(blob=True))
    cases = {
        "erased": (bytes([0xFF]) * len(blob), NOT_A_BLOB),
        "older": (with_word(blob, 4, 0), VERSION),
        "newer": (with_word(blob, 4, 2), VERSION),
        "longer header": (with_word(blob, 8, HEADER + 8), STRUCTURE),
        "larger": (with_word(blob, 12, len(blob) + 8), STRUCTURE),
        "structure 0": (with_word(blob, 16, 0), STRUCTURE),
        "structure 3": (with_word(blob, 28, 0), STRUCTURE),
        "another model": ((tmp_path / "other" / "net.blob").read_bytes(), STRUCTURE),
        "half a header": (blob[: HEADER // 2], SHORT),
        "nothing": (b"", SHORT),
        "in a larger slot": (blob + bytes(100), 0),
        "signed by itself": (without_sha256(blob), -SHA256),
    }
    words = []
    for name, (data, code) in cases.items():
        (tmp_path / name).write_bytes(data)
        words += [tmp_path / name, code]
    run(made, "codes", *words)


def answers_as(folder, blob, model):
    """Check that the program answers with a blob as the host does; what it says of the blob."""
    graph = load(model).graph
    (x,), (y,) = graph.input_values, graph.output_values
    data = np.random.default_rng(3).integers(-128, 128, (20, *x.shape[1:]), np.int8)
    data.tofile(folder / "x")
    found = run(folder, "run", blob, "x", "y")
    expected = load(model).run_raw({x.name: data})[y.name]
    np.testing.assert_array_equal(np.fromfile(folder / "y", np.int8), expected.ravel())
    return x, y, found


def test_weights_without_zeros_fit_code_that_leaves_out_zeros(tmp_path):
    """And weights with other zeros; where few are stored, the rest of their room is not read."""
    rng = np.random.default_rng(4)
    full = rng.integers(1, 20, (16, 96), np.int8)
    few = full * np.repeat(rng.random((2, 24)) < 0.1, 4, axis=1).repeat(8, axis=0)
    other = full * np.repeat(rng.random((2, 24)) < 0.5, 4, axis=1).repeat(8, axis=0)
    for name, w in (("few", few), ("full", full), ("other", other)):
        save_tflite(layer_of(w.astype(np.int8)), tmp_path / f"{name}.tflite")
    project = export_c(
        tmp_path / "few.tflite",
        tmp_path / "mo",
        core="host",
        options=ExportOptions(name="mo", blob=True),
    )
    assert any("_sparse_" in kernel for kernel in project.kernels)
    build(tmp_path, project)
    for name in ("few", "full", "other"):
        make_blob(tmp_path / f"{name}.tflite", tmp_path / "mo", tmp_path / f"{name}.blob")
        answers_as(tmp_path, f"{name}.blob", tmp_path / f"{name}.tflite")


@pytest.mark.parametrize("kind", "ab")
def test_the_same_code_answers_as_either_model(made, kind):
    model = made / f"dscnn_kws_{kind}.tflite"
    x, y, found = answers_as(made, f"{kind}.blob", model)
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    assert found[1::2] == [str(x.q.zero_point), str(y.q.zero_point), sha256]
    scales = [np.float32(float(word)) for word in found[:3:2]]
    assert scales == [np.float32(x.q.scale), np.float32(y.q.scale)]
    assert found[4] == ("7" if kind == "b" else "0")
