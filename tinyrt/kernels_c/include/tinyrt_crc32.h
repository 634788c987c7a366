/** A checksum of what lies in memory that may be damaged. */
#ifndef TINYRT_CRC32_H
#define TINYRT_CRC32_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** CRC-32 as in Ethernet and zlib, of bytes behind those whose CRC-32 is before; 0 for none. */
uint32_t tinyrt_crc32(uint32_t before, const void *bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
