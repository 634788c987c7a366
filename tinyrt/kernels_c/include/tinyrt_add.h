/** add, sub and squared_difference: rescaled sums and differences, with broadcasting. */
#ifndef TINYRT_ADD_H
#define TINYRT_ADD_H

#include "tinyrt_broadcast.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Both inputs are brought to one scale with left_shift bits of headroom before they are added. */
typedef struct {
    tinyrt_broadcast shape;
    int32_t left_shift;
    int32_t a_zp;
    int32_t a_mult;
    int32_t a_shift;
    int32_t b_zp;
    int32_t b_mult;
    int32_t b_shift;
    int32_t y_zp;
    int32_t y_mult;
    int32_t y_shift;
    int32_t act_min;
    int32_t act_max;
} tinyrt_add_s8_params;

/** y = clamp(requant(requant((a - a_zp) << left_shift) + requant((b - b_zp) << left_shift)) +
 * y_zp). y may be an input that does not repeat. */
void tinyrt_add_s8(const tinyrt_add_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y);

/** As tinyrt_add_s8, with the second input subtracted. */
void tinyrt_sub_s8(const tinyrt_add_s8_params *p, const int8_t *a, const int8_t *b, int8_t *y);

/** As tinyrt_sub_s8, with the difference squared.
 *  Requires: no difference at the common scale exceeds 46340. */
void tinyrt_squared_difference_s8(const tinyrt_add_s8_params *p, const int8_t *a, const int8_t *b,
                                  int8_t *y);

/** As tinyrt_add_s8, for int16. */
void tinyrt_add_s16(const tinyrt_add_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y);

/** As tinyrt_squared_difference_s8, for int16: there are no bits of headroom. */
void tinyrt_squared_difference_s16(const tinyrt_add_s8_params *p, const int16_t *a,
                                   const int16_t *b, int16_t *y);

/** As tinyrt_sub_s8, for int16. */
void tinyrt_sub_s16(const tinyrt_add_s8_params *p, const int16_t *a, const int16_t *b, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
