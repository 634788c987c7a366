/** Dense layers and pointwise convolutions with at most n of every four weights along the input. */
#ifndef TINYRT_DENSE_N_OF_4_H
#define TINYRT_DENSE_N_OF_4_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** x is (rows, c_in). n is 1 or 2, c_in a multiple of 16 / n.
 *  w holds n weights of every group of four, channel by channel; places where in the group they
 *  belong, two bits each, the first in the lowest. init is bias - x_zp * sum(w).
 *  mult and shift have an entry for every channel (requant_step 1), or one (0).
 *  Requires: |bias + sum((x - x_zp) * w)| < 2^29 for all x. */
typedef struct {
    int32_t rows;
    int32_t c_in;
    int32_t c_out;
    int32_t n;
    const int8_t *w;
    const int8_t *places;
    const int32_t *init;
    const int32_t *mult;
    const int8_t *shift;
    int32_t requant_step;
    int32_t y_zp;
} tinyrt_dense_n_of_4_s8_params;

/** y (rows, c_out) = requant(bias + sum((x - x_zp) * w)) + y_zp.
 *  row has room for a row, where y may overlap x up to the rows still read; NULL where they lie
 *  apart. */
void tinyrt_dense_n_of_4_s8(const tinyrt_dense_n_of_4_s8_params *p, const int8_t *x, int8_t *row,
                            int8_t *y);

#ifdef __cplusplus
}
#endif

#endif
