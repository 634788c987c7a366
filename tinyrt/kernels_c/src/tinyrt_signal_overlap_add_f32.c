#include "tinyrt_signal_frames.h"

#define TINYRT_SCALAR float
#define TINYRT_SUM(a, b) ((a) + (b))
#include "tinyrt_overlap_loop.h"

void tinyrt_signal_overlap_add_f32(const tinyrt_signal_overlap_add_params *p, const float *x,
                                   const float *before, float *after, float *y) {
    tinyrt_overlap_add(p, x, before, after, y);
}
