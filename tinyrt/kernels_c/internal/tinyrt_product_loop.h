/** A matrix product on cores with MVE, as the function TINYRT_KERNEL over weights of
 *  TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_PRODUCT_LOOP_H
#define TINYRT_PRODUCT_LOOP_H

#include "tinyrt_mve_dot.h"
#include "tinyrt_product_types.h"

/** Bytes of four packed filters. */
static inline int32_t tinyrt_quad_bytes(uint32_t patch) {
    return TINYRT_WEIGHT_BITS / 2 * TINYRT_VECTOR * (1 + (int32_t)(patch >> 16));
}

/** Channels from c on of one patch. */
static void tinyrt_single_patch(const tinyrt_product_s8_params *p, int32_t c, const int8_t *x,
                                const int8_t *w, const int32_t *bias, int8_t *y) {
    const uint32_t patch = tinyrt_mve_patch(p->length);
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t act_min = vdupq_n_s32(p->requant.act_min);
    const int32x4_t act_max = vdupq_n_s32(p->requant.act_max);
    int32x4_t mult = vdupq_n_s32(p->requant.mult[0]);
    int32x4_t shift = vdupq_n_s32(p->requant.shift[0]);
    x += tinyrt_mve_first_bytes(p->length);
    for (int32_t left = p->c_out - c; left > 0; left -= 4) {
        c = p->c_out - left;
        int32x4_t value = vaddq_s32(tinyrt_mve_dot(patch, x, w), vldrwq_s32(bias + c));
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        if (p->requant.step != 0) {
            mult = vldrwq_z_s32(p->requant.mult + c, lanes);
            shift = vldrbq_z_s32(p->requant.shift + c, lanes);
        }
        if (p->only_positive != 0) {
            value = vrshlq_s32(vqrdmulhq_s32(value, mult), shift);
        } else {
            value = vqrdmulhq_s32(vshlq_s32(value, vmaxq_s32(shift, zero)), mult);
            value = tinyrt_mve_rounding_shift_right(value, vminq_s32(shift, zero));
        }
        value = vaddq_n_s32(value, p->requant.y_zp);
        vstrbq_p_s32(y + c, vminq_s32(vmaxq_s32(value, act_min), act_max), lanes);
        w += tinyrt_quad_bytes(patch);
    }
}

/** Patches two by two, channels four by four; count is even and not 0. */
TINYRT_NOINLINE static void tinyrt_pairs_of_patches(const tinyrt_product_s8_params *p,
                                                    const int8_t *x, int32_t x_step, int32_t count,
                                                    const int8_t *w, const int32_t *bias, int8_t *y,
                                                    int32_t y_step) {
    const uint32_t patch = tinyrt_mve_patch(p->length);
    const int32_t *mult = p->requant.mult;
    const int8_t *shift = p->requant.shift;
    const int32_t step = 4 * p->requant.step;
    const int32_t bytes = tinyrt_quad_bytes(patch);
    tinyrt_mve_quad quad;
    tinyrt_mve_channels channels;
    quad.patch = patch;
    quad.w = w;
    quad.y_zp = p->requant.y_zp;
    quad.any =
        !(p->only_positive && (p->requant.act_min == INT8_MIN) && (p->requant.act_max == INT8_MAX));
    quad.y_step = y_step;
    quad.x_step = x_step;
    quad.x_next = (2 * x_step) - (int32_t)(patch >> 16) * TINYRT_VECTOR;
    quad.y_end = y + (count * y_step);
    channels.act_min = vdupq_n_s32(p->requant.act_min);
    channels.act_max = vdupq_n_s32(p->requant.act_max);
    x += tinyrt_mve_first_bytes(p->length);
    for (int32_t left = p->c_out / 4; left > 0; --left) {
        channels.mult = (step != 0) ? vldrwq_s32(mult) : vdupq_n_s32(*mult);
        channels.right = (step != 0) ? vldrbq_s32(shift) : vdupq_n_s32(*shift);
        channels.bias = vldrwq_s32(bias);
        if (quad.any != 0) {
            quad.left = vmaxq_s32(channels.right, vdupq_n_s32(0));
            channels.right = vminq_s32(channels.right, vdupq_n_s32(0));
        }
        tinyrt_mve_patch_pairs(&quad, channels, x, y);
        mult += step;
        shift += step;
        bias += 4;
        y += 4;
        quad.w += bytes;
        quad.y_end += 4;
    }
}

void TINYRT_KERNEL(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                   int32_t count, const int8_t *w, const int32_t *bias, int8_t *y, int32_t y_step) {
    const int32_t even = count & ~1;
    const int32_t full = p->c_out & ~3;
    if ((even != 0) && (full != 0)) {
        tinyrt_pairs_of_patches(p, x, x_step, even, w, bias, y, y_step);
    }
    if (even != count) {
        tinyrt_single_patch(p, 0, x + (even * x_step), w, bias, y + (even * y_step));
    }
    if (full != p->c_out) {
        w += full / 4 * tinyrt_quad_bytes(tinyrt_mve_patch(p->length));
        for (int32_t i = 0; i < even; ++i) {
            tinyrt_single_patch(p, full, x + (i * x_step), w, bias, y + (i * y_step));
        }
    }
}

#endif
