/** Element-wise ops with two inputs, of which either may repeat along some axes. */
#ifndef TINYRT_BROADCAST_H
#define TINYRT_BROADCAST_H

#include "tinyrt_index.h"
#include "tinyrt_types.h"

/** The output's dims and each input's strides, in elements: 0 where the input repeats.
 *  Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t a_strides[TINYRT_MAX_RANK];
    int32_t b_strides[TINYRT_MAX_RANK];
} tinyrt_broadcast;

/** One output element for two input elements; params are the kernel's own. */
typedef int8_t (*tinyrt_binary)(const void *params, int32_t a, int32_t b);
typedef int16_t (*tinyrt_binary_s16)(const void *params, int32_t a, int32_t b);

/** y = op(a, b), element by element. Compilers put op into the loop: it is a constant at each of
 *  the few places that call this. */
#define TINYRT_FOR_EACH_PAIR(name, binary, type)                                                   \
    static inline void name(const tinyrt_broadcast *shape, binary op, const void *params,          \
                            const type *a, const type *b, type *y) {                               \
        const int32_t outer = shape->rank - 1;                                                     \
        const int32_t a_step = shape->a_strides[outer];                                            \
        const int32_t b_step = shape->b_strides[outer];                                            \
        int32_t index[TINYRT_MAX_RANK] = {0};                                                      \
        do {                                                                                       \
            const type *a_row = a + tinyrt_flat_index(outer, shape->a_strides, index);             \
            const type *b_row = b + tinyrt_flat_index(outer, shape->b_strides, index);             \
            for (int32_t i = 0; i < shape->dims[outer]; ++i) {                                     \
                *y++ = op(params, a_row[i * a_step], b_row[i * b_step]);                           \
            }                                                                                      \
        } while (tinyrt_next_index(outer, shape->dims, index));                                    \
    }

TINYRT_FOR_EACH_PAIR(tinyrt_for_each_pair, tinyrt_binary, int8_t)
TINYRT_FOR_EACH_PAIR(tinyrt_for_each_pair_s16, tinyrt_binary_s16, int16_t)

#undef TINYRT_FOR_EACH_PAIR

#endif
