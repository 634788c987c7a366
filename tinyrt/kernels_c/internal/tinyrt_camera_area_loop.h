/** Rows of an image whose pixels are means of areas. */
#ifndef TINYRT_CAMERA_AREA_LOOP_H
#define TINYRT_CAMERA_AREA_LOOP_H

#include "tinyrt_area_line.h"

/** Adds one channel of a line to the sums of its columns. A pixel that ends a column in its midst
 *  begins the next one: it is looked at once. */
static inline void tinyrt_area_across(const tinyrt_camera_params *p, const tinyrt_area_line *at,
                                      int32_t channels, tinyrt_pixel *pixel, const uint8_t *line,
                                      int32_t channel, uint32_t *sums, uint8_t *row) {
    int32_t x = p->left;
    uint32_t begun = 0;
    for (int32_t i = 0; i < p->columns; ++i) {
        const int32_t end = p->left + p->column_first[i + 1];
        const uint32_t part = p->column_part[i + 1];
        uint32_t across = 0;
        for (; x < end; ++x) {
            across += (uint32_t)pixel(p, line, x, channel);
        }
        across = (across * (uint32_t)p->columns) + begun;
        begun = 0;
        if (part != 0U) {
            const uint32_t shared = (uint32_t)pixel(p, line, x, channel);
            across += part * shared;
            begun = ((uint32_t)p->columns - part) * shared;
            ++x;
        }
        tinyrt_area_down(at, across, (i * channels) + channel, sums, row);
    }
}

/** channels is that of the parameters, where it is a constant. */
static inline int32_t tinyrt_camera_area_loop(const tinyrt_camera_params *params, int32_t channels,
                                              tinyrt_pixel *pixel, const uint8_t *line, void *state,
                                              uint8_t *row) {
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
        tinyrt_area_across(p, &of, channels, pixel, line, k, sums, row);
    }
    return tinyrt_area_end(p, at, &of);
}

#endif
