/** SVDF with vectors as the function TINYRT_KERNEL over a state of TINYRT_STATE, of
 * TINYRT_STATE_MIN to TINYRT_STATE_MAX. TINYRT_SCATTER(at, places, values, lanes) stores features,
 * TINYRT_PAST adds products of the state to a sum. A source sets these and includes this. */
#ifndef TINYRT_SVDF_QUADS_LOOP_H
#define TINYRT_SVDF_QUADS_LOOP_H

#include "tinyrt_svdf_quads.h"
#define TINYRT_WEIGHT_BITS 8
#include "tinyrt_mve_dot.h"
#include "tinyrt_mve_memory.h"
#include "tinyrt_mve_rescale.h"

/** The newest feature of every filter, to the end of its row. */
static TINYRT_NOINLINE void tinyrt_svdf_features(const tinyrt_svdf_quads_params *p, const int8_t *x,
                                                 const int8_t *w, const int32_t *start,
                                                 TINYRT_STATE *newest) {
    const uint32_t patch = tinyrt_mve_patch(p->c_in);
    /* Copies: the compiler need not read them again after features are stored. */
    const tinyrt_quads_scale feature = p->feature;
    const int32_t zp = p->state_zp;
    const int32_t step = 4 * p->memory;
    const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)p->memory);
    x += tinyrt_mve_first_bytes(p->c_in);
    for (int32_t left = p->units * p->rank; left > 0; left -= 4) {
        const int32x4_t sum = tinyrt_mve_next_dot(patch, x, &w);
        int32x4_t value = tinyrt_mve_rescale(&feature, vaddq_s32(sum, vldrwq_s32(start)));
        value = tinyrt_mve_limit(value, TINYRT_STATE_MIN, TINYRT_STATE_MAX);
        value = vaddq_n_s32(value, zp);
        TINYRT_SCATTER(newest, places, value, vctp32q((uint32_t)left));
        start += 4;
        newest += step;
    }
}

/** Outputs of all units, four at a time. */
static TINYRT_NOINLINE void tinyrt_svdf_outputs(const tinyrt_svdf_quads_params *p,
                                                const TINYRT_STATE *state, const TINYRT_STATE *time,
                                                const int32_t *bias, int8_t *y) {
    const int32_t length = p->rank * p->memory;
    const int32_t lanes = TINYRT_VECTOR / (int32_t)sizeof(TINYRT_STATE);
    const int32_t beyond = -length & (lanes - 1);
    for (int32_t left = p->units; left > 0; left -= 4) {
        const int32_t count = (left < 4) ? left : 4;
        int32_t sum[4] = {0};
        for (int32_t i = 0; i < count; ++i) {
            sum[i] = TINYRT_PAST(&state, &time, length);
            state -= beyond;
            time -= beyond;
        }
        const int32x4_t acc = vaddq_s32(vldrwq_s32(sum), vldrwq_s32(bias));
        const int32x4_t value = vqaddq_n_s32(tinyrt_mve_rescale(&p->time, acc), p->y_zp);
        vstrbq_p_s32(y, tinyrt_mve_limit(value, INT8_MIN, INT8_MAX), vctp32q((uint32_t)left));
        bias += 4;
        y += 4;
    }
}

void TINYRT_KERNEL(const tinyrt_svdf_quads_params *p, const int8_t *x, const int8_t *w,
                   const int32_t *start, const TINYRT_STATE *time, const int32_t *bias,
                   const TINYRT_STATE *before, TINYRT_STATE *after, int8_t *y) {
    const int32_t state = p->units * p->rank * p->memory;
    for (int32_t n = 0; n < p->batches; ++n) {
        tinyrt_mve_copy((int8_t *)after, (const int8_t *)(before + 1),
                        (state - 1) * (int32_t)sizeof(TINYRT_STATE));
        tinyrt_svdf_features(p, x, w, start, after + p->memory - 1);
        tinyrt_svdf_outputs(p, after, time, bias, y);
        before += state;
        after += state;
        x += p->c_in;
        y += p->units;
    }
}

#endif
