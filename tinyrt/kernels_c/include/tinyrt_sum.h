/** sum: add and sub. */
#ifndef TINYRT_SUM_H
#define TINYRT_SUM_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input of the larger scale takes part as it is, times a power of two; the other one is
 *  rescaled first: rescaled = round(scaled_factor * x + scaled_addend, scaled_mult, scaled_shift).
 *  The doubled sum is plain_factor * x_plain + rescaled * rescaled_factor + addend; factors are
 *  negative where an input is subtracted.
 *  Requires: shifts in [1, 22] for y and [1, 30] for the scaled input. */
typedef struct {
    int32_t size;
    int32_t scaled_factor;
    int32_t scaled_addend;
    int32_t scaled_mult;
    int32_t scaled_shift;
    int32_t rescaled_factor;
    int32_t plain_factor;
    int32_t addend;
    int32_t y_mult;
    int32_t y_shift;
    int32_t y_zp;
} tinyrt_sum_s8_params;

/** y = requant(plain +- rescaled) + y_zp; y may be an input. */
void tinyrt_sum_s8(const tinyrt_sum_s8_params *p, const int8_t *plain, const int8_t *scaled,
                   int8_t *y);

/** The first input of shape is the plain one. */
typedef struct {
    tinyrt_broadcast shape;
    tinyrt_sum_s8_params sum;
} tinyrt_sum_rows_s8_params;

/** As tinyrt_sum_s8 where an input repeats. y may be one that does not. */
void tinyrt_sum_rows_s8(const tinyrt_sum_rows_s8_params *p, const int8_t *plain,
                        const int8_t *scaled, int8_t *y);

/** y = limit(a_factor * a + b_factor * b + addend), where limit takes 21 bits off, rounding down.
 *  On DSP cores factors are times 2^8, each product loses these bits before the addition, and the
 *  result is 128 more than y. Requires: sums stay below 2^31. */
typedef struct {
    int32_t a_factor;
    int32_t b_factor;
    int32_t addend;
} tinyrt_linear_sum;

typedef struct {
    int32_t size;
    tinyrt_linear_sum sum;
} tinyrt_linear_sum_s8_params;

/** Sums of two tensors of one shape; y may be an input. */
void tinyrt_linear_sum_s8(const tinyrt_linear_sum_s8_params *p, const int8_t *a, const int8_t *b,
                          int8_t *y);

typedef struct {
    tinyrt_broadcast shape;
    tinyrt_linear_sum sum;
} tinyrt_linear_sum_rows_s8_params;

/** As tinyrt_linear_sum_s8 where an input repeats. y may be one that does not. */
void tinyrt_linear_sum_rows_s8(const tinyrt_linear_sum_rows_s8_params *p, const int8_t *a,
                               const int8_t *b, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
