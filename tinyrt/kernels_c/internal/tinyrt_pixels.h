/** Colours of a camera's pixels: 0 to 255. */
#ifndef TINYRT_PIXELS_H
#define TINYRT_PIXELS_H

#include "tinyrt_camera.h"

#include "tinyrt_to_byte.h"

/** A channel of pixel x of a line. */
typedef int32_t tinyrt_pixel(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                             int32_t channel);

/** Factors have 15 bits of fraction. */
static inline int32_t tinyrt_luma(int32_t red, int32_t green, int32_t blue) {
    return ((9798 * red) + (19235 * green) + (3735 * blue) + (1 << 14)) >> 15;
}

static inline int32_t tinyrt_pixel_bytes(const tinyrt_camera_params *p, const uint8_t *line,
                                         int32_t x, int32_t channel) {
    return line[(x * p->nbytes) + p->places[channel]];
}

static inline int32_t tinyrt_grey_bytes(const tinyrt_camera_params *p, const uint8_t *line,
                                        int32_t x, int32_t channel) {
    const uint8_t *const at = line + (x * p->nbytes);
    (void)channel;
    return tinyrt_luma(at[p->places[0]], at[p->places[1]], at[p->places[2]]);
}

/** Pixel x of words of 5, 6 and 5 bits. */
static inline int32_t tinyrt_word_rgb565(const tinyrt_camera_params *p, const uint8_t *line,
                                         int32_t x) {
    const int32_t high = p->places[0];
    return ((int32_t)line[(2 * x) + high] << 8) | line[(2 * x) + 1 - high];
}

static inline int32_t tinyrt_pixel_rgb565(const tinyrt_camera_params *p, const uint8_t *line,
                                          int32_t x, int32_t channel) {
    const int32_t word = tinyrt_word_rgb565(p, line, x);
    if (channel == 1) {
        const int32_t green = (word >> 5) & 63;
        return (green << 2) | (green >> 4);
    }
    const int32_t other = (channel == 0) ? word >> 11 : word & 31;
    return (other << 3) | (other >> 2);
}

static inline int32_t tinyrt_grey_rgb565(const tinyrt_camera_params *p, const uint8_t *line,
                                         int32_t x, int32_t channel) {
    const int32_t word = tinyrt_word_rgb565(p, line, x);
    const int32_t red = word >> 11;
    const int32_t green = (word >> 5) & 63;
    const int32_t blue = word & 31;
    (void)channel;
    return tinyrt_luma((red << 3) | (red >> 2), (green << 2) | (green >> 4),
                       (blue << 3) | (blue >> 2));
}

static inline int32_t tinyrt_grey_yuv422(const tinyrt_camera_params *p, const uint8_t *line,
                                         int32_t x, int32_t channel) {
    (void)channel;
    return line[(2 * x) + p->places[0]];
}

/** Factors have 14 bits of fraction. */
static inline int32_t tinyrt_pixel_yuv422(const tinyrt_camera_params *p, const uint8_t *line,
                                          int32_t x, int32_t channel) {
    const uint8_t *const pair = line + (4 * (x >> 1));
    const int32_t luma = pair[p->places[0] + (2 * (x & 1))];
    const int32_t u = pair[p->places[1]] - 128;
    const int32_t v = pair[p->places[2]] - 128;
    int32_t wide = (luma * 16384) + 8192;
    if (channel == 0) {
        wide += 22970 * v;
    } else if (channel == 1) {
        wide -= (5638 * u) + (11700 * v);
    } else {
        wide += 29032 * u;
    }
    return tinyrt_to_byte(wide);
}

/** Whether a line of a frame is in the crop; if so, which one of it. */
static inline int32_t tinyrt_line_in_crop(const tinyrt_camera_params *p,
                                          const tinyrt_camera_state *at) {
    const int32_t y = at->line - p->top;
    return (y < p->lines) ? y : -1;
}

/** Goes on to the next line, and behind the last one to the next frame. Returns 0: there is no
 *  row. */
static inline int32_t tinyrt_next_line(const tinyrt_camera_params *p, tinyrt_camera_state *at) {
    const int32_t next = at->line + 1;
    at->is_taken = 0;
    at->line = (next < p->height) ? next : 0;
    at->row = (next < p->height) ? at->row : 0;
    return 0;
}

#endif
