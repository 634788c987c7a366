/** Where the weights of a sparse layer begin and end. */
#ifndef TINYRT_SPARSE_RUN_H
#define TINYRT_SPARSE_RUN_H

#include <stdint.h>

/** A run of taps that has weights. In the weights, a word stands before those of each run: its
 * first tap in the upper half, then its number of taps, and in the lowest bit whether it is the
 * block's last. */
typedef struct {
    int32_t first;
    int32_t taps;
    int32_t last;
} tinyrt_sparse_run;

static inline tinyrt_sparse_run tinyrt_sparse_run_of(int32_t head) {
    const uint32_t bits = (uint32_t)head;
    const tinyrt_sparse_run run = {
        (int32_t)(bits >> 16),
        (int32_t)((bits >> 1) & 0x7FFF),
        (int32_t)(bits & 1),
    };
    return run;
}

#endif
