/** A list of the greatest scores that grows. */
#ifndef TINYRT_TOP_K_ADD_H
#define TINYRT_TOP_K_ADD_H

#include "tinyrt_types.h"

/** Puts a place among the k best so far, of which there are count, the greatest score first; of
 *  equal ones, those that came before stay before. Returns how many there are now. */
int32_t tinyrt_top_k_add(const int8_t *scores, int32_t place, int32_t k, int32_t count,
                         int32_t *places);

/** The least score that is put there next: as before, until there are k; up to 128, which none
 *  has. */
static inline int32_t tinyrt_top_k_least(const int8_t *scores, int32_t k, int32_t count,
                                         const int32_t *places, int32_t before) {
    return (count == k) ? (scores[places[k - 1]] + 1) : before;
}

#endif
