/** Words at any address, and their 16-bit halves. */
#ifndef TINYRT_HALVES_H
#define TINYRT_HALVES_H

#include "tinyrt_types.h"

#include <string.h>

/** The four bytes at any address, as a little-endian word. */
static inline uint32_t tinyrt_load_word(const void *bytes) {
    uint32_t word;
    (void)memcpy(&word, bytes, sizeof word);
    return word;
}

static inline void tinyrt_store_word(void *bytes, uint32_t word) {
    (void)memcpy(bytes, &word, sizeof word);
}

static inline int32_t tinyrt_low(uint32_t word) {
    return (int16_t)(uint16_t)word;
}

static inline int32_t tinyrt_high(uint32_t word) {
    return (int16_t)(uint16_t)(word >> 16);
}

static inline uint32_t tinyrt_pair(int32_t low, int32_t high) {
    return (uint32_t)(uint16_t)low | (uint32_t)high << 16;
}

#endif
