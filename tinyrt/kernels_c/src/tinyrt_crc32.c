#include "tinyrt_crc32.h"

/* By halves of bytes. */
uint32_t tinyrt_crc32(uint32_t before, const void *bytes, uint32_t count) {
    static const uint32_t of_nibble[16] = {
        0x00000000U, 0x1DB71064U, 0x3B6E20C8U, 0x26D930ACU, 0x76DC4190U, 0x6B6B51F4U,
        0x4DB26158U, 0x5005713CU, 0xEDB88320U, 0xF00F9344U, 0xD6D6A3E8U, 0xCB61B38CU,
        0x9B64C2B0U, 0x86D3D2D4U, 0xA00AE278U, 0xBDBDF21CU,
    };
    uint32_t crc = ~before;
    const uint8_t *at = bytes;
    for (const uint8_t *const end = at + count; at != end; ++at) {
        crc ^= *at;
        crc = (crc >> 4) ^ of_nibble[crc & 15U];
        crc = (crc >> 4) ^ of_nibble[crc & 15U];
    }
    return ~crc;
}
