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
    const int32_t n = p->n;
    const int32_t rows = p->rows;
    const int32_t run = p->run;
    const int32_t table_bytes = rows * run;
    const int8_t *from = table;
    int8_t *to = y;
    for (int32_t outer = p->outer; outer > 0; --outer) {
        for (int32_t i = 0; i < n; ++i) {
            to = tinyrt_copy(from + (TINYRT_NEAREST(*indices, rows) * run), to + run, to);
            ++indices;
        }
        from += table_bytes;
    }
}

#endif
