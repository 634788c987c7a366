/** Scores of a network, row by row, and what they decide. */
#ifndef TINYRT_DETECTOR_H
#define TINYRT_DETECTOR_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A class is detected where its last window scores sum up to least or more, and to more than those
 *  of any other class that is not ignored; then hold rows have no detection. */
typedef struct {
    int32_t classes;
    int32_t window;
    int32_t least;
    int32_t hold;
    const uint8_t *ignored;
} tinyrt_detector_params;

/** Forgets all rows. The state is three int32, one for the sum of each class, and a window of
 *  rows. */
void tinyrt_detector_reset(const tinyrt_detector_params *p, void *state);

/** Takes a row of scores; returns the class that it detects, or -1. */
int32_t tinyrt_detector_s8(const tinyrt_detector_params *p, const int8_t *scores, void *state);

#ifdef __cplusplus
}
#endif

#endif
