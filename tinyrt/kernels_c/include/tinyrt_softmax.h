/** softmax over the last axis, in fixed point and in float. */
#ifndef TINYRT_SOFTMAX_H
#define TINYRT_SOFTMAX_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** x_mult and x_shift bring differences of x to Q5.26; differences below diff_min give 0.
 *  Requires: c < 2^12; x_shift is not negative. */
typedef struct {
    int32_t rows;
    int32_t c;
    int32_t x_mult;
    int32_t x_shift;
    int32_t diff_min;
} tinyrt_softmax_s8_params;

/** y = exp(x - max) / sum(exp(x - max)) at scale 1/256 and zero point -128. y may be x. */
void tinyrt_softmax_s8(const tinyrt_softmax_s8_params *p, const int8_t *x, int8_t *y);

/** exponentials: exp of minus i steps of x in Q0.31, for i in 0 to 255. Requires: c < 2^12. */
typedef struct {
    int32_t rows;
    int32_t c;
    const int32_t *exponentials;
} tinyrt_softmax_table_s8_params;

/** As tinyrt_softmax_s8, with exponentials from a table. */
void tinyrt_softmax_table_s8(const tinyrt_softmax_table_s8_params *p, const int8_t *x, int8_t *y);

/** As tinyrt_softmax_table_s8, at scale 1/65536 and zero point -32768. y overlaps nothing. */
void tinyrt_softmax_table_s8_s16(const tinyrt_softmax_table_s8_params *p, const int8_t *x,
                                 int16_t *TINYRT_RESTRICT y);

/** y = exp(beta * x) / sum(exp(beta * x)) of each of the rows of c elements. y may be x. */
void tinyrt_softmax_f32(int32_t rows, int32_t c, float beta, const float *x, float *y);

/** y = x - log(sum(exp(x))) of each of the rows of c elements. y may be x. */
void tinyrt_log_softmax_f32(int32_t rows, int32_t c, const float *x, float *y);

/** exponentials: exp over [-10, 0], reciprocals: 1 / (1 + x) over [0, 1], both in Q0.15 with 513
 *  entries; mult and shift bring differences of x to steps of 10 / 65535.
 *  Requires: c < 2^16. */
typedef struct {
    int32_t rows;
    int32_t c;
    int32_t x_mult;
    int32_t x_shift;
    const int16_t *exponentials;
    const int16_t *reciprocals;
} tinyrt_softmax_s16_params;

/** y = exp(x - max) / sum(exp(x - max)) at scale 2^-15. y may be x. */
void tinyrt_softmax_s16(const tinyrt_softmax_s16_params *p, const int16_t *x, int16_t *y);

/** As tinyrt_softmax_s16, by DSP instructions. Requires: x_shift in [-15, 13]. */
void tinyrt_softmax_pairs_s16(const tinyrt_softmax_s16_params *p, const int16_t *x, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
