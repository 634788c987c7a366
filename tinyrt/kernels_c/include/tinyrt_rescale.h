/** rescale: values brought to another scale, each side with a factor of its own. */
#ifndef TINYRT_RESCALE_H
#define TINYRT_RESCALE_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** mult and shift serve x >= x_zp, neg_mult and neg_shift the others. */
typedef struct {
    int32_t size;
    int32_t x_zp;
    int32_t mult;
    int32_t shift;
    int32_t neg_mult;
    int32_t neg_shift;
    int32_t y_zp;
    int32_t act_min;
    int32_t act_max;
} tinyrt_rescale_params;

/** y = clamp(requant(x - x_zp) + y_zp). y may be x. */
void tinyrt_rescale_s16(const tinyrt_rescale_params *p, const int16_t *x, int16_t *y);

/** As tinyrt_rescale_s16, to int8. y overlaps nothing. */
void tinyrt_rescale_s16_s8(const tinyrt_rescale_params *p, const int16_t *x,
                           int8_t *TINYRT_RESTRICT y);

/** As tinyrt_rescale_s16, from int8. y overlaps nothing. */
void tinyrt_rescale_s8_s16(const tinyrt_rescale_params *p, const int8_t *x,
                           int16_t *TINYRT_RESTRICT y);

/** As tinyrt_rescale_s16, to int32. y overlaps nothing. */
void tinyrt_rescale_s16_s32(const tinyrt_rescale_params *p, const int16_t *x,
                            int32_t *TINYRT_RESTRICT y);

/** As tinyrt_rescale_s16, from int8 to int32. y overlaps nothing. */
void tinyrt_rescale_s8_s32(const tinyrt_rescale_params *p, const int8_t *x,
                           int32_t *TINYRT_RESTRICT y);

/** As tinyrt_rescale_s16, from int32. x_zp is 0. y overlaps nothing. */
void tinyrt_rescale_s32_s16(const tinyrt_rescale_params *p, const int32_t *x,
                            int16_t *TINYRT_RESTRICT y);

/** As tinyrt_rescale_s16, from int32 to int8. x_zp is 0. y overlaps nothing. */
void tinyrt_rescale_s32_s8(const tinyrt_rescale_params *p, const int32_t *x,
                           int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
