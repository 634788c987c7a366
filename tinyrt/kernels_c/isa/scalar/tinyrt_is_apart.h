/** Whether a box shares too much with one of those that are kept. */
#ifndef TINYRT_IS_APART_H
#define TINYRT_IS_APART_H

#include "tinyrt_boxes.h"

/** What two stretches have in common; below 1 where that is nothing. */
static inline int32_t tinyrt_common(int32_t begin_a, int32_t begin_b, int32_t end_a,
                                    int32_t end_b) {
    const int32_t begin = (begin_a > begin_b) ? begin_a : begin_b;
    const int32_t end = (end_a < end_b) ? end_a : end_b;
    return end - begin;
}

static inline uint32_t tinyrt_box_area(const tinyrt_box *box) {
    return (uint32_t)((box->bottom - box->top) * (box->right - box->left));
}

/** Whether the intersection is more than share 256ths of the union. Both areas together are below
 *  2^31, so that no piece of the product is beyond 32 bits. */
static inline int32_t tinyrt_overlap(const tinyrt_box *a, const tinyrt_box *b, int32_t share) {
    const int32_t down = tinyrt_common(a->top, b->top, a->bottom, b->bottom);
    const int32_t across = tinyrt_common(a->left, b->left, a->right, b->right);
    int32_t is_more = 0;
    if ((down > 0) && (across > 0)) {
        const uint32_t both = (uint32_t)(down * across);
        const uint32_t either = (tinyrt_box_area(a) + tinyrt_box_area(b)) - both;
        const uint32_t part = (uint32_t)share;
        is_more = both > ((part * (either >> 8)) + ((part * (either & 0xFFU)) >> 8));
    }
    return is_more;
}

/** Whether of each of so many boxes, by_class those of its label, the intersection with box is at
 *  most share 256ths of the union. */
static inline int32_t tinyrt_is_apart(const tinyrt_box *kept, int32_t count, const tinyrt_box *box,
                                      int32_t by_class, int32_t share) {
    int32_t at = 0;
    while ((at < count) && (((by_class != 0) && (kept[at].label != box->label)) ||
                            (tinyrt_overlap(box, &kept[at], share) == 0))) {
        ++at;
    }
    return at == count;
}

#endif
