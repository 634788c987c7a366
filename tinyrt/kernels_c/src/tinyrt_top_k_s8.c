#include "tinyrt_top_k.h"

#include "tinyrt_best_scores.h"

int32_t tinyrt_top_k_s8(const int8_t *scores, int32_t size, int32_t threshold, int32_t k,
                        int32_t *places) {
    return tinyrt_best_scores(scores, size, size, NULL, threshold, k, places);
}
