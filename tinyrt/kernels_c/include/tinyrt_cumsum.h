/** cumsum: running sums along one dimension. */
#ifndef TINYRT_CUMSUM_H
#define TINYRT_CUMSUM_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The input as (outer, depth, inner); sums run along depth. */
typedef struct {
    int32_t outer;
    int32_t depth;
    int32_t inner;
    int32_t exclusive;
    int32_t reverse;
    int32_t x_zp;
    int32_t y_mult;
    int32_t y_shift;
    int32_t y_zp;
} tinyrt_cumsum_s8_params;

/** y = clamp(requant(sums of x - x_zp, from -x_zp on) + y_zp), all raised by 19 bits. y may be
 *  x. */
void tinyrt_cumsum_s8(const tinyrt_cumsum_s8_params *p, const int8_t *x, int8_t *y);

/** The same on floats. */
typedef struct {
    int32_t outer;
    int32_t depth;
    int32_t inner;
    int32_t exclusive;
    int32_t reverse;
} tinyrt_cumsum_f32_params;

/** y = sums of x. y may be x. */
void tinyrt_cumsum_f32(const tinyrt_cumsum_f32_params *p, const float *x, float *y);

#ifdef __cplusplus
}
#endif

#endif
