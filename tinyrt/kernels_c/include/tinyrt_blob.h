/** A model's constants apart from its code: a header, then a body that the code knows the layout
 * of. Little-endian. */
#ifndef TINYRT_BLOB_H
#define TINYRT_BLOB_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the functions of a model with a blob return, beside tinyrt_status. */
typedef enum {
    TINYRT_NULL_HANDLE = 64,
    TINYRT_NOT_OPEN = 65, /**< No blob is open in the handle, or that of another export. */
    TINYRT_NULL_BLOB = 66,
    TINYRT_MISALIGNED_BLOB = 67,
    TINYRT_SHORT_BLOB = 68,      /**< The blob, or its signature, ends behind the memory. */
    TINYRT_NOT_A_BLOB = 69,      /**< The first four bytes are others, as in erased flash. */
    TINYRT_BLOB_VERSION = 70,    /**< The format is of another version. */
    TINYRT_BROKEN_HEADER = 71,   /**< The header's CRC-32 differs. */
    TINYRT_OTHER_STRUCTURE = 72, /**< The constants are another model's, core's or export's. */
    TINYRT_BROKEN_BODY = 73,     /**< The body's CRC-32 differs. */
    TINYRT_OTHER_SHA256 = 74,    /**< The body's SHA-256 differs. */
    TINYRT_BAD_SIGNATURE = 75,   /**< The caller's function refused the signature. */
    TINYRT_NULL_VERIFY = 76,
} tinyrt_blob_status;

#define TINYRT_BLOB_MAGIC 0x42545254U /* "TRTB" */
#define TINYRT_BLOB_FORMAT 1U
#define TINYRT_BLOB_ALIGNMENT 8U

/** What a blob begins with. */
typedef struct {
    uint32_t magic;
    uint32_t format;
    uint32_t header_bytes;
    uint32_t total_bytes; /**< Header and body. */
    uint32_t structure[4];
    uint32_t body_crc;
    uint32_t revision; /**< The user's. */
    uint8_t body_sha256[32];
    uint8_t model_sha256[32];
    uint32_t reserved[5];
    uint32_t header_crc; /**< Of all before it. */
} tinyrt_blob_header;

/** What a model's code assumes of its blob. */
typedef struct {
    uint32_t structure[4];
    uint32_t body_bytes;
} tinyrt_blob_wanted;

/** Whether a blob is whole, and is one for this code: TINYRT_OK, or what is wrong. Reads at most
 * size bytes, and writes nothing. */
int tinyrt_blob_open(const tinyrt_blob_wanted *wanted, const void *blob, size_t size);

/** Whether the SHA-256 of the body of a blob that was opened is as its header says. */
int tinyrt_blob_sha256(const void *blob);

#ifdef __cplusplus
}
#endif

#endif
