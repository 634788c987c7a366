/** Rows of an image whose pixels are means of areas. */
#ifndef TINYRT_CAMERA_AREA_LOOP_H
#define TINYRT_CAMERA_AREA_LOOP_H

#include "tinyrt_pixels.h"

/** The pixels of a column in one line, each times the parts of it that count. */
static inline uint32_t tinyrt_area_across(const tinyrt_camera_params *p, tinyrt_pixel *pixel,
                                          const uint8_t *line, int32_t column, int32_t channel) {
    const int32_t first = p->column_first[column];
    const int32_t end = p->column_first[column + 1];
    const int32_t part = p->column_part[column + 1];
    const int32_t at_first = pixel(p, line, p->left + first, channel);
    int32_t sum = at_first;
    for (int32_t x = first + 1; x < end; ++x) {
        sum += pixel(p, line, p->left + x, channel);
    }
    sum = (sum * p->columns) - (at_first * p->column_part[column]);
    sum += (part != 0) ? part * pixel(p, line, p->left + end, channel) : 0;
    return (uint32_t)sum;
}

static inline int32_t tinyrt_camera_area_loop(const tinyrt_camera_params *params,
                                              tinyrt_pixel *pixel, const uint8_t *line, void *state,
                                              uint8_t *row) {
    /* A copy, which bytes that are written cannot overlap: its fields stay in registers. */
    const tinyrt_camera_params own = *params;
    const tinyrt_camera_params *const p = &own;
    tinyrt_camera_state *const at = state;
    uint32_t *const sums = (uint32_t *)(void *)(at + 1);
    const int32_t y = tinyrt_line_in_crop(p, at);
    if ((y < 0) || (at->is_taken != 0)) {
        return tinyrt_next_line(p, at);
    }
    const int32_t is_first = y == p->row_first[at->row];
    const int32_t end = p->row_first[at->row + 1];
    const int32_t part = p->row_part[at->row + 1];
    const int32_t weight =
        ((y == end) ? part : p->rows) - ((is_first != 0) ? p->row_part[at->row] : 0);
    const int32_t is_full = (y == end) || ((y + 1 == end) && (part == 0));
    const uint32_t total = (uint32_t)(p->lines * p->width);
    for (int32_t i = 0; i < p->columns; ++i) {
        for (int32_t k = 0; k < p->channels; ++k) {
            uint32_t *const sum = sums + (i * p->channels) + k;
            const uint32_t before = (is_first != 0) ? 0U : *sum;
            *sum = before + ((uint32_t)weight * tinyrt_area_across(p, pixel, line, i, k));
            if (is_full != 0) {
                row[(i * p->channels) + k] = (uint8_t)((*sum + (total / 2U)) / total);
            }
        }
    }
    /* A line that ends a row in its midst begins the next one, too. */
    at->is_taken = (is_full == 0) || (part == 0);
    at->row += is_full;
    return (is_full != 0) ? 1 : tinyrt_next_line(p, at);
}

#endif
