/** How many bits a number has. */
#ifndef TINYRT_BITS_H
#define TINYRT_BITS_H

#include "tinyrt_types.h"

/** The place of the highest bit that is set, from 1 on. Requires: x is not 0. */
static inline int32_t tinyrt_bit_length(uint32_t x) {
#if defined(__GNUC__) && (defined(__ARM_FEATURE_CLZ) || defined(__x86_64__))
    return 32 - __builtin_clz(x);
#else
    int32_t bits = 0;
    for (int32_t part = 16; part != 0; part >>= 1) {
        if ((x >> part) != 0) {
            x >>= part;
            bits += part;
        }
    }
    return bits + (int32_t)x;
#endif
}

#endif
