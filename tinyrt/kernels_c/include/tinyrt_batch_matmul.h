/** batch_matmul: products of matrices that are both computed. */
#ifndef TINYRT_BATCH_MATMUL_H
#define TINYRT_BATCH_MATMUL_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The batch has rank dimensions; a step of 0 repeats an operand. */
typedef struct {
    int32_t rank;
    int32_t batch[TINYRT_MAX_RANK];
    int32_t a_batch[TINYRT_MAX_RANK];
    int32_t b_batch[TINYRT_MAX_RANK];
    int32_t rows;
    int32_t inner;
    int32_t columns;
    int32_t a_row;
    int32_t a_inner;
    int32_t b_inner;
    int32_t b_column;
    int32_t a_zp;
    int32_t b_zp;
    int32_t y_mult;
    int32_t y_shift;
    int32_t y_zp;
} tinyrt_batch_matmul_s8_params;

/** y = clamp(requant((a - a_zp) @ (b - b_zp)) + y_zp) for each matrix of the batch.
 *  Requires: inner * 255 * 255 < 2^31. */
void tinyrt_batch_matmul_s8(const tinyrt_batch_matmul_s8_params *p, const int8_t *a,
                            const int8_t *b, int8_t *TINYRT_RESTRICT y);

/** y = clamp(requant(a @ b)) in int16, whose zero points are 0; y_mult has 15 bits and y_shift goes
 *  right. Requires: inner < 2^17. */
void tinyrt_batch_matmul_s16(const tinyrt_batch_matmul_s8_params *p, const int16_t *a,
                             const int16_t *b, int16_t *TINYRT_RESTRICT y);

/** As tinyrt_batch_matmul_s16, where b is int8 whose zero point is 0. */
void tinyrt_batch_matmul_s16_s8(const tinyrt_batch_matmul_s8_params *p, const int16_t *a,
                                const int8_t *b, int16_t *TINYRT_RESTRICT y);

/** Steps as in tinyrt_batch_matmul_s8_params. */
typedef struct {
    int32_t rank;
    int32_t batch[TINYRT_MAX_RANK];
    int32_t a_batch[TINYRT_MAX_RANK];
    int32_t b_batch[TINYRT_MAX_RANK];
    int32_t rows;
    int32_t inner;
    int32_t columns;
    int32_t a_row;
    int32_t a_inner;
    int32_t b_inner;
    int32_t b_column;
} tinyrt_batch_matmul_f32_params;

/** y = a @ b for each matrix of the batch. */
void tinyrt_batch_matmul_f32(const tinyrt_batch_matmul_f32_params *p, const float *a,
                             const float *b, float *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
