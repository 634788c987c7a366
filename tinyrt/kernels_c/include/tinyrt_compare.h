/** Comparisons of two tensors of one type, with broadcasting. */
#ifndef TINYRT_COMPARE_H
#define TINYRT_COMPARE_H

#include "tinyrt_index.h"
#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The output's dims and each input's strides, in elements: 0 where the input repeats. Bit i of
 *  accepted says whether the i-th of these makes the comparison true: less, equal, greater, neither
 *  (NaN). Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t a_strides[TINYRT_MAX_RANK];
    int32_t b_strides[TINYRT_MAX_RANK];
    int32_t accepted;
} tinyrt_compare_params;

/** The body that all types share. */
#define TINYRT_COMPARE(type)                                                                       \
    const int32_t outer = p->rank - 1;                                                             \
    const int32_t a_step = p->a_strides[outer];                                                    \
    const int32_t b_step = p->b_strides[outer];                                                    \
    int32_t index[TINYRT_MAX_RANK] = {0};                                                          \
    do {                                                                                           \
        const type *a_row = a + tinyrt_flat_index(outer, p->a_strides, index);                     \
        const type *b_row = b + tinyrt_flat_index(outer, p->b_strides, index);                     \
        for (int32_t i = 0; i < p->dims[outer]; ++i) {                                             \
            const type left = a_row[i * a_step];                                                   \
            const type right = b_row[i * b_step];                                                  \
            const int32_t order = left < right ? 0 : left == right ? 1 : left > right ? 2 : 3;     \
            *y++ = (uint8_t)((p->accepted >> order) & 1);                                          \
        }                                                                                          \
    } while (tinyrt_next_index(outer, p->dims, index))

/** y = whether a and b are in an accepted order, 0 or 1. y overlaps nothing. */
void tinyrt_compare_f32(const tinyrt_compare_params *p, const float *a, const float *b,
                        uint8_t *TINYRT_RESTRICT y);
void tinyrt_compare_s32(const tinyrt_compare_params *p, const int32_t *a, const int32_t *b,
                        uint8_t *TINYRT_RESTRICT y);
void tinyrt_compare_s64(const tinyrt_compare_params *p, const int64_t *a, const int64_t *b,
                        uint8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
