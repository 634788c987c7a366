#include "tinyrt_rsqrt.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_inverse_root.h"

/* Extra fraction bits of a root, until it is rescaled. */
#define SPARE_BITS 20

void tinyrt_rsqrt_s16(int32_t size, int32_t mult, int32_t shift, const int16_t *x, int16_t *y) {
    for (int32_t i = 0; i < size; ++i) {
        int32_t value = INT16_MAX;
        if (x[i] > 0) {
            int32_t exponent;
            const int32_t root = tinyrt_inverse_root(x[i], &exponent);
            const int32_t raised = tinyrt_requant(1, root, exponent + SPARE_BITS);
            value = tinyrt_requant(raised, mult, shift - SPARE_BITS);
        }
        y[i] = (int16_t)tinyrt_clamp(value, INT16_MIN, INT16_MAX);
    }
}
