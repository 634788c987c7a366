/** As tinyrt_camera_area_loop.h, where vectors look at pixels ahead. */
#ifndef TINYRT_CAMERA_AREA_AHEAD_H
#define TINYRT_CAMERA_AREA_AHEAD_H

#include "tinyrt_area_line.h"
#include "tinyrt_eight_pixels.h"

enum { tinyrt_at_once = 64 };

/** A channel of eight pixels of a line in turn, from x on; behind the last one it is whatever. */
typedef uint16x8_t tinyrt_eight_in_turn(const tinyrt_camera_params *p, const uint8_t *line,
                                        int32_t x, int32_t last, int32_t channel);

/** What a line is made of: sets sums[k] to the sum of a channel's k pixels from pixel x of the crop
 *  on, up to 64. A function of its own, whose vectors are not in the way of the caller's. */
typedef void tinyrt_looking(const tinyrt_camera_params *p, const uint8_t *line, int32_t x,
                            int32_t channel, uint16_t *sums);

/** Eight pixels in turn; behind the last one it is that one. */
static inline uint16x8_t tinyrt_eight_from(int32_t x, int32_t last) {
    return vminq_u16(vidupq_n_u16((uint32_t)x, 1), vdupq_n_u16((uint16_t)last));
}

/** Of eight numbers the sums of the first, the first two, and so on. */
static inline uint16x8_t tinyrt_eight_sums_of(uint16x8_t x) {
    uint32_t none = 0;
    uint16x8_t sums = vaddq_u16(x, vshlcq_u16(x, &none, 16));
    none = 0;
    sums = vaddq_u16(sums, vshlcq_u16(sums, &none, 32));
    none = 0;
    const uint16x8_t two = vshlcq_u16(sums, &none, 32);
    none = 0;
    return vaddq_u16(sums, vshlcq_u16(two, &none, 32));
}

/** As tinyrt_looking, with a function for eight pixels. */
static inline void tinyrt_look_ahead(const tinyrt_camera_params *p, tinyrt_eight_in_turn *pixels,
                                     const uint8_t *line, int32_t x, int32_t channel,
                                     uint16_t *sums) {
    const int32_t last = (p->left + p->width) - 1;
    uint16_t sum = 0;
    sums[0] = 0;
    for (int32_t i = 0; (i < tinyrt_at_once) && ((p->left + x + i) <= last); i += 8) {
        const uint16x8_t eight = pixels(p, line, p->left + x + i, last, channel);
        const uint16x8_t made = vaddq_n_u16(tinyrt_eight_sums_of(eight), sum);
        vstrhq_u16(sums + 1 + i, made);
        sum = vgetq_lane_u16(made, 7);
    }
}

/** Adds one channel of a line to the sums of its columns. A pixel that ends a column in its midst
 *  begins the next one. */
static inline void tinyrt_area_of_sums(const tinyrt_camera_params *p, const tinyrt_area_line *at,
                                       int32_t channels, tinyrt_looking *pixel, const uint8_t *line,
                                       int32_t channel, uint32_t *sums, uint8_t *row) {
    uint16_t ahead[tinyrt_at_once + 1];
    int32_t limit = tinyrt_at_once;
    uint32_t begun = 0;
    uint32_t before = 0;
    pixel(p, line, 0, channel, ahead);
    for (int32_t i = 0; i < p->columns; ++i) {
        const int32_t end = p->column_first[i + 1];
        const uint32_t part = p->column_part[i + 1];
        uint32_t across = 0;
        /* The pixel behind the whole ones has to be there, too. */
        while (end >= limit) {
            across += ahead[tinyrt_at_once] - before;
            before = 0;
            pixel(p, line, limit, channel, ahead);
            limit += tinyrt_at_once;
        }
        const uint16_t *const here = &ahead[tinyrt_at_once - (limit - end)];
        across += here[0] - before;
        before = here[0];
        across = (across * (uint32_t)p->columns) + begun;
        begun = 0;
        if (part != 0U) {
            const uint32_t shared = here[1] - before;
            across += part * shared;
            begun = ((uint32_t)p->columns - part) * shared;
            before = here[1];
        }
        tinyrt_area_down(at, across, (i * channels) + channel, sums, row);
    }
}

/** channels is that of the parameters, where it is a constant. */
static inline int32_t tinyrt_camera_area_ahead(const tinyrt_camera_params *params, int32_t channels,
                                               tinyrt_looking *pixel, const uint8_t *line,
                                               void *state, uint8_t *row) {
    /* A copy, which bytes that are written cannot overlap: its fields stay in registers. */
    const tinyrt_camera_params own = *params;
    const tinyrt_camera_params *const p = &own;
    tinyrt_camera_state *const at = state;
    const int32_t y = tinyrt_line_in_crop(p, at);
    if ((y < 0) || (at->is_taken != 0)) {
        return tinyrt_next_line(p, at);
    }
    const tinyrt_area_line of = tinyrt_area_of(p, at, y);
    uint32_t *const sums = (uint32_t *)(void *)(at + 1);
    for (int32_t k = 0; k < channels; ++k) {
        tinyrt_area_of_sums(p, &of, channels, pixel, line, k, sums, row);
    }
    return tinyrt_area_end(p, at, &of);
}

#endif
