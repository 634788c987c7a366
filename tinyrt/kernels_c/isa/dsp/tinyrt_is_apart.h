/** Whether a box shares too much with one of those that are kept, down and across at once. */
#ifndef TINYRT_IS_APART_H
#define TINYRT_IS_APART_H

#include "tinyrt_boxes.h"
#include "tinyrt_extreme_pairs.h"
#include "tinyrt_simd.h"

/** Top and left. */
static inline uint32_t tinyrt_begin_of(const tinyrt_box *box) {
    return tinyrt_load_word(box);
}

/** Bottom and right. */
static inline uint32_t tinyrt_end_of(const tinyrt_box *box) {
    return tinyrt_load_word((const uint8_t *)box + offsetof(tinyrt_box, bottom));
}

/** Height times width, which are the halves of a word. */
static inline uint32_t tinyrt_box_area(uint32_t sides) {
    return (uint32_t)tinyrt_add_low_high(sides, sides, 0);
}

/** Whether the intersection of a box, given by its corners and area, with another one is more than
 *  part 2^31ths of the union. Both areas together are below 2^31. */
static inline int32_t tinyrt_overlap(uint32_t begin, uint32_t end, uint32_t area,
                                     const tinyrt_box *other, uint32_t part) {
    const uint32_t begins = tinyrt_begin_of(other), ends = tinyrt_end_of(other);
    const uint32_t common =
        tinyrt_subtract_pairs(tinyrt_min_pairs(end, ends), tinyrt_max_pairs(begin, begins));
    const uint32_t both = tinyrt_box_area(tinyrt_above_zero(common));
    const uint32_t own = tinyrt_box_area(tinyrt_subtract_pairs(ends, begins));
    const uint32_t twice = ((area + own) - both) << 1;
    const uint64_t product = (uint64_t)twice * part;
    return both > (uint32_t)(product >> 32);
}

/** Whether of each of so many boxes, by_class those of its label, the intersection with box is at
 *  most share 256ths of the union. */
static inline int32_t tinyrt_is_apart(const tinyrt_box *kept, int32_t count, const tinyrt_box *box,
                                      int32_t by_class, int32_t share) {
    const uint32_t begin = tinyrt_begin_of(box), end = tinyrt_end_of(box);
    const uint32_t area = tinyrt_box_area(tinyrt_subtract_pairs(end, begin));
    const uint32_t part = (uint32_t)share << 23;
    const int32_t label = box->label;
    int32_t at = 0;
    while ((at < count) && (((by_class != 0) && (kept[at].label != label)) ||
                            (tinyrt_overlap(begin, end, area, &kept[at], part) == 0))) {
        ++at;
    }
    return at == count;
}

#endif
