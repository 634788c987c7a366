/** reduce_prod: rescaled product along some axes. */
#ifndef TINYRT_REDUCE_PROD_H
#define TINYRT_REDUCE_PROD_H

#include "tinyrt_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/** mult * 2^-right = x_scale / y_scale^(1 / n) for products of n factors.
 *  Requires: 0 <= mult < 2^15, right in [8, 46]. */
typedef struct {
    tinyrt_reduction axes;
    int32_t x_zp;
    int32_t y_zp;
    int32_t mult;
    int32_t right;
} tinyrt_reduce_prod_params;

/** A product at the next scale, halves towards +infinity; it wraps as a register does. */
static inline int32_t tinyrt_rescale_product(const tinyrt_reduce_prod_params *p, int64_t product) {
    return (int32_t)(((product * p->mult) + (INT64_C(1) << (p->right - 1))) >> p->right);
}

/** The product of the elements that go into one output, of which x is the first. */
#define TINYRT_PRODUCT(name, type)                                                                 \
    static inline int32_t name(const tinyrt_reduce_prod_params *p, const type *x) {                \
        const tinyrt_reduction *r = &p->axes;                                                      \
        int32_t index[TINYRT_MAX_RANK] = {0};                                                      \
        int32_t product = x[0] - p->x_zp;                                                          \
        while (tinyrt_next_index(r->reduced_rank, r->reduced_dims, index) != 0) {                  \
            const int32_t at = tinyrt_flat_index(r->reduced_rank, r->reduced_strides, index);      \
            product = tinyrt_rescale_product(p, (int64_t)product * (x[at] - p->x_zp));             \
        }                                                                                          \
        return tinyrt_rescale_product(p, product);                                                 \
    }

TINYRT_PRODUCT(tinyrt_product_of_s8, int8_t)
TINYRT_PRODUCT(tinyrt_product_of_s16, int16_t)

#undef TINYRT_PRODUCT

/** y = clamp(product of (x - x_zp), rescaled at each factor, + y_zp). y overlaps nothing. */
void tinyrt_reduce_prod_s8(const tinyrt_reduce_prod_params *p, const int8_t *x,
                           int8_t *TINYRT_RESTRICT y);

/** As tinyrt_reduce_prod_s8, for int16, whose zero points are 0. */
void tinyrt_reduce_prod_s16(const tinyrt_reduce_prod_params *p, const int16_t *x,
                            int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
