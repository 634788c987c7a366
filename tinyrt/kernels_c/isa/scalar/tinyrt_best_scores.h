/** The greatest scores of classes that count. */
#ifndef TINYRT_BEST_SCORES_H
#define TINYRT_BEST_SCORES_H

#include "tinyrt_top_k_add.h"

/** Places of the k greatest of size scores, the greatest first, of equal ones the lower place
 * first. They are those of so many classes by turns, of which some may be ignored; NULL for none.
 * Returns how many there are. */
static inline int32_t tinyrt_best_scores(const int8_t *scores, int32_t size, int32_t classes,
                                         const uint8_t *ignored, int32_t threshold, int32_t k,
                                         int32_t *places) {
    int32_t count = 0;
    if (ignored == NULL) {
        for (int32_t i = 0; i < size; ++i) {
            if (scores[i] >= threshold) {
                count = tinyrt_top_k_add(scores, i, k, count, places);
            }
        }
        return count;
    }
    for (int32_t i = 0; i < size; i += classes) {
        for (int32_t c = 0; c < classes; ++c) {
            if ((scores[i + c] >= threshold) && (ignored[c] == 0U)) {
                count = tinyrt_top_k_add(scores, i + c, k, count, places);
            }
        }
    }
    return count;
}

#endif
