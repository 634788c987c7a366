/** Reductions: one value for all elements along some axes. */
#ifndef TINYRT_REDUCE_H
#define TINYRT_REDUCE_H

#include "tinyrt_index.h"
#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The axes that stay and those that go, with their strides in x, in elements.
 *  Requires: 1 <= kept_rank, reduced_rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t kept_rank;
    int32_t kept_dims[TINYRT_MAX_RANK];
    int32_t kept_strides[TINYRT_MAX_RANK];
    int32_t reduced_rank;
    int32_t reduced_dims[TINYRT_MAX_RANK];
    int32_t reduced_strides[TINYRT_MAX_RANK];
} tinyrt_reduction;

/** What is known after one more element. */
typedef int32_t (*tinyrt_fold)(int32_t so_far, int32_t x);

/** All elements that go into one output, of which x is the first, one after the other. */
#define TINYRT_FOLD(name, type)                                                                    \
    static inline int32_t name(const tinyrt_reduction *r, tinyrt_fold fold, int32_t so_far,        \
                               const type *x) {                                                    \
        const int32_t outer = r->reduced_rank - 1;                                                 \
        const int32_t count = r->reduced_dims[outer];                                              \
        const int32_t step = r->reduced_strides[outer];                                            \
        int32_t index[TINYRT_MAX_RANK] = {0};                                                      \
        do {                                                                                       \
            const type *from = x + tinyrt_flat_index(outer, r->reduced_strides, index);            \
            for (int32_t i = 0; i < count; ++i, from += step) {                                    \
                so_far = fold(so_far, *from);                                                      \
            }                                                                                      \
        } while (tinyrt_next_index(outer, r->reduced_dims, index));                                \
        return so_far;                                                                             \
    }

TINYRT_FOLD(tinyrt_fold_s8, int8_t)
TINYRT_FOLD(tinyrt_fold_s16, int16_t)

#undef TINYRT_FOLD

/** Moves index on to the next output; the distance of its first element in x is at. */
static inline int tinyrt_next_kept(const tinyrt_reduction *r, int32_t *index, int32_t *at) {
    const int more = tinyrt_next_index(r->kept_rank, r->kept_dims, index);
    *at = tinyrt_flat_index(r->kept_rank, r->kept_strides, index);
    return more;
}

/** y = the greatest x, raw values. y overlaps nothing. */
void tinyrt_reduce_max_s8(const tinyrt_reduction *p, const int8_t *x, int8_t *TINYRT_RESTRICT y);

/** y = the least x, raw values. y overlaps nothing. */
void tinyrt_reduce_min_s8(const tinyrt_reduction *p, const int8_t *x, int8_t *TINYRT_RESTRICT y);

/** As tinyrt_reduce_max_s8, for int16. */
void tinyrt_reduce_max_s16(const tinyrt_reduction *p, const int16_t *x, int16_t *TINYRT_RESTRICT y);

/** As tinyrt_reduce_min_s8, for int16. */
void tinyrt_reduce_min_s16(const tinyrt_reduction *p, const int16_t *x, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
