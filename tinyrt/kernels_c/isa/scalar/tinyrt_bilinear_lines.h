/** Lines between pixels, and rows between lines. */
#ifndef TINYRT_BILINEAR_LINES_H
#define TINYRT_BILINEAR_LINES_H

#include "tinyrt_pixels.h"

/** What a line is made of. */
typedef tinyrt_pixel tinyrt_bilinear_pixel;

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

/** A row between two such lines, of which the lower one's weight is part of 2048. */
static inline void tinyrt_bilinear_down(int32_t size, int32_t part, const uint16_t *upper,
                                        const uint16_t *lower, uint8_t *row) {
    for (int32_t i = 0; i < size; ++i) {
        const int32_t sum = ((2048 - part) * upper[i]) + (part * lower[i]);
        row[i] = (uint8_t)((sum + (1 << 18)) >> 19);
    }
}

#endif
