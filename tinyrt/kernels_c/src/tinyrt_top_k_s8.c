#include "tinyrt_top_k.h"

#include "tinyrt_top_k_add.h"

int32_t tinyrt_top_k_s8(const int8_t *scores, int32_t size, int32_t threshold, int32_t k,
                        int32_t *places) {
    int32_t count = 0;
    for (int32_t i = 0; i < size; ++i) {
        if (scores[i] >= threshold) {
            count = tinyrt_top_k_add(scores, i, k, count, places);
        }
    }
    return count;
}
