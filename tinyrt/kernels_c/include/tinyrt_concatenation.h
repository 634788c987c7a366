/** concatenation: tensors of one type and scale, joined along an axis. */
#ifndef TINYRT_CONCATENATION_H
#define TINYRT_CONCATENATION_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Every input is a matrix of rows rows; x_row_bytes has the length of a row of each. */
typedef struct {
    int32_t inputs;
    int32_t rows;
    const int32_t *x_row_bytes;
} tinyrt_concatenation_params;

/** Row i of y is row i of x[0], then row i of x[1], and so on. y comes
 *  from the front: it may overlap inputs if it writes nothing before it is read. */
void tinyrt_concatenation(const tinyrt_concatenation_params *p, const void *const *x, void *y);

#ifdef __cplusplus
}
#endif

#endif
