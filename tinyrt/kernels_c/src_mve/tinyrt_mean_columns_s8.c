#include "tinyrt_mean_columns.h"

#include "tinyrt_mve.h"

/** Channels of a block: int16 lanes of a vector. */
#define LANES 8

/** Elements whose sum fits into 16 bits. */
#define MOST_SHORT 255

static int32x4_t outputs(const tinyrt_mean_columns_s8_params *p, int32x4_t sums) {
    const int32_t left = (p->y_shift > 0) ? p->y_shift : 0;
    const int32_t right = (p->y_shift > 0) ? 0 : p->y_shift;
    const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(sums, left), p->y_mult);
    const int32x4_t value = tinyrt_mve_rounding_shift_right(high, vdupq_n_s32(right));
    /* Limits are moved instead of the value, which has all of an int32. */
    const int32x4_t low = vdupq_n_s32(INT8_MIN - p->y_zp);
    return vminq_s32(vmaxq_s32(value, low), vdupq_n_s32(INT8_MAX - p->y_zp));
}

/** Eight channels, or the lanes of them that there are. */
static void block(const tinyrt_mean_columns_s8_params *p, mve_pred16_t lanes, const int8_t *x,
                  int8_t *y) {
    int32x4_t even = vdupq_n_s32(p->first);
    int32x4_t odd = even;
    for (int32_t left = p->pixels; left > 0; left -= MOST_SHORT) {
        int16x8_t sum = vdupq_n_s16(0);
        for (int32_t i = (left < MOST_SHORT) ? left : MOST_SHORT; i > 0; --i) {
            sum = vaddq_s16(sum, vldrbq_z_s16(x, lanes));
            x += p->channels;
        }
        even = vaddq_s32(even, vmovlbq_s16(sum));
        odd = vaddq_s32(odd, vmovltq_s16(sum));
    }
    const int16x8_t values =
        vmovntq_s32(vmovnbq_s32(vdupq_n_s16(0), outputs(p, even)), outputs(p, odd));
    vstrbq_p_s16(y, vaddq_n_s16(values, (int16_t)p->y_zp), lanes);
}

void tinyrt_mean_columns_s8(const tinyrt_mean_columns_s8_params *p, const int8_t *x,
                            int8_t *TINYRT_RESTRICT y) {
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t c = 0; c < p->channels; c += LANES) {
            block(p, vctp16q((uint32_t)(p->channels - c)), x + c, y + c);
        }
        x += p->pixels * p->channels;
        y += p->channels;
    }
}
