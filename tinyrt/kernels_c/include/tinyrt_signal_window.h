/** signal_window: frames of samples, multiplied with the weights of a window. */
#ifndef TINYRT_SIGNAL_WINDOW_H
#define TINYRT_SIGNAL_WINDOW_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** So many samples, in frames of as many as there are weights, which have shift fraction bits. */
typedef struct {
    int32_t size;
    int32_t weights;
    int32_t shift;
} tinyrt_signal_window_params;

/** y = x * w >> shift, saturated. */
void tinyrt_signal_window(const tinyrt_signal_window_params *p, const int16_t *TINYRT_RESTRICT x,
                          const int16_t *TINYRT_RESTRICT w, int16_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
