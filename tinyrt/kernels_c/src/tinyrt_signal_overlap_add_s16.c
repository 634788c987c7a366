#include "tinyrt_signal_frames.h"

static inline int16_t saturated(int32_t sum) {
    const int32_t high = (sum > INT16_MAX) ? INT16_MAX : sum;
    return (int16_t)((high < INT16_MIN) ? INT16_MIN : high);
}

#define TINYRT_SCALAR int16_t
#define TINYRT_SUM(a, b) saturated((a) + (b))
#include "tinyrt_overlap_loop.h"

void tinyrt_signal_overlap_add_s16(const tinyrt_signal_overlap_add_params *p, const int16_t *x,
                                   const int16_t *before, int16_t *after, int16_t *y) {
    tinyrt_overlap_add(p, x, before, after, y);
}
