#include "tinyrt_column_sums.h"

#include "tinyrt_mve.h"

void tinyrt_column_sums_s8(int32_t pixels, int32_t channels, const int8_t *x, int32_t *sums) {
    for (int32_t left = channels; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        int32x4_t sum = vldrwq_z_s32(sums, lanes);
        const int8_t *tap = x;
        for (int32_t i = pixels; i > 0; --i) {
            sum = vaddq_s32(sum, vldrbq_z_s32(tap, lanes));
            tap += channels;
        }
        vstrwq_p_s32(sums, sum, lanes);
        sums += 4;
        x += 4;
    }
}
