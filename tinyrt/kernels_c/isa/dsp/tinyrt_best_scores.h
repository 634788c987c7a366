/** The greatest scores of classes that count, four looked at together. */
#ifndef TINYRT_BEST_SCORES_H
#define TINYRT_BEST_SCORES_H

#include "tinyrt_simd.h"
#include "tinyrt_top_k_add.h"

/** The first of the places from i on whose four have one that is at least so much; or the first
 *  that has no four behind it. */
static inline int32_t tinyrt_four_that_reach(const int8_t *scores, int32_t i, int32_t size,
                                             int32_t least) {
    const uint32_t below = ((uint32_t)(least - 1) & 0xFFU) * 0x01010101U;
    int32_t at = i;
    if (least > -128) {
        while (((at + 4) <= size) &&
               (tinyrt_max_bytes(tinyrt_load_word(scores + at), below) == below)) {
            at += 4;
        }
    }
    return at;
}

/** Places of the k greatest of size scores, the greatest first, of equal ones the lower place
 * first. They are those of so many classes by turns, of which some may be ignored; NULL for none.
 * Returns how many there are. */
static inline int32_t tinyrt_best_scores(const int8_t *scores, int32_t size, int32_t classes,
                                         const uint8_t *ignored, int32_t threshold, int32_t k,
                                         int32_t *places) {
    int32_t count = 0;
    int32_t least = threshold;
    int32_t place = 0;
    while (place < size) {
        place = tinyrt_four_that_reach(scores, place, size, least);
        for (const int32_t end = place + 4; (place < end) && (place < size); ++place) {
            if ((scores[place] >= least) &&
                ((ignored == NULL) || (ignored[place % classes] == 0U))) {
                count = tinyrt_top_k_add(scores, place, k, count, places);
                least = tinyrt_top_k_least(scores, k, count, places, least);
            }
        }
    }
    return count;
}

#endif
