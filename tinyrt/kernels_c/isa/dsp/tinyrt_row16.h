/** Products of one row of int16, read where it lies, with four output channels' int8 weights. */
#ifndef TINYRT_ROW16_H
#define TINYRT_ROW16_H

#include "tinyrt_simd.h"

/** A row's activations: as many as pairs hold, and one that may be left. */
typedef struct {
    const int16_t *x;
    int32_t whole;
    int32_t rest;
    uint32_t last;
} tinyrt_row16;

static inline tinyrt_row16 tinyrt_row16_of(const int16_t *x, int32_t taps) {
    tinyrt_row16 row = {x, taps & ~1, taps & 1, 0};
    if (row.rest != 0) {
        row.last = (uint16_t)x[row.whole];
    }
    return row;
}

/** Sums of four channels: the odd ones' are raised, and hold those of their neighbours. */
typedef struct {
    int32_t even[2];
    int64_t odd[2];
} tinyrt_raised_sums;

/** acc + low * low + high * high. */
static inline int64_t tinyrt_dot_pair_long(uint32_t a, uint32_t b, int64_t acc) {
    const int64_t low = (int64_t)tinyrt_low(a) * tinyrt_low(b);
    return acc + low + ((int64_t)tinyrt_high(a) * tinyrt_high(b));
}

/** Two taps, two words of weights. */
static inline void tinyrt_dot_pair16(const int32_t *w, uint32_t x, tinyrt_raised_sums *sums) {
    for (int32_t i = 0; i < 2; ++i) {
        const uint32_t word = (uint32_t)w[i];
        sums->odd[i] = tinyrt_dot_pair_long(word, x, sums->odd[i]);
        sums->even[i] = tinyrt_dot_pair(tinyrt_even_bytes(word), x, sums->even[i]);
    }
}

#if defined(__ARM_FEATURE_DSP) && TINYRT_ASM_LOOPS

#ifdef __ARM_FEATURE_UNALIGNED
#define TINYRT_LOAD_PAIR "ldr %[v], [%[x]], #4\n"
#define TINYRT_PAIR_CODE 32
#else
#define TINYRT_LOAD_PAIR                                                                           \
    "ldrsh %[v], [%[x]], #2\n"                                                                     \
    "ldrsh %[w0], [%[x]], #2\n"                                                                    \
    "pkhbt %[v], %[v], %[w0], lsl #16\n"
#define TINYRT_PAIR_CODE 40
#endif

#define TINYRT_PAIR                                                                                \
    TINYRT_LOAD_PAIR                                                                               \
    "ldrd %[w0], %[w1], [%[w]], #8\n"                                                              \
    "smlald %Q[b0], %R[b0], %[w0], %[v]\n"                                                         \
    "sxtb16 %[w0], %[w0]\n"                                                                        \
    "smlad %[a0], %[w0], %[v], %[a0]\n"                                                            \
    "smlald %Q[b1], %R[b1], %[w1], %[v]\n"                                                         \
    "sxtb16 %[w1], %[w1]\n"                                                                        \
    "smlad %[a1], %[w1], %[v], %[a1]\n"

/* Any even number of taps. */
#ifdef __OPTIMIZE_SIZE__
#define TINYRT_PAIRS TINYRT_PAIR
#else
#define TINYRT_PAIRS TINYRT_LOOP_OF(TINYRT_PAIR TINYRT_PAIR)
#endif

/** Adds the products of an even number of taps, not 0. Returns the end of w. */
static inline const int32_t *tinyrt_dot_pairs16(const int32_t *w, const int16_t *x, int32_t taps,
                                                tinyrt_raised_sums *sums) {
    const int16_t *const end = x + taps;
    const int32_t skip = tinyrt_skipped(taps, TINYRT_PAIR_CODE / 2);
    int32_t a0 = sums->even[0], a1 = sums->even[1];
    int64_t b0 = sums->odd[0], b1 = sums->odd[1];
    uint32_t v, w0, w1;
    (void)skip;
    __asm(TINYRT_ENTER("%[w0]") TINYRT_PAIRS "cmp %[x], %[end]\n"
                                             "bne 1b\n"
          : [a0] "+r"(a0), [a1] "+r"(a1), [b0] "+r"(b0), [b1] "+r"(b1), [w] "+r"(w), [x] "+r"(x),
            [v] "=&r"(v), [w0] "=&r"(w0), [w1] "=&r"(w1)
          : [end] "r"(end)TINYRT_SKIP(skip)
          : "cc", "memory");
    sums->even[0] = a0, sums->even[1] = a1;
    sums->odd[0] = b0, sums->odd[1] = b1;
    return w;
}

#undef TINYRT_LOAD_PAIR
#undef TINYRT_PAIR
#undef TINYRT_PAIRS

#else

static inline const int32_t *tinyrt_dot_pairs16(const int32_t *w, const int16_t *x, int32_t taps,
                                                tinyrt_raised_sums *sums) {
    for (const int16_t *const end = x + taps; x != end; x += 2, w += 2) {
        tinyrt_dot_pair16(w, tinyrt_load_word(x), sums);
    }
    return w;
}

#endif

/** What is above a neighbour's sum. */
static inline int32_t tinyrt_upper_sum(int64_t odd, int32_t even) {
    return (int32_t)((odd - even) >> 8);
}

/** Sets sum to a row's products with four channels. w holds for every two taps two words: pairs of
 *  256 * w1 + w0, and of 256 * w3 + w2.
 *  Requires: sums are below 2^31. Returns the end of w. */
static inline const int32_t *tinyrt_dot_row16(const int32_t *w, const tinyrt_row16 *row,
                                              int32_t sum[4]) {
    tinyrt_raised_sums sums = {{0, 0}, {0, 0}};
    if (row->whole != 0) {
        w = tinyrt_dot_pairs16(w, row->x, row->whole, &sums);
    }
    if (row->rest != 0) {
        tinyrt_dot_pair16(w, row->last, &sums);
        w += 2;
    }
    sum[0] = sums.even[0];
    sum[1] = tinyrt_upper_sum(sums.odd[0], sums.even[0]);
    sum[2] = sums.even[1];
    sum[3] = tinyrt_upper_sum(sums.odd[1], sums.even[1]);
    return w;
}

#endif
