#include "tinyrt_blob.h"
#include "tinyrt_crc32.h"

static int is_structure(const uint32_t *a, const uint32_t *b) {
    return (a[0] == b[0]) && (a[1] == b[1]) && (a[2] == b[2]) && (a[3] == b[3]);
}

int tinyrt_blob_open(const tinyrt_blob_wanted *wanted, const void *blob, size_t size) {
    if (blob == NULL) {
        return TINYRT_NULL_BLOB;
    }
    if (((uintptr_t)blob % (uintptr_t)TINYRT_BLOB_ALIGNMENT) != 0U) {
        return TINYRT_MISALIGNED_BLOB;
    }
    if (size < sizeof(tinyrt_blob_header)) {
        return TINYRT_SHORT_BLOB;
    }
    const tinyrt_blob_header *const header = blob;
    if (header->magic != TINYRT_BLOB_MAGIC) {
        return TINYRT_NOT_A_BLOB;
    }
    if (header->format != TINYRT_BLOB_FORMAT) {
        return TINYRT_BLOB_VERSION;
    }
    const uint32_t signed_bytes = (uint32_t)offsetof(tinyrt_blob_header, header_crc);
    if (header->header_crc != tinyrt_crc32(0, blob, signed_bytes)) {
        return TINYRT_BROKEN_HEADER;
    }
    const uint32_t total = (uint32_t)sizeof(tinyrt_blob_header) + wanted->body_bytes;
    const int fits = header->header_bytes == sizeof(tinyrt_blob_header) &&
                     header->total_bytes == total &&
                     is_structure(header->structure, wanted->structure);
    if (!fits) {
        return TINYRT_OTHER_STRUCTURE;
    }
    if (size < total) {
        return TINYRT_SHORT_BLOB;
    }
    const uint8_t *const body = (const uint8_t *)(header + 1);
    return header->body_crc == tinyrt_crc32(0, body, wanted->body_bytes) ? TINYRT_OK
                                                                         : TINYRT_BROKEN_BODY;
}
