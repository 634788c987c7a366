/** A colour of fractions, in the order that compilers make one instruction of. */
#ifndef TINYRT_TO_BYTE_H
#define TINYRT_TO_BYTE_H

#include "tinyrt_types.h"

/** wide, which has 14 bits of fraction, rounded down, 0 to 255. */
static inline int32_t tinyrt_to_byte(int32_t wide) {
    const int32_t value = wide >> 14;
    const int32_t positive = (value < 0) ? 0 : value;
    return (positive > 255) ? 255 : positive;
}

#endif
