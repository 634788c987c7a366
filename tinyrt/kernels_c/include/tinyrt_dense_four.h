/** Dense layers over packed weights, four rows at a time, for cores without dual multiplies. */
#ifndef TINYRT_DENSE_FOUR_H
#define TINYRT_DENSE_FOUR_H

#include "tinyrt_dense.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As tinyrt_dense_s8, for any number of rows. p->block.w holds for every two output channels and
 *  every tap both weights, one byte each; p->block.init first sums as they are; mult and shift
 *  advance by p->block.requant_step entries from a channel to the next. triples has room for three
 *  words of every tap, padded. y may overlap x only where every four rows are written behind the
 *  rows still read. */
typedef void tinyrt_dense_four_kernel(const tinyrt_dense_s8_params *p, const int8_t *x,
                                      int32_t *triples, int8_t *y);

/** The second one is for scales of tinyrt_block_relu_s8: mult has three entries for two
 *  channels, and advances by as many. The third one is for weights that are raised by 128. */
tinyrt_dense_four_kernel tinyrt_dense_four_s8, tinyrt_dense_four_relu_s8,
    tinyrt_dense_four_raised_s8;

/** Some channels of at most four rows: block.c_out of c_out, whose outputs y points to. triples are
 *  filled only where fills is not 0; else they hold what the last call for these rows has left
 *  there. Slices of an inference are made of them. */
typedef void tinyrt_dense_four_some(const tinyrt_dense_s8_params *p, int32_t fills, int32_t c_out,
                                    const int8_t *x, int32_t *triples, int8_t *y);

tinyrt_dense_four_some tinyrt_dense_four_part_s8, tinyrt_dense_four_part_relu_s8,
    tinyrt_dense_four_part_raised_s8;

#ifdef __cplusplus
}
#endif

#endif
