/** The greatest scores of a network. */
#ifndef TINYRT_TOP_K_H
#define TINYRT_TOP_K_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Places of the k greatest of size scores that are at least threshold, the greatest first, of
 * equal ones the lower place first. Returns how many there are. */
int32_t tinyrt_top_k_s8(const int8_t *scores, int32_t size, int32_t threshold, int32_t k,
                        int32_t *places);

#ifdef __cplusplus
}
#endif

#endif
