/** SVDF with vectors as the function TINYRT_KERNEL over a state of TINYRT_STATE_BITS, 8 or 16,
 * which are set where this is included. */
#ifndef TINYRT_SVDF_MVE_LOOP_H
#define TINYRT_SVDF_MVE_LOOP_H

#include "tinyrt_svdf_quads.h"
#define TINYRT_WEIGHT_BITS 8
#include "tinyrt_mve_dot.h"
#include "tinyrt_mve_memory.h"
#include "tinyrt_mve_rescale.h"

#if TINYRT_STATE_BITS == 8
#define TINYRT_STATE int8_t
#define TINYRT_STATE_MIN INT8_MIN
#define TINYRT_STATE_MAX INT8_MAX
#define TINYRT_STATE_LANES 16
#define TINYRT_OF_STATE(of_bytes, of_halves) of_bytes
#define TINYRT_BEGIN_STATE "wlstp.8"
#define TINYRT_LOAD_STATE "vldrb.8"
#define TINYRT_ADD_STATE "vmladava.s8"
#else
#define TINYRT_STATE int16_t
#define TINYRT_STATE_MIN INT16_MIN
#define TINYRT_STATE_MAX INT16_MAX
#define TINYRT_STATE_LANES 8
#define TINYRT_OF_STATE(of_bytes, of_halves) of_halves
#define TINYRT_BEGIN_STATE "wlstp.16"
#define TINYRT_LOAD_STATE "vldrh.16"
#define TINYRT_ADD_STATE "vmladava.s16"
#endif
#define TINYRT_SCATTER                                                                             \
    TINYRT_OF_STATE(vstrbq_scatter_offset_p_s32, vstrhq_scatter_shifted_offset_p_s32)

/** The products of a unit's state with its weights, which go on by whole vectors. */
static inline int32_t tinyrt_svdf_past(const TINYRT_STATE **state, const TINYRT_STATE **weights,
                                       int32_t length) {
    const TINYRT_STATE *of_state = *state;
    const TINYRT_STATE *of_weights = *weights;
    int32_t sum = 0;
#if TINYRT_ASM_LOOPS
    __asm volatile(TINYRT_BEGIN_STATE " lr, %[length], 2f\n"    //
                                      "1:\n"                    //
                   TINYRT_LOAD_STATE " q0, [%[state]], #16\n"   //
                   TINYRT_LOAD_STATE " q1, [%[weights]], #16\n" //
                   TINYRT_ADD_STATE " %[sum], q0, q1\n"         //
                                      "letp lr, 1b\n"
                                      "2:\n"
                   : [sum] "+Te"(sum), [state] "+r"(of_state), [weights] "+r"(of_weights)
                   : [length] "r"(length)
                   : "lr", "q0", "q1", "memory");
#else
    for (; length > 0; length -= TINYRT_STATE_LANES) {
        const mve_pred16_t lanes = TINYRT_OF_STATE(vctp8q, vctp16q)((uint32_t)length);
        sum = TINYRT_OF_STATE(vmladavaq_s8, vmladavaq_s16)(
            sum, TINYRT_OF_STATE(vldrbq_z_s8, vldrhq_z_s16)(of_state, lanes),
            TINYRT_OF_STATE(vldrbq_z_s8, vldrhq_z_s16)(of_weights, lanes));
        of_state += TINYRT_STATE_LANES;
        of_weights += TINYRT_STATE_LANES;
    }
#endif
    *state = of_state;
    *weights = of_weights;
    return sum;
}

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
    const int32_t beyond = -length & (TINYRT_STATE_LANES - 1);
    for (int32_t left = p->units; left > 0; left -= 4) {
        const int32_t count = (left < 4) ? left : 4;
        int32_t sum[4] = {0};
        for (int32_t i = 0; i < count; ++i) {
            sum[i] = tinyrt_svdf_past(&state, &time, length);
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
