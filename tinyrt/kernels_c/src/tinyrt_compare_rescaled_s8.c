#include "tinyrt_compare.h"

#include "tinyrt_fixedpoint.h"

static inline int32_t a_of(const tinyrt_compare_rescaled_params *p, int32_t a) {
    return tinyrt_rescale(a, p->a_zp, TINYRT_COMPARE_LEFT, p->a_mult, p->a_shift);
}

static inline int32_t b_of(const tinyrt_compare_rescaled_params *p, int32_t b) {
    return tinyrt_rescale(b, p->b_zp, TINYRT_COMPARE_LEFT, p->b_mult, p->b_shift);
}

void tinyrt_compare_rescaled_s8(const tinyrt_compare_rescaled_params *p, const int8_t *a,
                                const int8_t *b, uint8_t *y) {
    TINYRT_COMPARE_BY(&p->order, int8_t, int32_t, a_of, b_of, p);
}
