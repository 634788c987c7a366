/** Products of int16 columns with int8 weights, two in an instruction. */
#ifndef TINYRT_DOT16_H
#define TINYRT_DOT16_H

#include "tinyrt_simd.h"

#define TINYRT_DOT16_TWO(x, w, s0, s1, s2, s3)                                                     \
    do {                                                                                           \
        const uint32_t pair = tinyrt_load_word(x);                                                 \
        const uint32_t first = tinyrt_load_word(w);                                                \
        const uint32_t second = tinyrt_load_word((w) + 4);                                         \
        (s0) = tinyrt_dot_pair(tinyrt_even_bytes(first), pair, s0);                                \
        (s1) = tinyrt_dot_pair(tinyrt_odd_bytes(first), pair, s1);                                 \
        (s2) = tinyrt_dot_pair(tinyrt_even_bytes(second), pair, s2);                               \
        (s3) = tinyrt_dot_pair(tinyrt_odd_bytes(second), pair, s3);                                \
    } while (0)
#include "tinyrt_dot16_loop.h"

#endif
