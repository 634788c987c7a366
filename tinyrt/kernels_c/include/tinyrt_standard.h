/** Windows of features less their mean, by their deviation. */
#ifndef TINYRT_STANDARD_H
#define TINYRT_STANDARD_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of size features each. groups is 1, where all of them have one mean, or size: one for each
 *  place of a row. flip is 0x8000 where features are int16, 0 where they are uint16. */
typedef struct {
    int32_t rows;
    int32_t size;
    int32_t groups;
    uint16_t flip;
} tinyrt_standard_params;

/** Mean and deviation of a group, of 4 fraction bits; the mean is that of flipped features. */
typedef struct {
    int32_t mean;
    uint32_t deviation;
} tinyrt_standard_group;

/** Means, rounded to nearest, and deviations, at least 1, of each group of a window of at most 2^20
 *  features. */
void tinyrt_standard(const tinyrt_standard_params *p, const uint16_t *window,
                     tinyrt_standard_group *TINYRT_RESTRICT groups);

/** y = 256 * (x - mean) / deviation of a row of a window, rounded to nearest, at most 32767. */
void tinyrt_standard_row(const tinyrt_standard_params *p, const tinyrt_standard_group *groups,
                         const uint16_t *x, int32_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
