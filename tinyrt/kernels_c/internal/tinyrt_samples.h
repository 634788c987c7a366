/** Samples that are copied, and windows that are shifted on. */
#ifndef TINYRT_SAMPLES_H
#define TINYRT_SAMPLES_H

#include "tinyrt_types.h"

/** to = from, which may be the same, or begin before it. */
static inline void tinyrt_samples_copy(const int16_t *from, int32_t count, int16_t *to) {
    for (int32_t i = 0; i < count; ++i) {
        to[i] = from[i];
    }
}

/** Moves a window towards its start, for count new samples at its end. */
static inline void tinyrt_samples_shift(int16_t *window, int32_t size, const int16_t *x,
                                        int32_t count) {
    const int32_t kept = size - count;
    tinyrt_samples_copy(window + count, kept, window);
    tinyrt_samples_copy(x, count, window + kept);
}

#endif
