/** Rows of an image whose pixels are means of areas. */
#ifndef TINYRT_CAMERA_AREA_LOOP_H
#define TINYRT_CAMERA_AREA_LOOP_H

#include "tinyrt_pixels.h"

/** Where a line counts: for the row that it goes on, and for the next one that it begins. */
typedef struct {
    uint32_t weight;
    uint32_t next;    /* 0 where it begins none */
    uint32_t total;   /* what the weights of a row's pixels add up to */
    int32_t is_first; /* whether no line of the row was there before */
    int32_t is_full;  /* whether it is the row's last one */
} tinyrt_area_line;

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
        uint32_t *const sum = sums + (i * channels) + channel;
        const uint32_t whole = ((at->is_first != 0) ? 0U : *sum) + (at->weight * across);
        *sum = whole;
        if (at->is_full != 0) {
            row[(i * channels) + channel] = (uint8_t)((whole + (at->total / 2U)) / at->total);
            *sum = at->next * across;
        }
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
    uint32_t *const sums = (uint32_t *)(void *)(at + 1);
    const int32_t y = tinyrt_line_in_crop(p, at);
    if ((y < 0) || (at->is_taken != 0)) {
        return tinyrt_next_line(p, at);
    }
    const int32_t end = p->row_first[at->row + 1];
    const int32_t part = p->row_part[at->row + 1];
    const int32_t is_full = (y == end) || ((y + 1 == end) && (part == 0));
    const tinyrt_area_line of = {
        .weight = (uint32_t)((y == end) ? part : p->rows),
        .next = (y == end) ? (uint32_t)(p->rows - part) : 0U,
        .total = (uint32_t)(p->lines * p->width),
        .is_first = (y == p->row_first[at->row]) && (p->row_part[at->row] == 0U),
        .is_full = is_full,
    };
    for (int32_t k = 0; k < channels; ++k) {
        tinyrt_area_across(p, &of, channels, pixel, line, k, sums, row);
    }
    at->is_taken = 1;
    at->row += is_full;
    return (is_full != 0) ? 1 : tinyrt_next_line(p, at);
}

#endif
