/** A dense layer over a window in time: filters of the input, and of their own past. */
#ifndef TINYRT_SVDF_H
#define TINYRT_SVDF_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** x is (batches, c_in), y (batches, units); there are units * rank filters, and each keeps memory
 *  features: what products with x make of the input, and zero point state_zp. */
typedef struct {
    int32_t batches;
    int32_t c_in;
    int32_t units;
    int32_t rank;
    int32_t memory;
    int32_t feature_mult;
    int32_t feature_shift;
    int32_t state_zp;
    int32_t time_mult;
    int32_t time_shift;
    int32_t y_zp;
} tinyrt_svdf_s8_params;

/** Shapes as above; outputs are limited to [act_min, act_max]. */
typedef struct {
    int32_t batches;
    int32_t c_in;
    int32_t units;
    int32_t rank;
    int32_t memory;
    float act_min;
    float act_max;
} tinyrt_svdf_f32_params;

/** y = requant(bias + sum(state * time)): each filter's row of features moves on by one, its newest
 *  feature comes behind it; start is what the input's zero point adds to that. Rows are read from
 * before and written to after, which may be the same; bias may be NULL. */
void tinyrt_svdf_s8(const tinyrt_svdf_s8_params *p, const int8_t *x, const int8_t *w,
                    const int32_t *start, const int8_t *time, const int32_t *bias,
                    const int8_t *before, int8_t *after, int8_t *y);

/** The same with int16 features and time weights. */
void tinyrt_svdf_s8_s16(const tinyrt_svdf_s8_params *p, const int8_t *x, const int8_t *w,
                        const int32_t *start, const int16_t *time, const int32_t *bias,
                        const int16_t *before, int16_t *after, int8_t *y);

/** The same in float. */
void tinyrt_svdf_f32(const tinyrt_svdf_f32_params *p, const float *x, const float *w,
                     const float *time, const float *bias, const float *before, float *after,
                     float *y);

#ifdef __cplusplus
}
#endif

#endif
