/** embedding: rows of a table of elements of any type. */
#ifndef TINYRT_EMBEDDING_H
#define TINYRT_EMBEDDING_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Tables, so many of them, of so many rows, of run bytes each; and n indices for each table. */
typedef struct {
    int32_t outer;
    int32_t n;
    int32_t rows;
    int32_t run;
} tinyrt_embedding_params;

/** y[o][i] = table[o][indices[o][i]]; an index beyond the table takes the nearest row. */
void tinyrt_embedding(const tinyrt_embedding_params *p, const void *TINYRT_RESTRICT table,
                      const int32_t *TINYRT_RESTRICT indices, void *TINYRT_RESTRICT y);

/** The same, where an index below 0 counts from the table's end. */
void tinyrt_embedding_from_end(const tinyrt_embedding_params *p, const void *TINYRT_RESTRICT table,
                               const int32_t *TINYRT_RESTRICT indices, void *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
