#include "tinyrt_top_k_add.h"

int32_t tinyrt_top_k_add(const int8_t *scores, int32_t place, int32_t k, int32_t count,
                         int32_t *places) {
    const int8_t score = scores[place];
    int32_t at = count;
    if (count == k) {
        --at;
        if (scores[places[at]] >= score) {
            return count;
        }
    }
    while ((at > 0) && (scores[places[at - 1]] < score)) {
        places[at] = places[at - 1];
        --at;
    }
    places[at] = place;
    return (count == k) ? k : (count + 1);
}
