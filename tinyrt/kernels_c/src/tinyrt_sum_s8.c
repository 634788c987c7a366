#include "tinyrt_sum.h"

#include "tinyrt_requant4.h"

void tinyrt_sum_s8(const tinyrt_sum_s8_params *params, const int8_t *plain, const int8_t *scaled,
                   int8_t *y) {
    /* A copy: the compiler need not read it again after each output. */
    const tinyrt_sum_s8_params p = *params;
    const int32_t half = (1 << p.scaled_shift) >> 1;
    const int32_t zp = (2 * p.y_zp) + 1;
    const int8_t *const end = y + p.size;
    while (y != end) {
        const int32_t high =
            tinyrt_high_mul((*scaled++ * p.scaled_factor) + p.scaled_addend, p.scaled_mult);
        const int32_t rescaled = (high + (high >> 31) + half) >> p.scaled_shift;
        const int32_t doubled =
            (*plain++ * p.plain_factor) + (rescaled * p.rescaled_factor) + p.addend;
        *y++ = tinyrt_requant_doubled(doubled, p.y_mult, p.y_shift, zp);
    }
}
