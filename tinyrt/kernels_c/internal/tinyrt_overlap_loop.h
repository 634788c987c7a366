/** Frames that are added where they overlap, where this is included: TINYRT_SCALAR is the samples'
 *  type, TINYRT_SUM the sum of two. */
#ifndef TINYRT_OVERLAP_LOOP_H
#define TINYRT_OVERLAP_LOOP_H

#include "tinyrt_signal_frames.h"

/** One frame: its first samples are whole, the others wait for the next one. */
static void tinyrt_overlap_frame(const tinyrt_signal_overlap_add_params *p, const TINYRT_SCALAR *x,
                                 TINYRT_SCALAR *sums, TINYRT_SCALAR *y) {
    for (int32_t i = 0; i < p->step; ++i) {
        y[i] = TINYRT_SUM(sums[i], x[i]);
    }
    for (int32_t i = 0; i < p->size; ++i) {
        const int32_t at = i + p->step;
        sums[i] = 0;
        if (at < p->size) {
            sums[i] = TINYRT_SUM(sums[at], x[at]);
        }
    }
}

static void tinyrt_overlap_add(const tinyrt_signal_overlap_add_params *p, const TINYRT_SCALAR *x,
                               const TINYRT_SCALAR *before, TINYRT_SCALAR *after,
                               TINYRT_SCALAR *y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        for (int32_t i = 0; i < p->size; ++i) {
            after[i] = before[i];
        }
        for (int32_t frame = 0; frame < p->frames; ++frame) {
            tinyrt_overlap_frame(p, x, after, y);
            x += p->size;
            y += p->step;
        }
        before += p->size;
        after += p->size;
    }
}

#endif
