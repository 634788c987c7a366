#include "tinyrt_boxes.h"

#include "tinyrt_best_scores.h"
#include "tinyrt_kept_boxes.h"

int32_t tinyrt_boxes_s8(const tinyrt_boxes_params *p, const int8_t *scores, const int8_t *encodings,
                        tinyrt_box *found, int32_t *memory) {
    const int32_t count = tinyrt_best_scores(scores, p->count * p->classes, p->classes, p->ignored,
                                             p->threshold, p->candidates, memory);
    return tinyrt_kept_boxes(p, scores, encodings, memory, count, found);
}
