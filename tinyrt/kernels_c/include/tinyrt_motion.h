/** Features of motion: samples of several axes in pieces, features of each window that is full. */
#ifndef TINYRT_MOTION_H
#define TINYRT_MOTION_H

#include "tinyrt_signal_fft.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Windows of at most 2048 samples, each step samples later. Weights are in [0, 4096]. A band goes
 *  from an edge, a number of the transform's frequencies, to before the next; there is an edge more
 *  than bands. Of memory for work, what is behind second bytes is used by every other step. */
typedef struct {
    int32_t axes;
    int32_t window;
    int32_t step;
    const int16_t *weights;
    tinyrt_signal_fft_params fft;
    const int16_t *roots;
    const int16_t *split;
    int32_t bands;
    const int16_t *edges;
    int32_t peaks;
    int32_t log_scale;
    int32_t second;
} tinyrt_motion_params;

/** Forgets all samples. The state is an int32 for the number of samples held, and the samples. */
void tinyrt_motion_reset(const tinyrt_motion_params *p, void *state);

/** Takes as many of count samples, each a number of every axis, as fill a window, at most; says in
 *  is_full whether that made a row: for each axis mean, rms, deviation, half of the range,
 * logarithms of bands and of peaks, and places of peaks. Returns how many samples it took. */
int32_t tinyrt_motion(const tinyrt_motion_params *p, const int16_t *samples, int32_t count,
                      void *state, void *work, int16_t *features, int32_t *is_full);

#ifdef __cplusplus
}
#endif

#endif
