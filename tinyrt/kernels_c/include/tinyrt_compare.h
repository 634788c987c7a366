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

/** The same for quantised inputs of different scales, each brought to steps of 1/256:
 *  mult * 2^(shift - 31) is its scale. Requires: shifts in [-31, 0]. */
typedef struct {
    tinyrt_compare_params order;
    int32_t a_zp;
    int32_t a_mult;
    int32_t a_shift;
    int32_t b_zp;
    int32_t b_mult;
    int32_t b_shift;
} tinyrt_compare_rescaled_params;

/** Bits by which quantised inputs are raised before they are rescaled. */
#define TINYRT_COMPARE_LEFT 8

/** The body that all types share; a_of and b_of take p and an element of type, and give one of
 *  common. */
#define TINYRT_COMPARE_BY(p, type, common, a_of, b_of, params)                                     \
    const int32_t outer = (p)->rank - 1;                                                           \
    const int32_t a_step = (p)->a_strides[outer];                                                  \
    const int32_t b_step = (p)->b_strides[outer];                                                  \
    int32_t index[TINYRT_MAX_RANK] = {0};                                                          \
    do {                                                                                           \
        const type *a_row = a + tinyrt_flat_index(outer, (p)->a_strides, index);                   \
        const type *b_row = b + tinyrt_flat_index(outer, (p)->b_strides, index);                   \
        for (int32_t i = 0; i < (p)->dims[outer]; ++i) {                                           \
            const common left = a_of(params, a_row[i * a_step]);                                   \
            const common right = b_of(params, b_row[i * b_step]);                                  \
            const int32_t order = left < right ? 0 : left == right ? 1 : left > right ? 2 : 3;     \
            *y++ = (uint8_t)(((p)->accepted >> order) & 1);                                        \
        }                                                                                          \
    } while (tinyrt_next_index(outer, (p)->dims, index))

/** An element as it is stored. */
#define TINYRT_AS_STORED(params, element) (element)

/** The body for elements that compare as they are stored. */
#define TINYRT_COMPARE(type) TINYRT_COMPARE_BY(p, type, type, TINYRT_AS_STORED, TINYRT_AS_STORED, p)

/** y = whether a and b are in an accepted order, 0 or 1. y may be an input that does not repeat. */
void tinyrt_compare_f32(const tinyrt_compare_params *p, const float *a, const float *b, uint8_t *y);
void tinyrt_compare_s8(const tinyrt_compare_params *p, const int8_t *a, const int8_t *b,
                       uint8_t *y);
void tinyrt_compare_s16(const tinyrt_compare_params *p, const int16_t *a, const int16_t *b,
                        uint8_t *y);
void tinyrt_compare_s32(const tinyrt_compare_params *p, const int32_t *a, const int32_t *b,
                        uint8_t *y);
void tinyrt_compare_s64(const tinyrt_compare_params *p, const int64_t *a, const int64_t *b,
                        uint8_t *y);
/** The same for inputs of which b says by a table, read as an unsigned byte, between which values
 * of a the comparison is true, or false where p->accepted is 0: an entry is the first one, counted
 * from -128, and 65536 times how many they are. */
void tinyrt_compare_table_s8(const tinyrt_compare_params *p, const uint32_t *table, const int8_t *a,
                             const int8_t *b, uint8_t *y);
void tinyrt_compare_rescaled_s8(const tinyrt_compare_rescaled_params *p, const int8_t *a,
                                const int8_t *b, uint8_t *y);
void tinyrt_compare_rescaled_s16(const tinyrt_compare_rescaled_params *p, const int16_t *a,
                                 const int16_t *b, uint8_t *y);

#ifdef __cplusplus
}
#endif

#endif
