#include "tinyrt_camera.h"

#include "tinyrt_camera_area_loop.h"
#include "tinyrt_mve.h"

enum { at_once = 64 };

/** A line up to a pixel, whether the upper bytes come last in it, and the grey of the pixels that
 *  are due next: areas take each pixel once, in turn. */
typedef struct {
    const uint8_t *line;
    int32_t end;
    uint8_t upper;
    uint8_t *grey;
} ahead;

/** As tinyrt_luma. */
static inline uint16x8_t luma(uint16x8_t red, uint16x8_t green, uint16x8_t blue) {
    const uint16x8_t r = vdupq_n_u16(9798);
    const uint16x8_t g = vdupq_n_u16(19235);
    const uint16x8_t b = vdupq_n_u16(3735);
    const uint32x4_t even = vaddq_u32(vaddq_u32(vmullbq_int_u16(red, r), vmullbq_int_u16(green, g)),
                                      vmullbq_int_u16(blue, b));
    const uint32x4_t odd = vaddq_u32(vaddq_u32(vmulltq_int_u16(red, r), vmulltq_int_u16(green, g)),
                                     vmulltq_int_u16(blue, b));
    return vrshrntq_n_u32(vrshrnbq_n_u32(red, even, 15), odd, 15);
}

/** Grey of words of 5, 6 and 5 bits, whose uppermost bits stand behind them, too. */
static inline uint16x8_t grey_of(uint16x8_t word) {
    const uint16x8_t red = vorrq_u16(vbicq_n_u16(vshrq_n_u16(word, 8), 7), vshrq_n_u16(word, 13));
    const uint16x8_t green = vandq_u16(vshrq_n_u16(word, 3), vdupq_n_u16(0xFC));
    const uint16x8_t blue = vandq_u16(word, vdupq_n_u16(31));
    return luma(red, vorrq_u16(green, vshrq_n_u16(green, 6)),
                vorrq_u16(vshlq_n_u16(blue, 3), vshrq_n_u16(blue, 2)));
}

TINYRT_NOINLINE static void look_ahead(const ahead *at, int32_t x) {
    const int32_t left = at->end - x;
    for (int32_t i = 0; (i < at_once) && (i < left); i += 8) {
        const mve_pred16_t bytes = vctp8q((uint32_t)(2 * (left - i)));
        const uint8x16_t pairs = vldrbq_z_u8(at->line + (2 * (x + i)), bytes);
        const uint8x16_t ordered = (at->upper != 0U) ? pairs : vrev16q_u8(pairs);
        vstrbq_u16(at->grey + i, grey_of(vreinterpretq_u16_u8(ordered)));
    }
}

static inline int32_t next_grey(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                                int32_t channel) {
    const ahead *const at = (const ahead *)(const void *)line;
    const int32_t place = x & (at_once - 1);
    (void)p;
    (void)channel;
    if (place == 0) {
        look_ahead(at, x);
    }
    return at->grey[place];
}

int32_t tinyrt_camera_area_rgb565(const tinyrt_camera_params *p, const uint8_t *line, void *state,
                                  uint8_t *row) {
    if (p->channels == 1) {
        uint8_t grey[at_once];
        const ahead at = {line, p->left + p->width, p->places[0], grey};
        /* A line that is taken is only left behind. */
        if (((p->left & (at_once - 1)) != 0) &&
            (((const tinyrt_camera_state *)state)->is_taken == 0)) {
            look_ahead(&at, p->left & ~(at_once - 1));
        }
        return tinyrt_camera_area_loop(p, 1, next_grey, (const uint8_t *)(const void *)&at, state,
                                       row);
    }
    return tinyrt_camera_area_loop(p, 3, tinyrt_pixel_rgb565, line, state, row);
}
