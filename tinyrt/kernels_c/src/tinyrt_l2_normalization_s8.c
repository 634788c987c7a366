#include "tinyrt_l2_normalization.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_inverse_root.h"

void tinyrt_l2_normalization_s8(int32_t rows, int32_t c, int32_t x_zp, int32_t early_bits,
                                const int8_t *x, int8_t *y) {
    const int32_t early = 1 << early_bits, late_bits = 7 - early_bits;
    for (int32_t row = 0; row < rows; ++row) {
        int32_t sum = 0, shift;
        for (int32_t i = 0; i < c; ++i) {
            sum += (x[i] - x_zp) * (x[i] - x_zp);
        }
        const int32_t mult = tinyrt_inverse_root(sum, &shift);
        for (int32_t i = 0; i < c; ++i) {
            const int32_t value = tinyrt_requant((x[i] - x_zp) * early, mult, shift + late_bits);
            y[i] = (int8_t)tinyrt_clamp(value, INT8_MIN, INT8_MAX);
        }
        x += c;
        y += c;
    }
}
