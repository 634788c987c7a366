#include "tinyrt_blob.h"

/** CRC-32 as in Ethernet and zlib, by halves of bytes. */
static uint32_t crc32(const uint8_t *bytes, uint32_t count) {
    static const uint32_t of_nibble[16] = {
        0x00000000U, 0x1DB71064U, 0x3B6E20C8U, 0x26D930ACU, 0x76DC4190U, 0x6B6B51F4U,
        0x4DB26158U, 0x5005713CU, 0xEDB88320U, 0xF00F9344U, 0xD6D6A3E8U, 0xCB61B38CU,
        0x9B64C2B0U, 0x86D3D2D4U, 0xA00AE278U, 0xBDBDF21CU,
    };
    uint32_t crc = UINT32_MAX;
    for (const uint8_t *const end = bytes + count; bytes != end; ++bytes) {
        crc ^= *bytes;
        crc = (crc >> 4) ^ of_nibble[crc & 15U];
        crc = (crc >> 4) ^ of_nibble[crc & 15U];
    }
    return ~crc;
}

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
    if (header->header_crc != crc32(blob, signed_bytes)) {
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
    return header->body_crc == crc32(body, wanted->body_bytes) ? TINYRT_OK : TINYRT_BROKEN_BODY;
}
