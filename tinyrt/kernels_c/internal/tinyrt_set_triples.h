/** Words of activations of four pixels. */
#ifndef TINYRT_SET_TRIPLES_H
#define TINYRT_SET_TRIPLES_H

#include "tinyrt_triple.h"

/** Writes the words of count elements of each pixel. */
void tinyrt_set_triples(const int8_t *x, const tinyrt_offsets *pixels, int32_t count,
                        int32_t *triples);

/** Zeros behind the words of so many taps, up to a multiple of four. */
static inline void tinyrt_pad_triples(int32_t taps, int32_t *triples) {
    for (; (taps % 4) != 0; ++taps, triples += TINYRT_TRIPLE) {
        triples[0] = 0;
        triples[1] = 0;
        triples[2] = 0;
    }
}

#endif
