/** Samples that come in pieces over time: frames, stacks, delays and overlaps. */
#ifndef TINYRT_SIGNAL_FRAMES_H
#define TINYRT_SIGNAL_FRAMES_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Frames of size samples, each step samples later, of so many rows; window samples of each row are
 *  kept. Frames are filled from the step of that number on. */
typedef struct {
    int32_t rows;
    int32_t frames;
    int32_t size;
    int32_t step;
    int32_t window;
    int32_t first;
} tinyrt_signal_framer_params;

/** y = frames; states are read from before and count, written to after and next, which may be the
 *  same. */
void tinyrt_signal_framer(const tinyrt_signal_framer_params *p, const int16_t *x,
                          const int16_t *before, const int32_t *count, int16_t *after,
                          int32_t *next, int16_t *y, uint8_t *valid);

/** An input has so many channels, an output so many inputs; the first one stands for so many more
 *  before it. There is an output every so many steps. */
typedef struct {
    int32_t channels;
    int32_t inputs;
    int32_t left;
    int32_t step;
} tinyrt_signal_stacker_params;

/** y = the last inputs; states as of tinyrt_signal_framer. */
void tinyrt_signal_stacker(const tinyrt_signal_stacker_params *p, const int16_t *x,
                           const int16_t *before, const int32_t *count, int16_t *after,
                           int32_t *next, int16_t *y, uint8_t *valid);

/** y = the past samples of each row and those of x; the last ones are the next past. */
void tinyrt_signal_delay(int32_t rows, int32_t size, int32_t past, const int16_t *x,
                         const int16_t *before, int16_t *after, int16_t *y);

/** Rows of frames of size samples, each step samples later. */
typedef struct {
    int32_t rows;
    int32_t frames;
    int32_t size;
    int32_t step;
} tinyrt_signal_overlap_add_params;

/** y = sums of frames where they overlap; integers saturate. */
void tinyrt_signal_overlap_add_s16(const tinyrt_signal_overlap_add_params *p, const int16_t *x,
                                   const int16_t *before, int16_t *after, int16_t *y);
void tinyrt_signal_overlap_add_f32(const tinyrt_signal_overlap_add_params *p, const float *x,
                                   const float *before, float *after, float *y);

#ifdef __cplusplus
}
#endif

#endif
