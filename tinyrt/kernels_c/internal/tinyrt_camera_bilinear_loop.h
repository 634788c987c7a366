/** Rows of an image whose pixels lie between four others. */
#ifndef TINYRT_CAMERA_BILINEAR_LOOP_H
#define TINYRT_CAMERA_BILINEAR_LOOP_H

#include "tinyrt_pixels.h"

/** A line of the image's width, with 8 bits of fraction. */
static inline void tinyrt_bilinear_across(const tinyrt_camera_params *p, int32_t channels,
                                          tinyrt_pixel *pixel, const uint8_t *line, uint16_t *y) {
    for (int32_t i = 0; i < p->columns; ++i) {
        const int32_t x = p->left + p->column_first[i];
        const int32_t part = p->column_part[i];
        for (int32_t k = 0; k < channels; ++k) {
            const int32_t sum =
                ((2048 - part) * pixel(p, line, x, k)) + (part * pixel(p, line, x + 1, k));
            y[(i * channels) + k] = (uint16_t)((sum + 4) >> 3);
        }
    }
}

/** channels is that of the parameters, where it is a constant. */
static inline int32_t tinyrt_camera_bilinear_loop(const tinyrt_camera_params *params,
                                                  int32_t channels, tinyrt_pixel *pixel,
                                                  const uint8_t *line, void *state, uint8_t *row) {
    /* A copy, which bytes that are written cannot overlap: its fields stay in registers. */
    const tinyrt_camera_params own = *params;
    const tinyrt_camera_params *const p = &own;
    tinyrt_camera_state *const at = state;
    uint16_t *const lines = (uint16_t *)(void *)(at + 1);
    const int32_t size = p->columns * channels;
    const int32_t y = tinyrt_line_in_crop(p, at);
    if (y < 0) {
        return tinyrt_next_line(p, at);
    }
    uint16_t *const lower = lines + ((y & 1) * size);
    if (at->is_taken == 0) {
        tinyrt_bilinear_across(p, channels, pixel, line, lower);
        at->is_taken = 1;
    }
    if ((at->row == p->rows) || (p->row_first[at->row] + 1 != y)) {
        return tinyrt_next_line(p, at);
    }
    const uint16_t *const upper = lines + ((1 - (y & 1)) * size);
    const int32_t part = p->row_part[at->row];
    for (int32_t i = 0; i < size; ++i) {
        const int32_t sum = ((2048 - part) * upper[i]) + (part * lower[i]);
        row[i] = (uint8_t)((sum + (1 << 18)) >> 19);
    }
    ++at->row;
    return 1;
}

#endif
