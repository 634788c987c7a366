/** Rows of tables, where this is included: TINYRT_NEAREST says which row an index stands for. */
#ifndef TINYRT_EMBEDDING_LOOP_H
#define TINYRT_EMBEDDING_LOOP_H

#include "tinyrt_copy.h"
#include "tinyrt_embedding.h"
#include "tinyrt_nearest.h"

/** y[o][i] = table[o][the place of indices[o][i]]. */
static inline void tinyrt_pick_rows(const tinyrt_embedding_params *p,
                                    const void *TINYRT_RESTRICT table,
                                    const int32_t *TINYRT_RESTRICT indices,
                                    void *TINYRT_RESTRICT y) {
    const int8_t *from = table;
    int8_t *to = y;
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t i = 0; i < p->n; ++i) {
            const int32_t row = TINYRT_NEAREST(*indices, p->rows);
            to = tinyrt_copy(from + (row * p->run), to + p->run, to);
            ++indices;
        }
        from += p->rows * p->run;
    }
}

#endif
