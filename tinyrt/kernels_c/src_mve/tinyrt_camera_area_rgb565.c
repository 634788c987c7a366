#include "tinyrt_camera.h"

#include "tinyrt_camera_area_loop.h"
#include "tinyrt_mve.h"

enum { at_once = 16 };

/** A line, and the grey of the pixels of it that are due next: areas take each once, in turn. */
typedef struct {
    const uint8_t *line;
    uint8_t *grey;
} ahead;

/** The upper bits of 16, and the uppermost of them behind these: 8 bits. */
static inline uint16x8_t widened(uint16x8_t word, int32_t bits, int32_t below) {
    const uint16x8_t mask = vdupq_n_u16((uint16_t)((1U << (uint32_t)bits) - 1U));
    const uint16x8_t part = vandq_u16(vshlq_r_u16(word, -below), mask);
    return vorrq_u16(vshlq_r_u16(part, 8 - bits), vshlq_r_u16(part, 8 - (2 * bits)));
}

/** As tinyrt_luma. */
static inline uint16x8_t luma(uint16x8_t red, uint16x8_t green, uint16x8_t blue) {
    const uint16x8_t r = vdupq_n_u16(9798);
    const uint16x8_t g = vdupq_n_u16(19235);
    const uint16x8_t b = vdupq_n_u16(3735);
    const uint32x4_t even = vaddq_u32(vaddq_u32(vmullbq_int_u16(red, r), vmullbq_int_u16(green, g)),
                                      vmullbq_int_u16(blue, b));
    const uint32x4_t odd = vaddq_u32(vaddq_u32(vmulltq_int_u16(red, r), vmulltq_int_u16(green, g)),
                                     vmulltq_int_u16(blue, b));
    return vrshrntq_n_u32(vrshrnbq_n_u32(vdupq_n_u16(0), even, 15), odd, 15);
}

TINYRT_NOINLINE static void look_ahead(const tinyrt_camera_params *p, const ahead *at, int32_t x) {
    const int32_t left = p->left + p->width - x;
    for (int32_t i = 0; (i < at_once) && (i < left); i += 8) {
        const mve_pred16_t bytes = vctp8q((uint32_t)(2 * (left - i)));
        const uint8x16_t pairs = vldrbq_z_u8(at->line + (2 * (x + i)), bytes);
        const uint8x16_t low_first = (p->places[0] != 0U) ? pairs : vrev16q_u8(pairs);
        const uint16x8_t word = vreinterpretq_u16_u8(low_first);
        const uint16x8_t grey =
            luma(widened(word, 5, 11), widened(word, 6, 5), widened(word, 5, 0));
        vstrbq_u16(at->grey + i, grey);
    }
}

static inline int32_t next_grey(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                                int32_t channel) {
    const ahead *const at = (const ahead *)(const void *)line;
    const int32_t place = (x - p->left) & (at_once - 1);
    (void)channel;
    if (place == 0) {
        look_ahead(p, at, x);
    }
    return at->grey[place];
}

int32_t tinyrt_camera_area_rgb565(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                  uint8_t *row) {
    if (p->channels == 1) {
        uint8_t grey[at_once];
        const ahead at = {line, grey};
        return tinyrt_camera_area_loop(p, 1, next_grey, (const uint8_t *)(const void *)&at, state,
                                       row);
    }
    return tinyrt_camera_area_loop(p, 3, tinyrt_pixel_rgb565, line, state, row);
}
