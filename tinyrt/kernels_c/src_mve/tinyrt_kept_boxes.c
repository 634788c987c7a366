#include "tinyrt_kept_boxes.h"

#include "tinyrt_mve.h"

enum { most_units = 32767, bits = 12, lowest = 128, four = 4, eight = 8 };

/** Boxes side by side, a lane each. */
typedef struct {
    int16_t top[eight];
    int16_t left[eight];
    int16_t bottom[eight];
    int16_t right[eight];
    int16_t label[eight];
} boxes;

/** Sides times parts of 4096ths by their encodings, rounded to nearest, halves up. */
static inline int32x4_t parts_of(int32x4_t sides, const int16_t *parts, const int8_t *codes,
                                 uint32x4_t numbers) {
    const int32x4_t code = vaddq_n_s32(vldrbq_gather_offset_s32(codes, numbers), lowest);
    const int32x4_t part = vldrhq_gather_shifted_offset_s32(parts, vreinterpretq_u32_s32(code));
    return vrshrq_n_s32(vmulq_s32(sides, part), bits);
}

static inline int32x4_t within(int32x4_t values, int32_t limit) {
    return vminq_s32(vmaxq_s32(values, vdupq_n_s32(0)), vdupq_n_s32(limit));
}

/** Down or across: begins and ends of four boxes, within the frame. Anchors and encodings begin
 *  with that of a middle; two behind it is that of a side. */
static inline void ends_of(const tinyrt_boxes_params *p, const int16_t *anchors,
                           const int8_t *encodings, uint32x4_t numbers, int32_t limit,
                           int16_t *begin, int16_t *end) {
    int32x4_t middles = vldrhq_gather_shifted_offset_s32(anchors, numbers);
    int32x4_t sides = vldrhq_gather_shifted_offset_s32(anchors + 2, numbers);
    if (encodings != NULL) {
        middles = vaddq_s32(middles, parts_of(sides, p->moves, encodings, numbers));
        sides =
            vminq_s32(parts_of(sides, p->growths, encodings + 2, numbers), vdupq_n_s32(most_units));
    }
    const int32x4_t first = vsubq_s32(middles, vshrq_n_s32(sides, 1));
    vstrhq_s32(begin, within(first, limit));
    vstrhq_s32(end, within(vaddq_s32(first, sides), limit));
}

/** The anchors of places: place / classes by a product, exact for 2^20 places and 2^12 classes. */
static inline uint32x4_t anchors_of(uint32x4_t places, int32_t classes) {
    const uint32_t inverse = (UINT32_MAX / (uint32_t)classes) + 1U;
    return (classes == 1) ? places : vmulhq_u32(places, vdupq_n_u32(inverse));
}

/** Decodes so many boxes, four at most, to the lanes from at on; others are those of the first
 *  score of all. */
static inline void decode(const tinyrt_boxes_params *p, const int8_t *encodings,
                          const int32_t *places, int32_t count, int32_t at, boxes *some) {
    const mve_pred16_t here = vctp32q((uint32_t)count);
    const int32x4_t place = vldrwq_z_s32(places, here);
    const uint32x4_t anchor = anchors_of(vreinterpretq_u32_s32(place), p->classes);
    const uint32x4_t numbers = vshlq_n_u32(anchor, 2);
    const int8_t *const second = (encodings == NULL) ? NULL : (encodings + 1);
    ends_of(p, p->anchors, encodings, numbers, p->height, some->top + at, some->bottom + at);
    ends_of(p, p->anchors + 1, second, numbers, p->width, some->left + at, some->right + at);
    vstrhq_s32(some->label + at, vmlaq_n_s32(place, vreinterpretq_s32_u32(anchor), -p->classes));
}

static inline uint16x8_t all_of(const int16_t *numbers) {
    return vreinterpretq_u16_s16(vldrhq_s16(numbers));
}

/** What stretches have in common with one; 0 where that is nothing. */
static inline uint16x8_t common(uint16x8_t begins, uint16x8_t ends, int32_t begin, int32_t end) {
    const uint16x8_t last = vsubq_u16(ends, vqsubq_n_u16(ends, (uint16_t)end));
    const uint16x8_t first = vqsubq_n_u16(begins, (uint16_t)begin);
    return vqsubq_n_u16(vqsubq_u16(last, first), (uint16_t)begin);
}

/** Which intersections are more than part of the union: 2^-31 parts, and 2^31 of them for all, of
 *  which none is more. Both areas together are below 2^31. */
static inline uint32_t is_more(uint32x4_t both, uint32x4_t others, uint32_t area, int32_t part) {
    const int32x4_t either = vreinterpretq_s32_u32(vsubq_u32(vaddq_n_u32(others, area), both));
    return vcmphiq_u32(both, vreinterpretq_u32_s32(vqdmulhq_n_s32(either, part)));
}

/** Of which boxes the intersection with one is more than share 256ths of the union, by_class those
 *  of its label: two bits for each. */
static inline uint32_t shared(const boxes *some, const tinyrt_box *box, int32_t by_class,
                              int32_t share) {
    const int32_t top = box->top, left = box->left, bottom = box->bottom, right = box->right;
    const uint16x8_t tops = all_of(some->top), bottoms = all_of(some->bottom);
    const uint16x8_t lefts = all_of(some->left), rights = all_of(some->right);
    const uint16x8_t heights = vsubq_u16(bottoms, tops), widths = vsubq_u16(rights, lefts);
    const uint16x8_t across = common(lefts, rights, left, right);
    uint16x8_t down = common(tops, bottoms, top, bottom);
    if (by_class != 0) {
        const mve_pred16_t others = vcmpneq_n_s16(vldrhq_s16(some->label), box->label);
        down = vsubq_m_u16(down, down, down, others);
    }
    const uint32_t area = (uint32_t)((bottom - top) * (right - left));
    const int32_t part = (int32_t)((uint32_t)share << 23);
    const uint32_t evens =
        is_more(vmullbq_int_u16(down, across), vmullbq_int_u16(heights, widths), area, part);
    const uint32_t odds =
        is_more(vmulltq_int_u16(down, across), vmulltq_int_u16(heights, widths), area, part);
    return (evens & 0x3333U) | (odds & 0xCCCCU);
}

/** The box of a lane. */
static inline tinyrt_box box_of(const boxes *some, int32_t lane, int16_t score) {
    const tinyrt_box box = {some->top[lane],   some->left[lane],  some->bottom[lane],
                            some->right[lane], some->label[lane], score};
    return box;
}

int32_t tinyrt_kept_boxes(const tinyrt_boxes_params *p, const int8_t *scores,
                          const int8_t *encodings, const int32_t *places, int32_t count,
                          tinyrt_box *found) {
    const int32_t by_class = p->by_class, share = p->share, most = p->most;
    boxes some;
    int32_t kept = 0;
    for (int32_t i = 0; (i < count) && (kept < most); i += eight) {
        const int32_t here = count - i;
        for (int32_t at = 0; (at < eight) && (at < here); at += four) {
            decode(p, encodings, places + i + at, here - at, at, &some);
        }
        /* Two bits for each box that may be kept. */
        uint32_t may = vctp16q((uint32_t)here);
        for (int32_t k = 0; (k < kept) && (may != 0U); ++k) {
            may &= ~shared(&some, &found[k], by_class, share);
        }
        while ((may != 0U) && (kept < most)) {
            const int32_t lane = __builtin_ctz(may) / 2;
            found[kept] = box_of(&some, lane, scores[places[i + lane]]);
            may &= may - 1U;
            may &= may - 1U;
            if (may != 0U) {
                may &= ~shared(&some, &found[kept], by_class, share);
            }
            ++kept;
        }
    }
    return kept;
}
