/** SVDF whose feature weights are packed, as those of a dense layer of one row. */
#ifndef TINYRT_SVDF_BLOCK_H
#define TINYRT_SVDF_BLOCK_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_svdf_s8_params. Twice a feature's sum, times feature_mult and rounded, goes right by
 *  feature_next - 1, where feature_rounding is 2^(feature_next - 1). How far the sums themselves go
 *  before, those of even filters left and those of odd ones, which are held times 256, right:
 *  feature_even and feature_odd. */
typedef struct {
    int32_t batches;
    int32_t c_in;
    int32_t units;
    int32_t rank;
    int32_t memory;
    int32_t feature_mult;
    int32_t feature_even;
    int32_t feature_odd;
    int32_t feature_rounding;
    int32_t feature_next;
    int32_t state_zp;
    int32_t time_mult;
    int32_t time_shift;
    int32_t y_zp;
} tinyrt_svdf_block_params;

/** As tinyrt_svdf_s8. w is packed as that of tinyrt_dense_row_s8, start holds first sums as in
 *  tinyrt_block_s8_params; bias contains what the state's zero point adds.
 *  Requires: sums of odd filters are below 2^23, all others below 2^29. */
void tinyrt_svdf_block_s8(const tinyrt_svdf_block_params *p, const int8_t *x, const int32_t *w,
                          const int32_t *start, const int8_t *time, const int32_t *bias,
                          const int8_t *before, int8_t *after, int8_t *y);

/** The same with int16 features and time weights. */
void tinyrt_svdf_block_s8_s16(const tinyrt_svdf_block_params *p, const int8_t *x, const int32_t *w,
                              const int32_t *start, const int16_t *time, const int32_t *bias,
                              const int16_t *before, int16_t *after, int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
