/** Products of int16 columns with int8 weights, one by one. */
#ifndef TINYRT_DOT16_H
#define TINYRT_DOT16_H

#define TINYRT_DOT16_TWO(x, w, s0, s1, s2, s3)                                                     \
    do {                                                                                           \
        const int32_t x0 = (x)[0], x1 = (x)[1];                                                    \
        (s0) += (x0 * (w)[0]) + (x1 * (w)[2]);                                                     \
        (s1) += (x0 * (w)[1]) + (x1 * (w)[3]);                                                     \
        (s2) += (x0 * (w)[4]) + (x1 * (w)[6]);                                                     \
        (s3) += (x0 * (w)[5]) + (x1 * (w)[7]);                                                     \
    } while (0)
#include "tinyrt_dot16_loop.h"

#endif
