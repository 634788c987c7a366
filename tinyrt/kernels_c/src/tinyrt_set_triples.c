#include "tinyrt_set_triples.h"

void tinyrt_set_triples(const int8_t *x, const tinyrt_offsets *pixels, int32_t count,
                        int32_t *triples) {
    const int32_t second = pixels->second;
    const int32_t third = pixels->third;
    const int32_t fourth = pixels->fourth;
    for (const int8_t *const end = x + count; x != end; ++x, triples += TINYRT_TRIPLE) {
        const uint32_t x3 = (uint32_t)(int32_t)x[fourth];
        triples[0] = (int32_t)((uint32_t)(int32_t)x[0] + (x3 << 24));
        triples[1] = (int32_t)((uint32_t)(int32_t)x[second] + (x3 << 16));
        triples[2] = (int32_t)((uint32_t)(int32_t)x[third] + (x3 << 8));
    }
}
