/** The greatest scores of classes that count, sixteen looked at together. */
#ifndef TINYRT_BEST_SCORES_H
#define TINYRT_BEST_SCORES_H

#include "tinyrt_mve.h"
#include "tinyrt_top_k_add.h"

/** Places of the k greatest of size scores, the greatest first, of equal ones the lower place
 * first. They are those of so many classes by turns, of which some may be ignored; NULL for none.
 * Returns how many there are. */
static inline int32_t tinyrt_best_scores(const int8_t *scores, int32_t size, int32_t classes,
                                         const uint8_t *ignored, int32_t threshold, int32_t k,
                                         int32_t *places) {
    int32_t count = 0;
    int32_t least = threshold;
    for (int32_t i = 0; (i < size) && (least <= 127); i += TINYRT_VECTOR) {
        const mve_pred16_t here = vctp8q((uint32_t)(size - i));
        const int8x16_t some = vldrbq_z_s8(scores + i, here);
        uint32_t reach = vcmpgeq_m_n_s8(some, (int8_t)least, here);
        while (reach != 0U) {
            const int32_t place = i + __builtin_ctz(reach);
            reach &= reach - 1U;
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
