/** Copies that are long enough for a call of the C library, where that may be called. */
#ifndef TINYRT_COPY_ALL_H
#define TINYRT_COPY_ALL_H

#include "tinyrt_copy.h"

#include <string.h>

/** y = x. Libraries for cores that load words at any address do so, even where this code must not.
 */
static inline void tinyrt_copy_all(const void *x, size_t bytes, void *y) {
#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && !defined(__ARM_FEATURE_UNALIGNED)
    int8_t *const to = (int8_t *)y;
    tinyrt_copy((const int8_t *)x, to + bytes, to);
#else
    (void)memcpy(y, x, bytes);
#endif
}

#endif
