/** What a line means to a row of areas. */
#ifndef TINYRT_AREA_LINE_H
#define TINYRT_AREA_LINE_H

#include "tinyrt_pixels.h"

/** Where a line counts: for the row that it goes on, and for the next one that it begins. */
typedef struct {
    uint32_t weight;
    uint32_t next;    /* 0 where it begins none */
    uint32_t total;   /* what the weights of a row's pixels add up to */
    int32_t is_first; /* whether no line of the row was there before */
    int32_t is_full;  /* whether it is the row's last one */
} tinyrt_area_line;

/** Adds what a line has of a column to the column's sum; sets its mean where the row is full. */
static inline void tinyrt_area_down(const tinyrt_area_line *at, uint32_t across, int32_t place,
                                    uint32_t *sums, uint8_t *row) {
    uint32_t *const sum = sums + place;
    const uint32_t whole = ((at->is_first != 0) ? 0U : *sum) + (at->weight * across);
    *sum = whole;
    if (at->is_full != 0) {
        row[place] = (uint8_t)((whole + (at->total / 2U)) / at->total);
        *sum = at->next * across;
    }
}

/** Where line y of the crop counts. */
static inline tinyrt_area_line tinyrt_area_of(const tinyrt_camera_params *p,
                                              const tinyrt_camera_state *at, int32_t y) {
    const int32_t end = p->row_first[at->row + 1];
    const int32_t part = p->row_part[at->row + 1];
    const int32_t is_full = (y == end) || ((y + 1 == end) && (part == 0));
    return (tinyrt_area_line){
        .weight = (uint32_t)((y == end) ? part : p->rows),
        .next = (y == end) ? (uint32_t)(p->rows - part) : 0U,
        .total = (uint32_t)(p->lines * p->width),
        .is_first = (y == p->row_first[at->row]) && (p->row_part[at->row] == 0U),
        .is_full = is_full,
    };
}

/** A line was added. Returns whether the row is full. */
static inline int32_t tinyrt_area_end(const tinyrt_camera_params *p, tinyrt_camera_state *at,
                                      const tinyrt_area_line *of) {
    at->is_taken = 1;
    at->row += of->is_full;
    return (of->is_full != 0) ? 1 : tinyrt_next_line(p, at);
}

#endif
