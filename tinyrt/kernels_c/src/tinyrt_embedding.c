#include "tinyrt_embedding.h"

#include "tinyrt_copy.h"

void tinyrt_embedding(const tinyrt_embedding_params *p, const void *TINYRT_RESTRICT table,
                      const int32_t *TINYRT_RESTRICT indices, void *TINYRT_RESTRICT y) {
    const int8_t *from = table;
    int8_t *to = y;
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t i = 0; i < p->n; ++i) {
            int32_t row = (*indices < 0) ? 0 : *indices;
            row = (row < p->rows) ? row : (p->rows - 1);
            to = tinyrt_copy(from + (row * p->run), to + p->run, to);
            ++indices;
        }
        from += p->rows * p->run;
    }
}
