/** Element-wise ops with two inputs for cores with MVE, four outputs at a time. */
#ifndef TINYRT_MVE_ROWS_OF_PAIRS_H
#define TINYRT_MVE_ROWS_OF_PAIRS_H

#include "tinyrt_mve.h"
#include "tinyrt_rows_of_pairs.h"

/** Four outputs of as many elements of both inputs; values is what the rows have in common. */
typedef int32x4_t (*tinyrt_mve_four)(const void *values, int32x4_t a, int32x4_t b);

/** A row of neighbours, which are loaded as they lie, or of elements at any distance; dense and
 *  four are constants where this is called. */
#define TINYRT_MVE_ROW(name, type, load, gather, store)                                            \
    static inline void name##_lanes(tinyrt_mve_four four, const void *values, int dense,           \
                                    const type *a, int32_t a_step, const type *b, int32_t b_step,  \
                                    int32_t count, type *y) {                                      \
        const uint32x4_t lane = vidupq_n_u32(0, 1);                                                \
        const uint32x4_t a_lanes = vmulq_n_u32(lane, (uint32_t)a_step);                            \
        const uint32x4_t b_lanes = vmulq_n_u32(lane, (uint32_t)b_step);                            \
        for (; count > 0; count -= 4, y += 4) {                                                    \
            const mve_pred16_t lanes = vctp32q((uint32_t)count);                                   \
            const int32x4_t from_a = dense ? load(a, lanes) : gather(a, a_lanes, lanes);           \
            const int32x4_t from_b = dense ? load(b, lanes) : gather(b, b_lanes, lanes);           \
            store(y, four(values, from_a, from_b), lanes);                                         \
            a += 4 * a_step;                                                                       \
            b += 4 * b_step;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static inline void name(tinyrt_mve_four four, const void *values, const type *a,               \
                            int32_t a_step, const type *b, int32_t b_step, int32_t count,          \
                            type *y) {                                                             \
        if ((a_step == 1) && (b_step == 1)) {                                                      \
            name##_lanes(four, values, 1, a, 1, b, 1, count, y);                                   \
        } else {                                                                                   \
            name##_lanes(four, values, 0, a, a_step, b, b_step, count, y);                         \
        }                                                                                          \
    }

TINYRT_MVE_ROW(tinyrt_mve_row_s8, int8_t, vldrbq_z_s32, vldrbq_gather_offset_z_s32, vstrbq_p_s32)
TINYRT_MVE_ROW(tinyrt_mve_row_s16, int16_t, vldrhq_z_s32, vldrhq_gather_shifted_offset_z_s32,
               vstrhq_p_s32)

#undef TINYRT_MVE_ROW

#endif
