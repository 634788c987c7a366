/** Dense layers and pointwise convolutions over packed weights, some of whose elements are read
 * more than once. */
#ifndef TINYRT_DENSE_MORE_H
#define TINYRT_DENSE_MORE_H

#include "tinyrt_dense.h"
#include "tinyrt_more_taps.h"

#ifdef __cplusplus
extern "C" {
#endif

/** layer is as for tinyrt_dense_s8 or tinyrt_dense_relu_s8, but for weights: behind those of c_in
 *  elements there are those of more. So sums hold products of weights that do not fit in a byte, or
 *  not beside their neighbour. layer.block.taps counts all of them, padded. */
typedef struct {
    tinyrt_dense_s8_params layer;
    tinyrt_more_taps more;
} tinyrt_dense_more_s8_params;

/** As tinyrt_dense_s8; columns have room for all taps. */
typedef void tinyrt_dense_more_kernel(const tinyrt_dense_more_s8_params *p, const int8_t *x,
                                      tinyrt_taps_word *columns, int8_t *y);

/** Over constants packed for tinyrt_block_s8 and tinyrt_block_relu_s8. */
tinyrt_dense_more_kernel tinyrt_dense_more_s8, tinyrt_dense_more_relu_s8;

#ifdef __cplusplus
}
#endif

#endif
