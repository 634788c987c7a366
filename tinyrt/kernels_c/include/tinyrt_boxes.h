/** Boxes of things, from the scores and the encodings of a network. */
#ifndef TINYRT_BOXES_H
#define TINYRT_BOXES_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A thing that was found, best first: its corners, in units of the caller's. */
typedef struct {
    int16_t top;
    int16_t left;
    int16_t bottom;
    int16_t right;
    int16_t label;
    int16_t score;
} tinyrt_box;

/** Anchors are middle down and across, height and width, all at most 32767. Tables are for
 * encodings -128 to 127, in 4096ths of an anchor's side. At most candidates scores are decoded, and
 * of boxes that share more than share 256ths of their union the best one is kept, most of them in
 * all. */
typedef struct {
    int32_t count;
    int32_t classes;
    int32_t threshold;
    int32_t share;
    int32_t candidates;
    int32_t most;
    int32_t by_class;
    int16_t height;
    int16_t width;
    const int16_t *anchors;
    const int16_t *moves;
    const int16_t *growths;
    const uint8_t *ignored;
} tinyrt_boxes_params;

/** Finds boxes; encodings may be NULL where the anchors are the boxes. The memory holds candidates
 *  places. Returns how many boxes there are. */
int32_t tinyrt_boxes_s8(const tinyrt_boxes_params *p, const int8_t *scores, const int8_t *encodings,
                        tinyrt_box *found, int32_t *memory);

#ifdef __cplusplus
}
#endif

#endif
