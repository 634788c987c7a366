/** Functions of two truth values, with broadcasting. */
#ifndef TINYRT_LOGICAL_H
#define TINYRT_LOGICAL_H

#include "tinyrt_index.h"
#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The output's dims and each input's strides: 0 where the input repeats. Bit 2 * a + b of table is
 *  the function's value. Requires: 1 <= rank <= TINYRT_MAX_RANK. */
typedef struct {
    int32_t rank;
    int32_t dims[TINYRT_MAX_RANK];
    int32_t a_strides[TINYRT_MAX_RANK];
    int32_t b_strides[TINYRT_MAX_RANK];
    int32_t table;
} tinyrt_logical_params;

/** y = f(a, b), element by element, 0 or 1. A function of one value has it twice. y may be an input
 *  that does not repeat. */
void tinyrt_logical(const tinyrt_logical_params *p, const uint8_t *a, const uint8_t *b, uint8_t *y);

#ifdef __cplusplus
}
#endif

#endif
