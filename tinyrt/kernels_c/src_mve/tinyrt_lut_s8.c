#include "tinyrt_lut.h"

#include "tinyrt_mve.h"

void tinyrt_lut_s8(const int8_t *table, int32_t size, const int8_t *x, int8_t *y) {
    for (; size > 0; size -= TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)size);
        const uint8x16_t index = vreinterpretq_u8_s8(vldrbq_z_s8(x, lanes));
        vstrbq_p_s8(y, vldrbq_gather_offset_z_s8(table, index, lanes), lanes);
        x += TINYRT_VECTOR;
        y += TINYRT_VECTOR;
    }
}
