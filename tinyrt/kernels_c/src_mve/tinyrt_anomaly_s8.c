#include "tinyrt_anomaly.h"

#include "tinyrt_alarm.h"
#include "tinyrt_mve.h"

/** Four differences. */
static inline int32x4_t far(const tinyrt_anomaly_params *p, int32x4_t x, int32x4_t y,
                            int32x4_t same) {
    const int32x4_t seen = vmlaq_n_s32(same, x, p->x_mult);
    return vshrq_n_s32(vmlaq_n_s32(seen, y, -p->y_mult), 5);
}

int32_t tinyrt_anomaly_s8(const tinyrt_anomaly_params *params, const int8_t *x, const int8_t *y,
                          int32_t *state, uint64_t *sum) {
    const tinyrt_anomaly_params own = *params;
    const tinyrt_anomaly_params *const p = &own;
    const int32x4_t same = vdupq_n_s32(tinyrt_without_difference(p));
    const int32_t whole = p->size & ~3;
    int64_t squares = 0;
    for (int32_t i = 0; i < whole; i += 4) {
        const int32x4_t difference = far(p, vldrbq_s32(x + i), vldrbq_s32(y + i), same);
        squares = vmlaldavaq_s32(squares, difference, difference);
    }
    if (whole != p->size) {
        const mve_pred16_t rest = vctp32q((uint32_t)(p->size - whole));
        const int32x4_t left_x = vldrbq_z_s32(x + whole, rest);
        const int32x4_t left_y = vldrbq_z_s32(y + whole, rest);
        const int32x4_t difference = far(p, left_x, left_y, same);
        squares = vmlaldavaq_p_s32(squares, difference, difference, rest);
    }
    *sum = (uint64_t)squares;
    return tinyrt_alarm(p, (uint64_t)squares, state);
}
