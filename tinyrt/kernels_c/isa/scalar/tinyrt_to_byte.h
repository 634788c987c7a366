/** A colour of fractions. */
#ifndef TINYRT_TO_BYTE_H
#define TINYRT_TO_BYTE_H

#include "tinyrt_types.h"

/** wide, which has 14 bits of fraction, rounded down, 0 to 255. */
static inline int32_t tinyrt_to_byte(int32_t wide) {
    const int32_t value = (wide < 0) ? 0 : wide >> 14;
    return (value > 255) ? 255 : value;
}

#endif
