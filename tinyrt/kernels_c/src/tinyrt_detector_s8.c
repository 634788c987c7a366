#include "tinyrt_detector.h"

/** What a state begins with: rows that are held, the place of the next one, and rows that cannot
 *  have a detection. */
typedef struct {
    int32_t rows;
    int32_t next;
    int32_t silent;
} counts;

void tinyrt_detector_reset(const tinyrt_detector_params *p, void *state) {
    counts *const count = state;
    int32_t *const sums = (int32_t *)(void *)(count + 1);
    *count = (counts){0, 0, 0};
    for (int32_t i = 0; i < p->classes; ++i) {
        sums[i] = 0;
    }
}

/** Puts a row in the place of the oldest one, once there are enough. */
static void add(const tinyrt_detector_params *p, const int8_t *scores, counts *count,
                int32_t *sums) {
    int8_t *const row = (int8_t *)(sums + p->classes) + (count->next * p->classes);
    const int32_t is_full = count->rows == p->window;
    for (int32_t i = 0; i < p->classes; ++i) {
        sums[i] += scores[i] - (is_full ? row[i] : 0);
        row[i] = scores[i];
    }
    count->rows += !is_full;
    count->next = ((count->next + 1) < p->window) ? (count->next + 1) : 0;
}

int32_t tinyrt_detector_s8(const tinyrt_detector_params *p, const int8_t *scores, void *state) {
    counts *const count = state;
    int32_t *const sums = (int32_t *)(void *)(count + 1);
    add(p, scores, count, sums);
    if (count->silent > 0) {
        --count->silent;
        return -1;
    }
    if (count->rows < p->window) {
        return -1;
    }
    int32_t best = -1;
    int32_t most = p->least - 1;
    for (int32_t i = 0; i < p->classes; ++i) {
        if ((sums[i] > most) && !p->ignored[i]) {
            best = i;
            most = sums[i];
        }
    }
    count->silent = (best >= 0) ? p->hold : 0;
    return best;
}
