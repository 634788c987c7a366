"""Blobs with a signature: who is asked, when, and what a device hears of it."""

import hmac
import subprocess

import pytest

from tests.c.host import SANITIZE, host_compiler, require_tool
from tests.export.models import dense
from tinyrt.export import ExportOptions, export_graph

pytestmark = pytest.mark.slow

SIGNING = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net.h"

static const char *key;

/* Has the message's authenticity checked by a program, as a device asks its library. */
static int ask(void *context, const uint8_t *message, size_t message_size,
               const uint8_t *signature, size_t signature_size) {
    FILE *const file = fopen("message", "wb");
    FILE *const behind = fopen("signature", "wb");
    fwrite(message, 1, message_size, file);
    fwrite(signature, 1, signature_size, behind);
    fclose(file);
    fclose(behind);
    return key == NULL || system(context);
}

int main(int count, char **words) {
    static _Alignas(8) uint8_t slot[4096];
    FILE *const file = fopen(words[1], "rb");
    const size_t size = fread(slot, 1, sizeof slot, file);
    net_handle_t handle = {0};
    key = count > 3 ? words[3] : NULL;
    const size_t behind = (size_t)atoi(words[2]);
    if (key != NULL && strcmp(key, "none") == 0) {
        return net_open_signed(&handle, slot, size, behind, NULL, NULL);
    }
    const int status = net_open_signed(&handle, slot, size, behind, ask, words[3]);
    return status != 0 && handle.blob != NULL ? 1 : status;
}
"""


def test_who_signed_is_asked_last(tmp_path):
    """With a keyed hash in the place of a signature."""
    project = export_graph(dense(), tmp_path / "net", core="host", options=ExportOptions(blob=True))
    (tmp_path / "main.c").write_text(SIGNING)
    sources = sorted(project.directory.rglob("*.c"))
    command = [host_compiler(), "-std=gnu11", *SANITIZE.split(), "-I", project.directory]
    subprocess.run([*command, "main.c", *sources, "-o", "program"], cwd=tmp_path, check=True)
    blob = (project.directory / "net.blob").read_bytes()
    tag = hmac.digest(b"key", blob, "sha256")
    (tmp_path / "tag").write_bytes(tag)
    (tmp_path / "checker").write_text("cmp -s signature tag && cmp -s message net/net.blob")

    def status(data, behind, *words):
        (tmp_path / "slot").write_bytes(data)
        command = [tmp_path / "program", "slot", str(behind), *words]
        return subprocess.run(command, cwd=tmp_path, check=False).returncode

    flipped = bytes([*blob[:-1], blob[-1] ^ 1])
    assert status(blob + tag, 32, "sh checker") == 0
    assert status(blob + tag[:-1] + b"!", 32, "sh checker") == 75
    assert status(blob + tag[:-1], 32, "sh checker") == 68
    assert status(flipped + tag, 32, "sh checker") == 73
    assert status(blob + tag, 32, "none") == 76


def test_a_signature_of_openssl(tmp_path):
    require_tool("openssl")
    project = export_graph(dense(), tmp_path / "net", core="host", options=ExportOptions(blob=True))
    (tmp_path / "main.c").write_text(SIGNING)
    sources = sorted(project.directory.rglob("*.c"))
    command = [host_compiler(), "-std=gnu11", "-I", project.directory, "main.c", *sources]
    subprocess.run([*command, "-o", "program"], cwd=tmp_path, check=True)
    for line in (
        "openssl genpkey -algorithm ed25519 -out key.pem",
        "openssl pkey -in key.pem -pubout -out public.pem",
        "openssl pkeyutl -sign -rawin -inkey key.pem -in net/net.blob -out net.sig",
    ):
        subprocess.run(line.split(), cwd=tmp_path, check=True)
    blob, signature = (tmp_path / "net" / "net.blob").read_bytes(), (tmp_path / "net.sig")
    verify = "openssl pkeyutl -verify -rawin -pubin -inkey public.pem -in message"
    verify += " -sigfile signature > /dev/null 2>&1"
    for last, expected in ((0, 0), (1, 75)):
        tag = signature.read_bytes()
        (tmp_path / "slot").write_bytes(blob + tag[:-1] + bytes([tag[-1] ^ last]))
        command = [tmp_path / "program", "slot", str(len(tag)), verify]
        assert subprocess.run(command, cwd=tmp_path, check=False).returncode == expected
