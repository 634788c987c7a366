/** The boxes of scores that are chosen already. */
#ifndef TINYRT_KEPT_BOXES_H
#define TINYRT_KEPT_BOXES_H

#include "tinyrt_boxes.h"

/** Decodes the boxes of so many places, the best first, and keeps those that share little with one
 *  that is kept. Returns how many these are. */
int32_t tinyrt_kept_boxes(const tinyrt_boxes_params *p, const int8_t *scores,
                          const int8_t *encodings, const int32_t *places, int32_t count,
                          tinyrt_box *found);

#endif
