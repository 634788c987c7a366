/** Colours of eight pixels of a camera, as tinyrt_pixels.h has those of one: 0 to 255. */
#ifndef TINYRT_EIGHT_PIXELS_H
#define TINYRT_EIGHT_PIXELS_H

#include "tinyrt_camera.h"
#include "tinyrt_mve.h"

/** A channel of the pixels x of a line. */
typedef uint16x8_t tinyrt_eight(const tinyrt_camera_params *p, const uint8_t *line, uint16x8_t x,
                                int32_t channel);

/** As tinyrt_luma. */
static inline uint16x8_t tinyrt_eight_luma(uint16x8_t red, uint16x8_t green, uint16x8_t blue) {
    const uint16x8_t r = vdupq_n_u16(9798);
    const uint16x8_t g = vdupq_n_u16(19235);
    const uint16x8_t b = vdupq_n_u16(3735);
    const uint32x4_t even = vaddq_u32(vaddq_u32(vmullbq_int_u16(red, r), vmullbq_int_u16(green, g)),
                                      vmullbq_int_u16(blue, b));
    const uint32x4_t odd = vaddq_u32(vaddq_u32(vmulltq_int_u16(red, r), vmulltq_int_u16(green, g)),
                                     vmulltq_int_u16(blue, b));
    return vrshrntq_n_u32(vrshrnbq_n_u32(red, even, 15), odd, 15);
}

static inline uint16x8_t tinyrt_eight_bytes(const tinyrt_camera_params *p, const uint8_t *line,
                                            uint16x8_t x, int32_t channel) {
    return vldrbq_gather_offset_u16(line + p->places[channel], vmulq_n_u16(x, (uint16_t)p->nbytes));
}

static inline uint16x8_t tinyrt_eight_grey_bytes(const tinyrt_camera_params *p, const uint8_t *line,
                                                 uint16x8_t x, int32_t channel) {
    const uint16x8_t at = vmulq_n_u16(x, (uint16_t)p->nbytes);
    (void)channel;
    return tinyrt_eight_luma(vldrbq_gather_offset_u16(line + p->places[0], at),
                             vldrbq_gather_offset_u16(line + p->places[1], at),
                             vldrbq_gather_offset_u16(line + p->places[2], at));
}

/** Words of 5, 6 and 5 bits; a line need not lie at an even address. */
static inline uint16x8_t tinyrt_eight_words(const tinyrt_camera_params *p, const uint8_t *line,
                                            uint16x8_t x) {
    const uint16x8_t at = vshlq_n_u16(x, 1);
    const uint16x8_t upper = vldrbq_gather_offset_u16(line + p->places[0], at);
    const uint16x8_t lower = vldrbq_gather_offset_u16(line + 1 - p->places[0], at);
    return vorrq_u16(vshlq_n_u16(upper, 8), lower);
}

/** Of words, whose uppermost bits stand behind them, too. */
static inline uint16x8_t tinyrt_eight_of_words(uint16x8_t word, int32_t channel) {
    if (channel == 0) {
        return vorrq_u16(vbicq_n_u16(vshrq_n_u16(word, 8), 7), vshrq_n_u16(word, 13));
    }
    if (channel == 1) {
        const uint16x8_t green = vandq_u16(vshrq_n_u16(word, 3), vdupq_n_u16(0xFC));
        return vorrq_u16(green, vshrq_n_u16(green, 6));
    }
    const uint16x8_t blue = vandq_u16(word, vdupq_n_u16(31));
    return vorrq_u16(vshlq_n_u16(blue, 3), vshrq_n_u16(blue, 2));
}

static inline uint16x8_t tinyrt_eight_rgb565(const tinyrt_camera_params *p, const uint8_t *line,
                                             uint16x8_t x, int32_t channel) {
    return tinyrt_eight_of_words(tinyrt_eight_words(p, line, x), channel);
}

static inline uint16x8_t tinyrt_eight_grey_of_words(uint16x8_t word) {
    return tinyrt_eight_luma(tinyrt_eight_of_words(word, 0), tinyrt_eight_of_words(word, 1),
                             tinyrt_eight_of_words(word, 2));
}

static inline uint16x8_t tinyrt_eight_grey_rgb565(const tinyrt_camera_params *p,
                                                  const uint8_t *line, uint16x8_t x,
                                                  int32_t channel) {
    (void)channel;
    return tinyrt_eight_grey_of_words(tinyrt_eight_words(p, line, x));
}

static inline uint16x8_t tinyrt_eight_grey_yuv422(const tinyrt_camera_params *p,
                                                  const uint8_t *line, uint16x8_t x,
                                                  int32_t channel) {
    (void)channel;
    return vldrbq_gather_offset_u16(line + p->places[0], vshlq_n_u16(x, 1));
}

/** A colour difference of each pixel's pair, less 128. */
static inline int16x8_t tinyrt_eight_differences(const uint8_t *place, uint16x8_t x) {
    const uint16x8_t pair = vshlq_n_u16(vshrq_n_u16(x, 1), 2);
    return vsubq_n_s16(vreinterpretq_s16_u16(vldrbq_gather_offset_u16(place, pair)), 128);
}

/** Factors have 14 bits of fraction. */
static inline uint16x8_t tinyrt_eight_yuv422(const tinyrt_camera_params *p, const uint8_t *line,
                                             uint16x8_t x, int32_t channel) {
    const int16x8_t luma = vreinterpretq_s16_u16(tinyrt_eight_grey_yuv422(p, line, x, channel));
    int32x4_t even = vshllbq_n_s16(luma, 14);
    int32x4_t odd = vshlltq_n_s16(luma, 14);
    if (channel != 0) {
        const int16x8_t u = tinyrt_eight_differences(line + p->places[1], x);
        const int16x8_t factor = vdupq_n_s16((int16_t)((channel == 1) ? -5638 : 29032));
        even = vaddq_s32(even, vmullbq_int_s16(u, factor));
        odd = vaddq_s32(odd, vmulltq_int_s16(u, factor));
    }
    if (channel != 2) {
        const int16x8_t v = tinyrt_eight_differences(line + p->places[2], x);
        const int16x8_t factor = vdupq_n_s16((int16_t)((channel == 1) ? -11700 : 22970));
        even = vaddq_s32(even, vmullbq_int_s16(v, factor));
        odd = vaddq_s32(odd, vmulltq_int_s16(v, factor));
    }
    const uint16x8_t made = vqrshrunbq_n_s32(vdupq_n_u16(0), even, 14);
    return vminq_u16(vqrshruntq_n_s32(made, odd, 14), vdupq_n_u16(255));
}

#endif
