/** Lines between pixels, and rows between lines, eight numbers at once. */
#ifndef TINYRT_BILINEAR_LINES_H
#define TINYRT_BILINEAR_LINES_H

#include "tinyrt_eight_pixels.h"

/** What a line is made of. */
typedef tinyrt_eight tinyrt_bilinear_pixel;

/** Eight numbers between those of two pixels, with 8 bits of fraction: 2048 times the left one and
 *  part of the difference, divided by 8 and rounded. */
static inline uint16x8_t tinyrt_eight_between(uint16x8_t left, uint16x8_t right, uint16x8_t part) {
    const int16x8_t from = vreinterpretq_s16_u16(left);
    const int16x8_t weight = vreinterpretq_s16_u16(part);
    const int16x8_t more = vsubq_s16(vreinterpretq_s16_u16(right), from);
    const int32x4_t even = vaddq_s32(vshllbq_n_s16(from, 11), vmullbq_int_s16(more, weight));
    const int32x4_t odd = vaddq_s32(vshlltq_n_s16(from, 11), vmulltq_int_s16(more, weight));
    return vreinterpretq_u16_s16(vrshrntq_n_s32(vrshrnbq_n_s32(more, even, 3), odd, 3));
}

/** A line of the image's width, with 8 bits of fraction. Pixels behind its end are the first two
 *  of the crop, which are there. */
static inline void tinyrt_bilinear_across(const tinyrt_camera_params *p, int32_t channels,
                                          tinyrt_bilinear_pixel *pixel, const uint8_t *line,
                                          uint16_t *y) {
    const uint16x8_t places = vmulq_n_u16(vidupq_n_u16(0, 1), (uint16_t)channels);
    for (int32_t i = 0; i < p->columns; i += 8) {
        const mve_pred16_t here = vctp16q((uint32_t)(p->columns - i));
        const uint16x8_t x =
            vaddq_n_u16(vldrhq_z_u16(p->column_first + i, here), (uint16_t)p->left);
        const uint16x8_t part = vldrhq_z_u16(p->column_part + i, here);
        for (int32_t k = 0; k < channels; ++k) {
            const uint16x8_t made = tinyrt_eight_between(
                pixel(p, line, x, k), pixel(p, line, vaddq_n_u16(x, 1), k), part);
            if (channels == 1) {
                vstrhq_p_u16(y + i, made, here);
            } else {
                vstrhq_scatter_shifted_offset_p_u16(y + (i * channels) + k, places, made, here);
            }
        }
    }
}

/** A row between two such lines, of which the lower one's weight is part of 2048. */
static inline void tinyrt_bilinear_down(int32_t size, int32_t part, const uint16_t *upper,
                                        const uint16_t *lower, uint8_t *row) {
    const uint16x8_t weight = vdupq_n_u16((uint16_t)part);
    const uint16x8_t rest = vdupq_n_u16((uint16_t)(2048 - part));
    for (int32_t i = 0; i < size; i += 8) {
        const mve_pred16_t here = vctp16q((uint32_t)(size - i));
        const uint16x8_t above = vldrhq_z_u16(upper + i, here);
        const uint16x8_t below = vldrhq_z_u16(lower + i, here);
        const uint32x4_t even =
            vaddq_u32(vmullbq_int_u16(above, rest), vmullbq_int_u16(below, weight));
        const uint32x4_t odd =
            vaddq_u32(vmulltq_int_u16(above, rest), vmulltq_int_u16(below, weight));
        const uint16x8_t made =
            vmovntq_u32(vreinterpretq_u16_u32(vrshrq_n_u32(even, 19)), vrshrq_n_u32(odd, 19));
        vstrbq_p_u16(row + i, made, here);
    }
}

#endif
