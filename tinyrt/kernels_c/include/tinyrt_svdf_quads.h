/** SVDF, four filters at a time, for cores with MVE. */
#ifndef TINYRT_SVDF_QUADS_H
#define TINYRT_SVDF_QUADS_H

#include "tinyrt_quads.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_svdf_s8_params. */
typedef struct {
    int32_t batches;
    int32_t c_in;
    int32_t units;
    int32_t rank;
    int32_t memory;
    tinyrt_quads_scale feature;
    int32_t state_zp;
    tinyrt_quads_scale time;
    int32_t y_zp;
} tinyrt_svdf_quads_params;

/** As tinyrt_svdf_s8. w holds quads of filters as tinyrt_product_s8_params describes them, start
 *  their first sums; bias contains what the state's zero point adds, and is padded to a multiple of
 *  four. */
void tinyrt_svdf_quads_s8(const tinyrt_svdf_quads_params *p, const int8_t *x, const int8_t *w,
                          const int32_t *start, const int8_t *time, const int32_t *bias,
                          const int8_t *before, int8_t *after, int8_t *y);

/** The same with int16 features and time weights. */
void tinyrt_svdf_quads_s8_s16(const tinyrt_svdf_quads_params *p, const int8_t *x, const int8_t *w,
                              const int32_t *start, const int16_t *time, const int32_t *bias,
                              const int16_t *before, int16_t *after, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
