/** Element-wise ops with two inputs, row by row: for kernels that take several elements at once. */
#ifndef TINYRT_ROWS_OF_PAIRS_H
#define TINYRT_ROWS_OF_PAIRS_H

#include "tinyrt_broadcast.h"

/** One row: count outputs from elements that lie a_step and b_step apart, each 0 or 1 or, where an
 *  input repeats in the midst, more. */
typedef void (*tinyrt_row_of_pairs)(const void *params, const int8_t *a, int32_t a_step,
                                    const int8_t *b, int32_t b_step, int32_t count, int8_t *y);
typedef void (*tinyrt_row_of_pairs_s16)(const void *params, const int16_t *a, int32_t a_step,
                                        const int16_t *b, int32_t b_step, int32_t count,
                                        int16_t *y);

/** All rows; row is a constant where this is called. The last axis but one is a plain loop. */
#define TINYRT_FOR_EACH_ROW(name, row_of_pairs, type)                                              \
    static inline void name(const tinyrt_broadcast *shape, row_of_pairs row, const void *params,   \
                            const type *a, const type *b, type *y) {                               \
        const int32_t last = shape->rank - 1;                                                      \
        const int32_t count = shape->dims[last];                                                   \
        const int32_t outer = (last > 0) ? (last - 1) : 0;                                         \
        const int32_t rows = (last > 0) ? shape->dims[outer] : 1;                                  \
        int32_t index[TINYRT_MAX_RANK] = {0};                                                      \
        do {                                                                                       \
            const type *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);             \
            const type *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);             \
            for (int32_t left = rows; left > 0; --left, y += count) {                              \
                row(params, a_row, shape->a_strides[last], b_row, shape->b_strides[last], count,   \
                    y);                                                                            \
                a_row += shape->a_strides[outer];                                                  \
                b_row += shape->b_strides[outer];                                                  \
            }                                                                                      \
        } while (tinyrt_next_index(outer, shape->dims, index) != 0);                               \
    }

TINYRT_FOR_EACH_ROW(tinyrt_for_each_row, tinyrt_row_of_pairs, int8_t)
TINYRT_FOR_EACH_ROW(tinyrt_for_each_row_s16, tinyrt_row_of_pairs_s16, int16_t)

#undef TINYRT_FOR_EACH_ROW

#endif
