/** Convolutions over packed weights, some of whose taps are read more than once. */
#ifndef TINYRT_WINDOW_MORE_H
#define TINYRT_WINDOW_MORE_H

#include "tinyrt_more_taps.h"
#include "tinyrt_window_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/** layer is as for tinyrt_window_block_s8 and its like; weights and more as in tinyrt_dense_more.h.
 */
typedef struct {
    tinyrt_window_block_s8_params layer;
    tinyrt_more_taps more;
} tinyrt_window_more_s8_params;

/** As tinyrt_window_block_s8; columns and patch have room for all taps, patch also for two outputs
 *  if there is an odd number of them, and sums. */
typedef void tinyrt_window_more_kernel(const tinyrt_window_more_s8_params *p, const int8_t *x,
                                       tinyrt_taps_word *columns, int8_t *patch, int8_t *y);

/** Over constants packed for tinyrt_block_s8, tinyrt_block_relu_s8, or either of them. */
tinyrt_window_more_kernel tinyrt_window_more_s8, tinyrt_window_more_relu_s8,
    tinyrt_window_more_any_s8;

/** As tinyrt_window_four_s8, pointwise convolutions included; triples has room for all taps. */
typedef void tinyrt_window_four_more_kernel(const tinyrt_window_more_s8_params *p, const int8_t *x,
                                            int32_t *triples, int8_t *patch, int8_t *y);

/** Over constants as for tinyrt_window_four_s8 and its like. */
tinyrt_window_four_more_kernel tinyrt_window_four_more_s8, tinyrt_window_four_more_relu_s8,
    tinyrt_window_four_more_raised_s8;

#ifdef __cplusplus
}
#endif

#endif
