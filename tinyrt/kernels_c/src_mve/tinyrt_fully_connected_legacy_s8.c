#include "tinyrt_fully_connected_legacy.h"

#include "tinyrt_mve.h"

/** Most steps of outputs are below twice this. */
#define TINYRT_HALF_THE_STEPS 128

/** How many of the steps lie below each sum: 255 at most. */
static uint32x4_t tinyrt_steps_below(const int32_t *last, uint32_t steps, int32x4_t acc) {
    const uint32x4_t all = vdupq_n_u32(steps);
    uint32x4_t below = vdupq_n_u32(0);
    for (uint32_t half = TINYRT_HALF_THE_STEPS; half > 0; half >>= 1) {
        const uint32x4_t place = vaddq_n_u32(below, half - 1);
        const mve_pred16_t there = vcmphiq_u32(all, place);
        const int32x4_t step = vldrwq_gather_shifted_offset_z_s32(last, place, there);
        const mve_pred16_t less = (mve_pred16_t)(vcmpltq_s32(step, acc) & there);
        below = vaddq_m_u32(below, below, vdupq_n_u32(half), less);
    }
    return below;
}

/** Adds the products of four filters, some of which may be the same one. */
static int32x4_t tinyrt_four_filters(int32_t c_in, const int8_t *x, const int8_t *const *w,
                                     int32x4_t start) {
    const int8_t *w0 = w[0];
    const int8_t *w1 = w[1];
    const int8_t *w2 = w[2];
    const int8_t *w3 = w[3];
    int32_t a = vgetq_lane_s32(start, 0);
    int32_t b = vgetq_lane_s32(start, 1);
    int32_t c = vgetq_lane_s32(start, 2);
    int32_t d = vgetq_lane_s32(start, 3);
    for (int32_t left = c_in / TINYRT_VECTOR; left > 0; --left) {
        const int8x16_t taps = vldrbq_s8(x);
        a = vmladavaq_s8(a, taps, vldrbq_s8(w0));
        b = vmladavaq_s8(b, taps, vldrbq_s8(w1));
        c = vmladavaq_s8(c, taps, vldrbq_s8(w2));
        d = vmladavaq_s8(d, taps, vldrbq_s8(w3));
        x += TINYRT_VECTOR;
        w0 += TINYRT_VECTOR;
        w1 += TINYRT_VECTOR;
        w2 += TINYRT_VECTOR;
        w3 += TINYRT_VECTOR;
    }
    const mve_pred16_t lanes = vctp8q((uint32_t)(c_in % TINYRT_VECTOR));
    const int8x16_t taps = vldrbq_z_s8(x, lanes);
    a = vmladavaq_s8(a, taps, vldrbq_z_s8(w0, lanes));
    b = vmladavaq_s8(b, taps, vldrbq_z_s8(w1, lanes));
    c = vmladavaq_s8(c, taps, vldrbq_z_s8(w2, lanes));
    d = vmladavaq_s8(d, taps, vldrbq_z_s8(w3, lanes));
    const int32_t sums[4] = {a, b, c, d};
    return vldrwq_s32(sums);
}

/** Outputs of one row. */
static void tinyrt_row_of_steps(const tinyrt_fully_connected_legacy_s8_params *p, const int8_t *x,
                                const int8_t *w, const int32_t *bias, int8_t *y) {
    for (int32_t oc = 0; oc < p->c_out; oc += 4) {
        const int32_t left = p->c_out - oc;
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        const int8_t *filters[4];
        for (int32_t i = 0; i < 4; ++i) {
            filters[i] = w + (((i < left) ? i : 0) * p->c_in);
        }
        const int32x4_t start = vldrwq_z_s32(bias + oc, lanes);
        const int32x4_t acc = tinyrt_four_filters(p->c_in, x, filters, start);
        const uint32x4_t below = tinyrt_steps_below(p->last, (uint32_t)p->steps, acc);
        const int32x4_t out = vaddq_n_s32(vreinterpretq_s32_u32(below), p->act_min);
        vstrbq_p_s32(y + oc, out, lanes);
        w += 4 * p->c_in;
    }
}

void tinyrt_fully_connected_legacy_s8(const tinyrt_fully_connected_legacy_s8_params *p,
                                      const int8_t *x, const int8_t *w, const int32_t *bias,
                                      int8_t *TINYRT_RESTRICT y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        tinyrt_row_of_steps(p, x, w, bias, y);
        x += p->c_in;
        y += p->c_out;
    }
}
