#include "tinyrt_softmax.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_mve.h"
#include "tinyrt_softmax_s16_sum.h"

/** Values of a table of 513 entries over all of int16, linear between them. */
static inline int32x4_t interpolate(const int16_t *table, int32x4_t x) {
    const int32x4_t entry = vaddq_n_s32(vshrq_n_s32(x, 7), 256);
    const uint32x4_t index = vreinterpretq_u32_s32(entry);
    const int32x4_t first = vldrhq_gather_shifted_offset_s32(table, index);
    const int32x4_t second = vldrhq_gather_shifted_offset_s32(table + 1, index);
    const int32x4_t part = vandq_s32(x, vdupq_n_s32(0x7F));
    return vaddq_s32(first, vrshrq_n_s32(vmulq_s32(vsubq_s32(second, first), part), 7));
}

static inline int32x4_t limit(int32x4_t value, int32_t low, int32_t high) {
    return vmaxq_s32(vminq_s32(value, vdupq_n_s32(high)), vdupq_n_s32(low));
}

static int32_t largest(const int16_t *x, int32_t count) {
    int16_t most = INT16_MIN;
    for (; count > 0; count -= 8, x += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)count);
        most = vmaxvq_p_s16(most, vldrhq_z_s16(x, lanes), lanes);
    }
    return most;
}

/** y = exp(x - most) of a row; returns their sum. */
static int32_t exponentials(const tinyrt_softmax_s16_params *p, int32_t most, const int16_t *x,
                            int16_t *y) {
    const int32_t left = (p->x_shift > 0) ? p->x_shift : 0;
    const int32x4_t right = vdupq_n_s32(p->x_shift - left);
    int32_t sum = 0;
    for (int32_t count = p->c; count > 0; count -= 4, x += 4, y += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)count);
        const int32x4_t below = vsubq_n_s32(vldrhq_z_s32(x, lanes), most);
        const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(below, left), p->x_mult);
        const int32x4_t scaled = tinyrt_mve_rounding_shift_right(high, right);
        const int32x4_t at = limit(vqaddq_n_s32(scaled, INT16_MAX), INT16_MIN, INT16_MAX);
        const int32x4_t value = interpolate(p->exponentials, at);
        sum = vaddvaq_p_s32(sum, value, lanes);
        vstrhq_p_s32(y, value, lanes);
    }
    return sum;
}

/** y = y * reciprocal / 2^right of a row, halves up. */
static void shares(int32_t reciprocal, int32_t right, int32_t count, int16_t *y) {
    for (; count > 0; count -= 4, y += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)count);
        const int32x4_t product = vmulq_n_s32(vldrhq_z_s32(y, lanes), reciprocal);
        vstrhq_p_s32(y, limit(vrshlq_n_s32(product, -right), 0, INT16_MAX), lanes);
    }
}

void tinyrt_softmax_s16(const tinyrt_softmax_s16_params *p, const int16_t *x, int16_t *y) {
    for (int32_t row = 0; row < p->rows; ++row, x += p->c, y += p->c) {
        const int32_t sum = exponentials(p, largest(x, p->c), x, y);
        const int32_t left = tinyrt_headroom(sum);
        shares(tinyrt_reciprocal_at(p->reciprocals, sum, left), 30 - left, p->c, y);
    }
}
