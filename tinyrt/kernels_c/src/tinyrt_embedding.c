#include "tinyrt_embedding.h"

#define TINYRT_NEAREST tinyrt_nearest
#include "tinyrt_embedding_loop.h"

void tinyrt_embedding(const tinyrt_embedding_params *p, const void *TINYRT_RESTRICT table,
                      const int32_t *TINYRT_RESTRICT indices, void *TINYRT_RESTRICT y) {
    tinyrt_pick_rows(p, table, indices, y);
}
