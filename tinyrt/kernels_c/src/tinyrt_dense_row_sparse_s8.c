#include "tinyrt_dense_row.h"

#include "tinyrt_dot_eight.h"
#include "tinyrt_sparse_run.h"

/** As tinyrt_dot_eight over the runs of eight channels. */
static inline const int32_t *dot_eight(const int32_t *w, const int8_t *x, int32_t taps,
                                       int32_t *acc) {
    tinyrt_sparse_run run;
    (void)taps;
    do {
        run = tinyrt_sparse_run_of(*w);
        w = tinyrt_dot_eight(w + 1, x + run.first, run.taps, acc);
    } while (!run.last);
    return w;
}

#define TINYRT_DENSE_ROW tinyrt_dense_row_sparse_s8
#define TINYRT_DOT_EIGHT dot_eight
#include "tinyrt_row_loop.h"
