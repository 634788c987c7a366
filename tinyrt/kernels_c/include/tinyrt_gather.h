/** gather: rows and columns picked by tables, of elements of any type. */
#ifndef TINYRT_GATHER_H
#define TINYRT_GATHER_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** x is n images of x_bytes each; row_at and column_at say where in an image each of the output's
 *  rows and columns begins, in bytes that add up; run is the length of what lies there. */
typedef struct {
    int32_t n;
    int32_t x_bytes;
    int32_t rows;
    int32_t columns;
    int32_t run;
    const int32_t *row_at;
    const int32_t *column_at;
} tinyrt_gather_params;

/** y[n, i, j] = x[n, row_at[i] + column_at[j]], in runs of bytes. y comes from the front: it
 *  may overlap x if it writes nothing before it is read. */
void tinyrt_gather(const tinyrt_gather_params *p, const void *x, void *y);

#ifdef __cplusplus
}
#endif

#endif
